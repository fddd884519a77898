//! Roll calls on loopback: a problem of one host is reported for that host, and the others are
//! measured.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use btu_control::trust::{Bundle, BundleLimits};
use serde_json::Value;

use crate::support::LONG;

/// The hosts that may have an agent.
const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// Agents of one job, in a directory of their own; killed when dropped.
struct Place {
    home: tempfile::TempDir,
    agents: Vec<Child>,
    inventory: String,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            home: tempfile::tempdir().unwrap(),
            agents: Vec::new(),
            inventory: String::new(),
        };
        let hour = Duration::from_hours(1);
        let limits = BundleLimits { lasts: hour, idle: hour, towards: Vec::new(), over: None };
        let (bundle, controller) = Bundle::issue(&NAMES.map(str::to_owned), limits).unwrap();
        bundle.save(&place.path("bundle")).unwrap();
        fs::write(place.path("me.pem"), controller).unwrap();
        fs::set_permissions(place.path("me.pem"), fs::Permissions::from_mode(0o600)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn btu(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        command.env("BTU_DATA", self.path("data"));
        command
    }

    /// Adds a host to the inventory, at an address where no agent listens.
    fn name(&mut self, name: &str) -> String {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        writeln!(self.inventory, "[hosts.{name}]\ncontrol = \"{free}\"").unwrap();
        free
    }

    /// A host with an agent that has this policy.
    fn start(&mut self, name: &str, policy: &str) {
        let listen = self.name(name);
        let file = format!("{name}.toml");
        fs::write(self.path(&file), policy).unwrap();
        let index = NAMES.iter().position(|one| *one == name).unwrap().to_string();
        let arguments = ["hosts", "agent", "--listen", &listen, "--policy", &file];
        let mut agent = self.btu(&arguments);
        agent.args(["--launched", "bundle", "--index", &index]);
        agent.stdout(Stdio::null()).stderr(Stdio::null());
        self.agents.push(agent.spawn().unwrap());
        let began = Instant::now();
        while std::net::TcpStream::connect(&listen).is_err() {
            assert!(began.elapsed() < LONG, "{name} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The exit code, and the `--json` output.
    fn check(&self) -> (Option<i32>, Value) {
        fs::write(self.path("hosts.toml"), &self.inventory).unwrap();
        let arguments =
            ["hosts", "check", "hosts.toml", "--identity", "me.pem", "--quiet", "--json"];
        let output = self.btu(&arguments).output().unwrap();
        let document = serde_json::from_slice(&output.stdout);
        (
            output.status.code(),
            document.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for agent in &mut self.agents {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }
}

#[test]
fn a_host_that_refuses_and_one_that_is_not_there_spoil_nothing_for_the_others() {
    let mut place = Place::new();
    place.start("alpha", "");
    place.start("beta", "activities = [\"tcp-send\", \"tcp-receive\"]\n");
    place.name("gamma");
    place.start("delta", "");
    let (code, document) = place.check();
    assert_eq!(code, Some(3));
    assert_eq!(document["run"]["study"], "hosts", "it is stored");
    let [alpha, beta, gamma, delta] = document["result"]["hosts"].as_array().unwrap().as_slice()
    else {
        panic!("{document}");
    };
    for (host, name) in [(alpha, "alpha"), (delta, "delta")] {
        assert_eq!((&host["name"], &host["trouble"]), (&name.into(), &Value::Null));
        assert!(host["answer"]["started_after_ns"].is_u64(), "{host}");
    }
    assert!(document["result"]["start_skew_ns"].is_u64());
    let trouble = beta["trouble"].as_str().unwrap();
    assert!(trouble.contains("beta") && trouble.contains("`activities` in line 1"), "{trouble}");
    assert!(
        beta["answer"]["clock"].is_object() && beta["answer"]["started_after_ns"].is_null(),
        "{beta}"
    );
    assert!(gamma["trouble"].as_str().unwrap().contains("cannot be reached"), "{gamma}");
    assert!(gamma["answer"].is_null());
}
