//! The databases on which the same tests run.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::support::Server;
use crate::{hostile, publish, quotas, races, server, states};

/// Where a board stores, for one test.
pub(crate) enum Stored {
    Directory(TempDir),
    Postgres(String),
}

impl Stored {
    /// The arguments that name it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        match self {
            Self::Directory(directory) => {
                vec!["--directory".to_owned(), directory.path().join("board").display().to_string()]
            }
            Self::Postgres(address) => vec!["--database".to_owned(), address.clone()],
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server::start(&self.arguments().iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn another(&self, url: &str) -> Server {
        Server::another(&self.arguments().iter().map(String::as_str).collect::<Vec<_>>(), url)
    }

    /// What a command of the board prints; `None` if it fails.
    pub(crate) fn command(&self, arguments: &[&str]) -> Result<String, String> {
        let (name, rest) = arguments.split_first().expect("a command");
        let done = Command::new(env!("CARGO_BIN_EXE_btu-board"))
            .arg(name)
            .args(self.arguments())
            .args(rest)
            .output()
            .expect("the board's program");
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    /// Changes its tables without the board.
    pub(crate) fn execute(&self, sql: &str) {
        match self {
            Self::Directory(directory) => {
                let file = directory.path().join("board/board.sqlite");
                let database = rusqlite::Connection::open(file).expect("a database");
                database.execute_batch(sql).expect("changed");
            }
            Self::Postgres(address) => {
                let mut psql = Command::new("psql");
                psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", sql]);
                assert!(psql.status().expect("psql").success());
            }
        }
    }
}

/// What is shown of a board, on whichever database.
type Scenario = fn(&Stored);

/// Everything that has to hold on both databases.
const SCENARIOS: &[(&str, Scenario)] = &[
    ("a published rating is the local one", publish::a_published_rating_is_the_local_one),
    ("forgeries are refused", publish::forgeries_are_refused),
    ("what breaks the rules is not ranked", publish::what_breaks_the_rules_is_not_ranked),
    ("challenges", publish::challenges_come_back_once),
    ("by the command", publish::the_command_publishes),
    ("the chain shows changes", publish::the_chain_holds),
    ("objections and answers", states::objections_are_public_and_answered),
    ("certificates", states::laboratories_certify),
    ("withdrawal", states::withdrawn_runs_stay_to_be_seen),
    ("deletion", states::deleted_runs_are_forgotten),
    ("visibility", states::each_level_of_visibility_hides_what_it_says),
    ("words are only words", hostile::words_are_only_words),
    ("reports", hostile::reports_have_an_origin_of_their_own),
    ("strange names", hostile::strange_names_find_nothing),
    ("strange rates", hostile::strange_rates_break_nothing),
    ("races with deletion", races::a_race_with_deletion_leaves_nothing),
    ("races", races::races_have_one_winner),
    ("rankings of two servers", races::rankings_are_those_of_all_servers),
    ("two servers", server::two_servers_are_one_board),
    ("quotas of a day", quotas::a_day_has_its_bounds),
];

#[test]
fn on_sqlite() {
    for (name, scenario) in SCENARIOS {
        eprintln!("{name}");
        scenario(&directory());
    }
}

#[test]
fn on_postgres() {
    if is_unchanged() {
        return;
    }
    let Some(postgres) = Postgres::start() else { return };
    for (name, scenario) in SCENARIOS {
        eprintln!("{name}");
        scenario(&postgres.database());
    }
}

/// Whether `scripts/test` leaves out long tests of the board, since the newest commits did not change it.
pub(crate) fn is_unchanged() -> bool {
    let unchanged = std::env::var("BTU_UNCHANGED").unwrap_or_default();
    unchanged.split_whitespace().any(|part| part == "board")
}

/// An empty board in a directory.
pub(crate) fn directory() -> Stored {
    Stored::Directory(tempfile::tempdir().expect("a directory"))
}

/// A server of `PostgreSQL` in a directory, on a socket there.
pub(crate) struct Postgres {
    home: TempDir,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// `PostgreSQL` refuses root.
const USER: &str = "nobody";

impl Postgres {
    /// `None` without `PostgreSQL`: it prints that loudly, and fails if a lab is required.
    pub(crate) fn start() -> Option<Self> {
        if program("initdb").is_none() {
            assert!(
                std::env::var("BTU_LAB").as_deref() != Ok("required"),
                "LAB REQUIRED but there is no PostgreSQL"
            );
            eprintln!("LAB SKIPPED: no PostgreSQL");
            return None;
        }
        let home = tempfile::Builder::new().prefix("bp").tempdir_in("/tmp").expect("a directory");
        if is_root() {
            chown(home.path(), Some(unprivileged()), None).expect("root may");
        }
        let own = Self { home };
        let data = own.data();
        let options = ["-D", &data, "-A", "trust", "-U", "board", "--no-sync", "-E", "UTF8"];
        own.run("initdb", &options).expect("a cluster");
        own.up();
        Some(own)
    }

    /// The directory of the cluster.
    fn data(&self) -> String {
        self.home.path().join("data").display().to_string()
    }

    /// Runs one of its programs; what it says is in an error.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<(), String> {
        let path = program(name).expect("it was found before");
        let mut command = Command::new(if is_root() { "setpriv".into() } else { path.clone() });
        if is_root() {
            command.args(["--reuid", USER, "--clear-groups"]).arg(&path);
        }
        // What outlives this command must not keep a pipe open.
        let said = self.home.path().join("said");
        let log = fs::File::create(&said).expect("a file");
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        let status = command.status().expect("it starts");
        let text = fs::read_to_string(&said).unwrap_or_default();
        if status.success() { Ok(()) } else { Err(format!("{name}: {text}")) }
    }

    pub(crate) fn up(&self) {
        let home = self.home.path().display();
        let (data, log) = (self.data(), format!("{home}/log"));
        let options = format!("-k {home} -c listen_addresses='' -c fsync=off");
        let start = ["-D", &data, "-w", "-l", &log, "-o", &options, "start"];
        self.run("pg_ctl", &start).expect("a server");
    }

    pub(crate) fn down(&self) {
        let _ = self.run("pg_ctl", &["-D", &self.data(), "-w", "-m", "immediate", "stop"]);
    }

    /// A new database.
    pub(crate) fn database(&self) -> Stored {
        let name = format!("board{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let host = self.home.path().display().to_string();
        let create = format!("CREATE DATABASE {name}");
        let arguments = ["-q", "-h", &host, "-U", "board", "-d", "postgres", "-c", &create];
        self.run("psql", &arguments).expect("a database");
        Stored::Postgres(format!("host={host} user=board dbname={name}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.down();
    }
}

pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

/// The number of the user as whom a server runs if root tests it.
fn unprivileged() -> u32 {
    let id = Command::new("id").args(["-u", USER]).output().expect("id");
    String::from_utf8_lossy(&id.stdout).trim().parse().expect("a number")
}

/// Debian keeps the programs of a server out of PATH.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let versions = versions.map(|version| version.path().join("bin"));
    let mut all = std::env::split_paths(&path).chain(versions).map(|path| path.join(name));
    all.find(|path: &PathBuf| Path::new(path).is_file())
}
