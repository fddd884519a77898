//! Real hosts by ssh: stock OpenSSH on both sides, nothing installed, nothing left behind.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::drawn::is_there;
use crate::hosts_lab::{Hosts, RATED, SMALL_RATING, ended};
use crate::support::{LONG, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

/// A rating of one cell.
const ONE_CELL: [&str; 6] = ["--component", "SEND", "--message", "65536", "--load", "idle"];

/// The place of the OpenSSH server, which is not in the path of every user.
const SSHD: &str = "/usr/sbin/sshd";

/// Gives the server a directory that it needs, which no other user of this machine sees.
const WITH_PRIVILEGE_SEPARATION: &str =
    "mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd && exec \"$@\"";

/// An OpenSSH server in each station.
struct Servers {
    hosts: Hosts,
    daemons: Vec<Child>,
}

impl Servers {
    /// `None` if no server is possible: it changes its user, which needs root outside of user
    /// namespaces.
    fn start() -> Option<Self> {
        if !geteuid().is_root() {
            eprintln!("an OpenSSH server has to change its user: tested as root only");
            return None;
        }
        if !is_there("ssh")
            || !is_there("ssh-keygen")
            || !Path::new(SSHD).exists() && !is_there("sshd")
        {
            return None;
        }
        let hosts = Hosts::raise(RATED.len())?;
        let mut servers = Self { hosts, daemons: Vec::new() };
        for key in ["host_key", "user_key"] {
            let file = servers.hosts.path(key);
            let output = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &file])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        for name in RATED {
            servers.allow(name, "");
        }
        servers.daemons = RATED.iter().map(|name| servers.serve(name)).collect();
        servers.client();
        servers.disturb();
        Some(servers)
    }

    /// Gives the client what users have in their configurations for other purposes.
    fn disturb(&self) {
        let mut config =
            fs::OpenOptions::new().append(true).open(self.hosts.path("ssh.config")).unwrap();
        let options = "RemoteCommand tmux attach\nRequestTTY yes\nSessionType none\nStdinNull yes\nForkAfterAuthentication yes\n";
        write!(config, "Host {}\n{options}", RATED[2]).unwrap();
    }

    /// Lets the user's key in, with these options of sshd.
    fn allow(&self, name: &str, options: &str) {
        let key = fs::read_to_string(self.hosts.path("user_key.pub")).unwrap();
        fs::write(self.hosts.path(&format!("{name}.keys")), format!("{options}{key}")).unwrap();
    }

    fn serve(&self, name: &str) -> Child {
        let path = |file: &str| self.hosts.path(file);
        let cache = self.cache(name);
        fs::create_dir_all(&cache).unwrap();
        let written = format!(
            "ListenAddress {}:2222\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nSetEnv XDG_CACHE_HOME={}\n",
            self.hosts.control(name),
            path("host_key"),
            path(&format!("{name}.keys")),
            cache.display()
        );
        // What hosts print before a command, without an end of line.
        let noise = "ForceCommand printf %s no-end-of-line:; eval \"$SSH_ORIGINAL_COMMAND\"\n";
        let noise = if name == RATED[1] { noise } else { "" };
        let file = path(&format!("{name}.sshd"));
        fs::write(&file, written + noise).unwrap();
        let log = fs::File::create(path(&format!("{name}.sshd.log"))).unwrap();
        let private = ["unshare", "--mount", "sh", "-c", WITH_PRIVILEGE_SEPARATION, "sh"];
        let server = [SSHD, "-D", "-e", "-f", &file];
        let mut command = self.hosts.lab.exec(name, &[&private[..], &server].concat());
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// A client with a configuration of its own, as a user's would be.
    fn client(&self) {
        let mut written = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR\n\
             User root\nPort 2222\n",
            self.hosts.path("user_key")
        );
        for name in RATED {
            writeln!(written, "Host {name}\nHostName {}", self.hosts.control(name)).unwrap();
        }
        fs::write(self.hosts.path("ssh.config"), written).unwrap();
        let script = format!("#!/bin/sh\nexec ssh -F {} \"$@\"\n", self.hosts.path("ssh.config"));
        fs::write(self.hosts.path("ssh"), script).unwrap();
        fs::set_permissions(self.hosts.path("ssh"), fs::Permissions::from_mode(0o700)).unwrap();
        let deadline = Instant::now() + LONG;
        for name in RATED {
            let ssh = self.hosts.path("ssh");
            while !self
                .hosts
                .lab
                .exec("desk", &[&ssh, "-T", name, "true"])
                .output()
                .unwrap()
                .status
                .success()
            {
                let log = fs::read_to_string(self.hosts.path(&format!("{name}.sshd.log")))
                    .unwrap_or_default();
                assert!(Instant::now() < deadline, "{name} takes no ssh: {log}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    }

    fn cache(&self, name: &str) -> PathBuf {
        self.hosts.path(&format!("cache-{name}")).into()
    }

    /// Waits until a host has no files or processes of btu any more.
    fn assert_nothing_left(&self) {
        let deadline = Instant::now() + LONG;
        for name in RATED {
            let left = || fs::read_dir(self.cache(name).join("btu")).map_or(0, Iterator::count);
            while left() > 0 {
                assert!(Instant::now() < deadline, "{name} still has a copy");
                thread::sleep(Duration::from_millis(50));
            }
        }
        while !self.agents().is_empty() {
            assert!(Instant::now() < deadline, "an agent is left: {:?}", self.agents());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The copied agents' processes. A login through ssh has an environment of its own, so the test
    /// recognises them by their paths.
    fn agents(&self) -> Vec<i32> {
        let home = self.hosts.lab.home.path().display().to_string();
        let numbers = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_ours = |number: &i32| {
            let line = text(&fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default())
                .replace('\0', " ");
            line.starts_with(&home) && line.trim_end().ends_with("agent --stdio")
        };
        numbers.filter(is_ours).collect()
    }

    /// Hosts by ssh, with the measured network apart.
    fn rate(&self, what: &[&str], arguments: &[&str]) -> Command {
        let mut written = String::new();
        for (number, (name, role)) in RATED.iter().zip(["test", "active", "passive"]).enumerate() {
            let measured = 10 + number;
            write!(written, "[hosts.{name}]\nssh = \"{name}\"\nrole = \"{role}\"\nmeasured = \"10.99.0.{measured}\"\n")
                .unwrap();
        }
        let inventory = self.hosts.path("ssh.toml");
        fs::write(&inventory, written).unwrap();
        let program = self.hosts.path("ssh");
        let all = ["rate", "--hosts", &inventory, "--ssh-program", &program, "--quiet"];
        self.hosts.desk(&[&all[..], what, arguments].concat())
    }

    /// This program without debug information: a smaller copy.
    fn stripped(&self) -> String {
        let file = self.hosts.path("btu-stripped");
        let stripped =
            Command::new("strip").args(["-o", &file, env!("CARGO_BIN_EXE_btu")]).status();
        if stripped.is_ok_and(|status| status.success()) {
            file
        } else {
            env!("CARGO_BIN_EXE_btu").to_owned()
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.daemons {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn deaths_leave_nothing(servers: &Servers, binary: &str) {
    // The controller is killed: its ssh clients end, and so do the agents.
    let mut child = servers.hosts.begin(servers.rate(&SMALL_RATING, &["--ssh-binary", binary]), 1);
    let controller = servers.hosts.controller();
    kill(Pid::from_raw(controller), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    servers.assert_nothing_left();

    // An agent is killed: it is copied again.
    let child = servers.hosts.begin(servers.rate(&SMALL_RATING, &["--ssh-binary", binary]), 1);
    let agent = *servers.agents().first().expect("a run has agents");
    kill(Pid::from_raw(agent), Signal::SIGKILL).unwrap();
    let output = ended(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    servers.assert_nothing_left();
}

/// As docs/hosts.md says: a command of sshd for a key, with a policy, and one run at a time by
/// flock(1). No program is copied.
fn the_owner_of_a_host_decides(servers: &Servers, binary: &str) {
    let [policy, lock] = ["owner.toml", "owner.lock"].map(|name| servers.hosts.path(name));
    let btu = env!("CARGO_BIN_EXE_btu");
    let agent = format!("flock -n {lock} {btu} hosts agent --stdio --policy {policy}");
    let busy = "echo this host is being measured";
    servers.allow("alpha", &format!("restrict,command=\"{agent} || {busy}\" "));
    let program = servers.hosts.path("ssh");
    let there = ["pipe", "--ssh", "alpha", "--ssh-program", &program, "--ssh-binary", binary];
    let quick = ["--precision", "quick", "--sizes", "64,1KiB", "--quiet"];
    let pipe = || servers.hosts.desk(&[&there[..], &quick].concat());
    // Earlier runs have left it empty.
    let copies = servers.cache("alpha").join("btu");
    fs::remove_dir(&copies).unwrap();
    fs::write(&policy, "[limits]\nworkers = 4\n").unwrap();
    assert_eq!(Hosts::json(pipe())["run"]["state"], "complete");
    assert!(!copies.exists(), "a program was copied");

    fs::write(&policy, "activities = [\"null\"]\n").unwrap();
    let refused = pipe().output().unwrap();
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("`activities` in line 1"), "{said}");

    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let refused = pipe().output().unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("this host is being measured"), "{said}");
    servers.allow("alpha", "");
}

#[test]
fn hosts_by_ssh_need_nothing_and_keep_nothing() {
    let Some(servers) = Servers::start() else { return };
    let binary = servers.stripped();
    let began = Instant::now();
    let result = Hosts::json(servers.rate(&ONE_CELL, &["--ssh-binary", &binary]));
    println!("rated by ssh in {:?}", began.elapsed());
    assert_eq!(result["run"]["state"], "complete");
    assert_eq!(result["result"]["invalid_cells"], 0);
    let reached = &result["run"]["plan"]["network"]["hosts"][2]["reached"];
    assert_eq!((&reached["by"], &reached["destination"]), (&"ssh".into(), &"gamma".into()));
    servers.assert_nothing_left();

    // Only three names: measured at the addresses of ssh.
    let all = [
        "rate",
        "--ssh",
        "alpha,beta,gamma",
        "--ssh-program",
        &servers.hosts.path("ssh"),
        "--quiet",
    ];
    let result = Hosts::json(
        servers.hosts.desk(&[&all[..], &ONE_CELL, &["--ssh-binary", &binary]].concat()),
    );
    assert_eq!(
        (&result["run"]["state"], &result["result"]["invalid_cells"]),
        (&"complete".into(), &0.into())
    );
    let host = &result["run"]["plan"]["network"]["hosts"][0];
    assert_eq!(
        (&host["name"], &host["measured"]),
        (&"alpha".into(), &servers.hosts.control("alpha").into())
    );
    servers.assert_nothing_left();

    // A pipe from here to one of them, at the address of ssh.
    let program = servers.hosts.path("ssh");
    let there = ["pipe", "--ssh", "alpha", "--ssh-program", &program, "--ssh-binary", &binary];
    let quick = ["--precision", "quick", "--sizes", "64,1KiB", "--quiet"];
    let result = Hosts::json(servers.hosts.desk(&[&there[..], &quick].concat()));
    assert_eq!(result["run"]["state"], "complete");
    let place = &result["run"]["plan"]["signature"]["place"];
    assert_eq!(
        (&place["reached"]["by"], &place["measured"]),
        (&"ssh".into(), &servers.hosts.control("alpha").into())
    );
    servers.assert_nothing_left();

    deaths_leave_nothing(&servers, &binary);

    the_owner_of_a_host_decides(&servers, &binary);

    // A program of another kind is refused with advice.
    let foreign = servers.hosts.path("foreign");
    fs::write(&foreign, b"\x7fELF\x02\x01\x01 of another machine").unwrap();
    let output = servers.rate(&ONE_CELL, &["--ssh-binary", &foreign]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot run it") && said.contains("scripts/static"), "{said}");
    servers.assert_nothing_left();

    // There is no host at this address.
    let wrong = servers
        .hosts
        .desk(&[
            "rate",
            "--ssh",
            "alpha,beta,nobody@192.0.2.1",
            "--ssh-program",
            &servers.hosts.path("ssh"),
            "--quiet",
        ])
        .output()
        .unwrap();
    let said = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(3), "{said}");
    assert!(said.contains("ssh nobody@192.0.2.1"), "{said}");
    let _ = servers.hosts.lab.output(&["net", "down"]);
}
