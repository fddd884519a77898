//! Publishers with made-up runs, and a running board.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use btu_contract::experiment::Experiment;
use btu_contract::network::Network;
use btu_control::environment::collect;
use btu_publication::{Manifest, SigningKey, Visibility, sha256};
use btu_store::{Moment, NewRun, State, Store};
use btu_studies::rate::{Plan, Profile};
use serde_json::Value;
use tempfile::TempDir;

#[path = "../../../studies/tests/made/mod.rs"]
pub(crate) mod made;

/// The program that the board asks, which is built next to it.
pub(crate) fn btu() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_btu-board")).with_file_name("btu");
    assert!(path.is_file(), "{} is missing: build it with `cargo build -p btu`", path.display());
    path
}

/// A running board; it ends with this value.
pub(crate) struct Server {
    child: Child,
    /// Where a server that is killed leaves what it computed.
    _temporary: TempDir,
    pub(crate) url: String,
    /// What it printed when it began.
    pub(crate) said: Vec<String>,
}

impl Server {
    /// Starts one on a free port; `stored` is `--directory DIR` or `--database ADDRESS`.
    pub(crate) fn start(stored: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg("serve").args(stored).args(["--listen", "127.0.0.1:0", "--log", "none"]);
        Self::of(command)
    }

    /// One more server of the same board, which has the address of the first.
    pub(crate) fn another(stored: &[&str], url: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
        command.arg("serve").args(stored).args([
            "--listen",
            "127.0.0.1:0",
            "--url",
            url,
            "--log",
            "none",
        ]);
        Self::of(command)
    }

    /// Starts it by a command that may have more arguments and variables.
    pub(crate) fn of(mut command: Command) -> Self {
        let temporary = tempfile::tempdir().expect("a directory");
        if command.get_envs().all(|(name, _)| name != "TMPDIR") {
            command.env("TMPDIR", temporary.path());
        }
        command.stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().expect("the board starts");
        let mut said = Vec::new();
        for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
            said.push(line.expect("a line"));
            if said.last().is_some_and(|line| line.starts_with("It listens on ")) {
                break;
            }
        }
        let listens = said.last().and_then(|line| line.strip_prefix("It listens on "));
        let listens = listens.unwrap_or_else(|| panic!("{said:?}"));
        Self { child, _temporary: temporary, url: format!("http://{listens}"), said }
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn ask_to_end(&self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(asked.expect("kill").success());
    }

    /// Asks it to end, and waits.
    pub(crate) fn end(&mut self) -> bool {
        self.ask_to_end();
        self.child.wait().expect("it ends").success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection of the caller `127.0.0.LAST`.
pub(crate) fn connect_from(server: &Server, last: u8) -> TcpStream {
    connect_with(server, [127, 0, 0, last], None)
}

/// A connection of a caller whose system keeps no more than so many bytes of an answer.
pub(crate) fn connect_with(server: &Server, from: [u8; 4], buffer: Option<usize>) -> TcpStream {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use socket2::{Domain, Socket, Type};
    // Many connections are open at once.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let server: SocketAddr =
        server.url.strip_prefix("http://").expect("it is").parse().expect("an address");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    if let Some(buffer) = buffer {
        socket.set_recv_buffer_size(buffer).expect("set");
    }
    socket.bind(&SocketAddr::from((from, 0)).into()).expect("an address of this machine");
    socket.connect(&server.into()).expect("heard");
    socket.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
    socket.into()
}

/// What a server answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    /// The sentence of a refusal.
    pub(crate) fn refused(&self) -> String {
        assert!(self.status >= 400, "{}: {}", self.status, self.text());
        self.json()["error"].as_str().expect("a sentence").to_owned()
    }
}

/// Asks by curl.
pub(crate) fn curl(arguments: &[&str]) -> Answer {
    let mut command = Command::new("curl");
    command.args(["-sS", "--max-time", "120", "-w", "\n%{http_code}"]).args(arguments);
    let Output { stdout, stderr, .. } = command.output().expect("curl is installed");
    let end = stdout.iter().rposition(|octet| *octet == b'\n').expect("a status");
    let status = String::from_utf8_lossy(&stdout[end + 1..]).into_owned();
    // Without an answer it is 000.
    let status = status.parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&stderr)));
    Answer { status, body: stdout[..end].to_vec() }
}

