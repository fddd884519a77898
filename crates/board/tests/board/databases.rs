//! The databases on which the same tests run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::support::Server;
use crate::{hostile, kept, publish, quotas, races, replays, server, states};

/// Where a board stores, for one test.
pub(crate) enum Stored {
    Directory(TempDir),
    /// A directory that outlives it.
    In(PathBuf),
    Postgres(String),
}

impl Stored {
    /// The arguments that name it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        match self {
            Self::Directory(directory) => {
                vec!["--directory".to_owned(), directory.path().join("board").display().to_string()]
            }
            Self::In(path) => vec!["--directory".to_owned(), path.display().to_string()],
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
            Self::In(path) => unreachable!("no test changes {}", path.display()),
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

/// What has to hold on both databases.
const ON_BOTH: &[(&str, Scenario)] = &[
    ("a published rating is the local one", publish::a_published_rating_is_the_local_one),
    ("challenges", publish::challenges_come_back_once),
    ("the chain shows changes", publish::the_chain_holds),
    ("what is stored is computed again", publish::changed_columns_are_found),
    ("other pieces and times", publish::stray_pieces_and_other_times_are_found),
    ("names and reports", publish::changed_names_and_reports_are_found),
    ("the newest links", publish::the_newest_links_are_shown),
    ("objections and answers", states::objections_are_public_and_answered),
    ("certificates", states::laboratories_certify),
    ("keys that follow", states::a_key_follows_another),
    ("withdrawal", states::withdrawn_runs_stay_to_be_seen),
    ("deletion", states::deleted_runs_are_forgotten),
    ("no voice", states::blocked_and_withdrawn_keys_have_no_voice),
    ("objections go", states::objections_go_with_the_run_that_they_are_by),
    ("room for objections", states::one_publisher_does_not_fill_all_objections),
    ("operators", states::operators_remove_texts_and_runs_and_give_tokens),
    ("blocked laboratories", states::a_blocked_laboratory_certifies_nothing),
    ("visibility", states::each_level_of_visibility_hides_what_it_says),
    ("strange names", hostile::strange_names_find_nothing),
    ("deleted runs", replays::deleted_runs_do_not_come_back),
    ("known cells", replays::known_cells_count_once),
    ("lost answers", replays::a_lost_answer_is_made_good),
    ("what is kept", kept::what_never_changes_is_made_once),
    ("races with deletion", races::a_race_with_deletion_leaves_nothing),
    ("races", races::races_have_one_winner),
    ("challenges are in no list", races::challenges_change_no_list),
    ("rankings of two servers", races::rankings_are_those_of_all_servers),
    ("two servers", server::two_servers_are_one_board),
    ("quotas of a day", quotas::a_day_has_its_bounds),
];

/// What is decided before the database is asked, or by its answers alone.
const ON_ONE: &[(&str, Scenario)] = &[
    ("forgeries are refused", publish::forgeries_are_refused),
    ("what breaks the rules is not ranked", publish::what_breaks_the_rules_is_not_ranked),
    ("late runs", publish::late_runs_meet_no_challenge),
    ("by the command", publish::the_command_publishes),
    ("words are only words", hostile::words_are_only_words),
    ("names", hostile::names_are_what_readers_see),
    ("names of laboratories", hostile::laboratories_have_names_of_their_own),
    ("private names", hostile::what_is_private_changes_no_name),
    ("contradicting times", hostile::runs_begin_before_they_end_and_are_signed),
    ("reports", hostile::reports_have_an_origin_of_their_own),
    ("strange rates", hostile::strange_rates_break_nothing),
    ("old signatures", replays::what_was_signed_long_ago_is_refused),
];

fn all(scenarios: &[(&str, Scenario)], stored: impl Fn() -> Stored) {
    for (name, scenario) in scenarios {
        eprintln!("{name}");
        scenario(&stored());
    }
}

#[test]
fn on_sqlite() {
    all(ON_BOTH, directory);
}

#[test]
fn on_one_of_them() {
    all(ON_ONE, directory);
}

#[test]
fn on_postgres() {
    if is_unchanged() {
        return;
    }
    if let Some(postgres) = Postgres::start() {
        all(ON_BOTH, || postgres.database());
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

/// Says that a test does not run here, or fails if it has to.
pub(crate) fn lab_skipped(why: &str) {
    assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "LAB REQUIRED: {why}");
    eprintln!("LAB SKIPPED: {why}");
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
            lab_skipped("there is no PostgreSQL");
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

    /// A file next to the cluster, for its server alone.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        if is_root() {
            chown(&path, Some(unprivileged()), None).expect("root may");
        }
        path
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
        self.up_with("-c listen_addresses=''");
    }

    /// With further settings.
    pub(crate) fn up_with(&self, settings: &str) {
        let home = self.home.path().display();
        let (data, log) = (self.data(), format!("{home}/log"));
        let options = format!("-k {home} -c fsync=off {settings}");
        let start = ["-D", &data, "-w", "-l", &log, "-o", &options, "start"];
        self.run("pg_ctl", &start).expect("a server");
    }

    /// Stops all its processes where they are (`STOP`), or lets them go on (`CONT`).
    pub(crate) fn signal(&self, signal: &str) {
        let pid = fs::read_to_string(self.home.path().join("data/postmaster.pid"));
        let Some(pid) = pid.ok().and_then(|text| Some(text.lines().next()?.to_owned())) else {
            return;
        };
        // The first one first, so that it starts no others meanwhile.
        for by in [["kill", ""], ["pkill", "-P"]] {
            let mut command = Command::new(by[0]);
            command.arg(format!("-{signal}")).args(by[1..].iter().filter(|word| !word.is_empty()));
            command.arg(&pid).status().expect("procps");
        }
    }

    pub(crate) fn down(&self) {
        self.signal("CONT");
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
