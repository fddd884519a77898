//! A program file with capabilities (setcap): the rights that it gives to the user who starts it do
//! not let other users use this host's interfaces.
//!
//! Only the superuser runs it, because it can give the capabilities and also act as another user.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use btu_contract::activity::{Activity, Order};
use btu_units::Span;

use crate::share::Share;
use crate::support::{lab_skipped, text};

const NOBODY: u32 = 65_534;
/// `CAP_NET_ADMIN`, as /proc shows it; with `CAP_NET_RAW` it is what the file gives.
const NET_ADMIN: u64 = 0x1000;
/// The capabilities that a worker of the superuser keeps: `CAP_DAC_OVERRIDE`,
/// `CAP_DAC_READ_SEARCH`, `CAP_FOWNER` and `CAP_IPC_LOCK`.
const KEPT: u64 = 0x400e;

/// A copy of the program in a directory of the user `nobody`.
struct Copy {
    directory: tempfile::TempDir,
}

impl Copy {
    /// A copy with capabilities on its file, and this mode; the user `nobody` is not in its group.
    /// `None` if the capabilities cannot be set: the test prints this, and fails where a lab is
    /// required.
    fn with_capabilities(mode: u32) -> Option<Self> {
        let copy = Self::plain(mode)?;
        let given =
            Command::new("setcap").arg("cap_net_admin,cap_net_raw+ep").arg(copy.program()).output();
        match given {
            Ok(given) if given.status.success() => Some(copy),
            failed => {
                let why =
                    failed.map_or_else(|error| error.to_string(), |output| text(&output.stderr));
                lab_skipped(&format!("setcap: {why}"));
                None
            }
        }
    }

    fn plain(mode: u32) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("capabilities are given to files by root: tested as root only");
            return None;
        }
        let copy = Self { directory: tempfile::tempdir().unwrap() };
        chown(copy.directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        // In a process of its own: a file that is open for writing here cannot be executed.
        assert!(
            Command::new("cp")
                .arg(env!("CARGO_BIN_EXE_btu"))
                .arg(copy.program())
                .status()
                .unwrap()
                .success()
        );
        chown(copy.program(), Some(0), Some(NOBODY)).unwrap();
        fs::set_permissions(copy.program(), Permissions::from_mode(mode)).unwrap();
        Some(copy)
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("btu")
    }

    /// The copy, started by the user `nobody` in the directory of the copy.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program());
        command.args(arguments).current_dir(self.directory.path()).uid(NOBODY).gid(NOBODY);
        command.env_remove("XDG_RUNTIME_DIR").env("BTU_DATA", self.directory.path().join("data"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// Its permitted capabilities.
    fn permitted(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    /// Gives it an order and waits until it is ready to carry it out.
    fn prepare(&mut self) {
        let order = Order::new(1, Span::from_seconds(10), Activity::Null);
        let order = serde_json::to_string(&order).unwrap();
        writeln!(self.0.stdin.as_mut().unwrap(), "{order}").unwrap();
        let mut word = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut word).unwrap();
        assert!(word.contains("ready"), "{word}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A wire on this host's own interfaces would show their frames to the user `nobody`, and carry
/// frames between them.
#[test]
fn parts_of_btu_refuse_to_work_with_rights_of_the_file() {
    let _share = Share::one();
    let Some(copy) = Copy::with_capabilities(0o755) else { return };
    let parts: [&[&str]; 6] = [
        &["wire", "--socket", "wire.sock"],
        &["init"],
        &["keep"],
        &["enter", "/nowhere", "station", "--", "true"],
        &["offer", "/nowhere", "order", "0"],
        &["agent", "--station", "test", "--socket", "agent.sock"],
    ];
    for part in parts {
        let output =
            copy.command(&[&["internal"], part].concat()).stdin(Stdio::null()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{part:?}: {said}");
        assert!(said.contains("the program's file has capabilities (setcap)"), "{part:?}: {said}");
    }
    let left: Vec<_> = fs::read_dir(copy.directory.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["btu"]);
}

#[test]
fn a_wire_outside_of_a_testbed_refuses_the_superuser_too() {
    let _share = Share::one();
    let Some(copy) = Copy::plain(0o755) else { return };
    let output = Command::new(copy.program())
        .args(["internal", "wire", "--socket", "/nowhere"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("in a testbed only"), "{}", text(&output.stderr));
}

/// Over its Unix socket an agent serves the user who started it.
#[test]
fn an_agent_keeps_rights_of_the_file_only_where_it_is_a_groups_to_start() {
    let _share = Share::one();
    for (mode, kept, told) in [(0o755, 0, true), (0o750, NET_ADMIN, false)] {
        let Some(copy) = Copy::with_capabilities(mode) else { return };
        let mut agent =
            Running(copy.command(&["hosts", "agent", "--unix", "socket"]).spawn().unwrap());
        let mut said = BufReader::new(agent.0.stderr.take().unwrap()).lines().map_while(Result::ok);
        let before: Vec<String> =
            said.by_ref().take_while(|line| !line.contains("listening on")).collect();
        assert_eq!(agent.permitted(), kept, "{mode:o}");
        assert_eq!(
            before.iter().any(|line| line.contains("gave up the capabilities")),
            told,
            "{before:?}"
        );
    }
}

#[test]
fn a_worker_has_no_rights_over_the_network() {
    let _share = Share::one();
    let Some(copy) = Copy::with_capabilities(0o750) else { return };
    let mut of_the_file = Running(copy.command(&["internal", "worker"]).spawn().unwrap());
    of_the_file.prepare();
    assert_eq!(of_the_file.permitted(), 0);
    // As a service manager gives them to an agent, and the agent to its children.
    let Some(plain) = Copy::plain(0o755) else { return };
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=+net_admin",
        "--ambient-caps=+net_admin",
    ]);
    command
        .arg(plain.program())
        .args(["internal", "worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut ambient = Running(command.spawn().unwrap());
    ambient.prepare();
    assert_eq!(ambient.permitted(), 0);
    let mut command = Command::new(plain.program());
    command.args(["internal", "worker"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut superuser = Running(command.spawn().unwrap());
    superuser.prepare();
    assert_eq!(superuser.permitted() & !KEPT, 0, "{:x}", superuser.permitted());
}

/// The process that starts the copy keeps exactly its rights.
#[test]
fn everything_else_works_as_without_rights_of_the_file() {
    let _share = Share::one();
    let Some(copy) = Copy::with_capabilities(0o755) else { return };
    let run = [
        "rate",
        "--profile",
        "quick",
        "--component",
        "SEND",
        "--message",
        "1024",
        "--load",
        "idle",
        "--quiet",
    ];
    let mut command = copy.command(&run);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    if output.status.code() == Some(3) {
        lab_skipped(&said);
        return;
    }
    assert!(output.status.success(), "{said}");
}