/// A publisher.
pub(crate) struct Publisher {
    pub(crate) key: SigningKey,
    pub(crate) name: String,
}

impl Publisher {
    pub(crate) fn new(name: &str) -> Self {
        Self { key: SigningKey::new().expect("a key"), name: name.to_owned() }
    }
}

/// A made-up run.
pub(crate) struct Made {
    pub(crate) megabits: f64,
    /// By how much of its rate each block is faster than the one before.
    pub(crate) drift: f64,
    pub(crate) processor: &'static str,
    pub(crate) seed: u64,
    pub(crate) state: State,
    pub(crate) created: String,
    /// Rows that were measured; all when absent.
    pub(crate) rows: Option<usize>,
    /// The network message sizes of a plan that is a part of the rating.
    pub(crate) is_part: bool,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Made {
    pub(crate) fn of(megabits: f64) -> Self {
        Self {
            megabits,
            drift: 0.001,
            processor: "Test 9000",
            seed: NEXT.fetch_add(1, Ordering::Relaxed),
            state: State::Complete,
            created: "2026-11-21T04:31:08Z".to_owned(),
            rows: None,
            is_part: false,
        }
    }

    fn plan(&self) -> Plan {
        let whole = Plan::whole(self.seed, Profile::standard(), Network::Veth);
        if !self.is_part {
            return whole;
        }
        let messages = whole.messages.iter().take(2).copied().collect();
        Plan { messages, ..whole }
    }

    /// Stores it in the database in `directory`.
    pub(crate) fn store(&self, directory: &Path) {
        let mut store = Store::open(directory.join("runs.sqlite")).expect("a database");
        let plan = self.plan();
        let document = btu_contract::json::to_value(&plan).expect("a plan is JSON");
        let new = NewRun {
            study: btu_studies::rate::STUDY,
            profile: &plan.profile.name,
            network: "veth",
            label: Some("a private word"),
            tags: &["secret-tag".to_owned()],
            created: &self.created,
            seed: self.seed,
            btu_version: "0.1.0",
            plan: &document,
            plan_hash: &plan.hash(),
            planned_cells: 5000,
        };
        let lock = store.create_run(&new).expect("a run");
        let mut environment = collect();
        environment.processor.model = Some(self.processor.to_owned());
        let environment = btu_contract::json::to_value(&environment).expect("JSON");
        store.save_environment(&lock, Moment::Before, &environment).expect("stored");
        store.save_calibration(&lock, &made::calibration(&plan)).expect("stored");
        for block in 0..3 {
            let rate = self.megabits * 1e6 * (1.0 + self.drift * f64::from(block));
            let order = plan.shuffled(block, plan.rows());
            for row in order.into_iter().take(self.rows.unwrap_or(usize::MAX)) {
                store.save(&lock, &plan, &made::cell(&plan, row, block, rate)).expect("stored");
            }
        }
        store.finish(&lock, self.state, &self.created).expect("stored");
    }

    /// Its archive in published form.
    pub(crate) fn archive(&self, board: &str) -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        self.store(directory.path());
        let file = directory.path().join("published.btu");
        let done = Command::new(btu())
            .args(["runs", "export", "r1", "--published", board, "-o"])
            .arg(&file)
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        (directory, file)
    }
}

/// Everything that is sent when a run is published; a test may change it.
pub(crate) struct Sent {
    pub(crate) directory: TempDir,
    pub(crate) manifest: Manifest,
    pub(crate) archive: Vec<u8>,
    /// What is sent in the place of the signed manifest.
    pub(crate) text: Option<String>,
    /// What is sent in the place of the right signature.
    pub(crate) signature: Option<String>,
}

impl Sent {
    pub(crate) fn of(made: &Made, publisher: &Publisher, board: &str) -> Self {
        let (directory, file) = made.archive(board);
        let archive = std::fs::read(&file).expect("an archive");
        let shown = Command::new(btu())
            .args(["show", "r1", "--json"])
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu shows");
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let run = &shown["run"];
        let text = |name: &str| run[name].as_str().expect("a text").to_owned();
        let manifest = Manifest {
            board: board.to_owned(),
            run: text("uuid"),
            archive_sha256: sha256(&archive),
            plan_hash: text("plan_hash"),
            seed: made.seed,
            created: text("created"),
            signed: jiff::Timestamp::now().to_string(),
            visibility: Visibility::Public,
            name: publisher.name.clone(),
            system: Some("an old laptop".to_owned()),
            price: Some("500 EUR".parse().expect("a price")),
        };
        Self { directory, manifest, archive, text: None, signature: None }
    }

    /// The same once more.
    pub(crate) fn copy(&self) -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            manifest: self.manifest.clone(),
            archive: self.archive.clone(),
            text: self.text.clone(),
            signature: self.signature.clone(),
        }
    }

    /// Sends it to `server`, which may be another than the board that was signed.
    pub(crate) fn send(&self, publisher: &Publisher, server: &str) -> Answer {
        self.send_from("127.0.0.1", publisher, server)
    }

    /// Sends it from another address of this host.
    pub(crate) fn send_from(&self, from: &str, publisher: &Publisher, server: &str) -> Answer {
        let arguments = self.arguments(publisher, server);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        curl(&[&["--interface", from], &arguments[..]].concat())
    }

    /// The first line of the upload.
    pub(crate) fn line(&self, publisher: &Publisher) -> String {
        let text = self.text.clone().unwrap_or_else(|| self.manifest.text());
        let signature = self.signature.clone();
        let signature = signature.unwrap_or_else(|| publisher.key.sign(&text).expect("signed"));
        let key = publisher.key.public().expect("a key").to_string();
        line(&text, &signature, &key)
    }

    /// What curl needs to send it.
    pub(crate) fn arguments(&self, publisher: &Publisher, server: &str) -> Vec<String> {
        upload(self.directory.path(), &self.line(publisher), &self.archive, server)
    }
}

/// The first line of an upload.
pub(crate) fn line(manifest: &str, signature: &str, key: &str) -> String {
    let line = serde_json::json!({"manifest": manifest, "signature": signature, "key": key});
    format!("{line}\n")
}

/// What curl needs to send a line and an archive, which it finds in a file of `directory`.
pub(crate) fn upload(directory: &Path, line: &str, archive: &[u8], server: &str) -> Vec<String> {
    let file = directory.join("upload");
    std::fs::write(&file, [line.as_bytes(), archive].concat()).expect("written");
    let (sent, address) = (format!("@{}", file.display()), format!("{server}/api/v1/runs"));
    ["-H", "Content-Type: application/octet-stream", "--data-binary", &sent, &address]
        .map(str::to_owned)
        .to_vec()
}

/// Sends a form.
pub(crate) fn post(address: &str, fields: &[(&str, &str)]) -> Answer {
    post_from("127.0.0.1", address, fields)
}

/// Sends a form from another address of this host.
pub(crate) fn post_from(from: &str, address: &str, fields: &[(&str, &str)]) -> Answer {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut arguments = vec!["--interface", from, address];
    arguments.extend(fields.iter().flat_map(|field| ["--data-urlencode", field]));
    curl(&arguments)
}

/// A run that was published, and its token.
pub(crate) struct Published {
    pub(crate) id: String,
    pub(crate) token: String,
}

/// Publishes a made-up run.
pub(crate) fn publish(made: &Made, publisher: &Publisher, server: &Server) -> Published {
    publish_as(made, publisher, server, Visibility::Public)
}

pub(crate) fn publish_as(
    made: &Made,
    publisher: &Publisher,
    server: &Server,
    visibility: Visibility,
) -> Published {
    let mut sent = Sent::of(made, publisher, &server.url);
    sent.manifest.visibility = visibility;
    let answer = sent.send(publisher, &server.url);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(answer["word"], "unverified");
    let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
    Published { id: text("id"), token: text("token") }
}
