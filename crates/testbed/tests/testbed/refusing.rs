//! Networks that cannot be raised: one clear error each.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::protocol_work::ProtocolWork;
use btu_network::{Drawing, library_text};
use btu_testbed::testbed::{Cause, NetworkRequest, RaisingNetwork, TestbedError, preflight};

use crate::support::{Lab, User, skip, users};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The test program in a user namespace in which `setting` is zero, without capabilities if `bare`.
fn preflight_with(lab: &Lab, setting: &str, bare: bool) -> Option<String> {
    let strip = if bare { "setpriv --bounding-set=-all --inh-caps=-all" } else { "" };
    let script = format!("echo 0 > /proc/sys/user/{setting} && exec {strip} \"$0\" preflight");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", &script]).arg(lab.home().join("drill"));
    lab.demote(&mut command);
    match command.output() {
        Ok(output) => Some(text(&output)),
        Err(error) => {
            skip(&format!("no unshare(1) here: {error}"));
            None
        }
    }
}

#[test]
fn a_system_without_namespaces_is_told_which_setting_to_change() {
    for &user in users() {
        let Some(lab) = Lab::open(user) else { return };
        for (setting, bare) in [
            ("max_user_namespaces", true),
            ("max_net_namespaces", false),
            ("max_pid_namespaces", false),
        ] {
            let Some(said) = preflight_with(&lab, setting, bare) else { return };
            assert!(
                said.starts_with("refused cannot make ")
                    && said.contains(&format!("user.{setting}=")),
                "{said}"
            );
            assert_eq!(said.trim().lines().count(), 1, "{said}");
        }
    }
}

#[test]
fn a_met_process_limit_is_named() {
    let Some(&user) = users().iter().find(|&&user| user == User::Nobody || users().len() == 1)
    else {
        return;
    };
    let Some(lab) = Lab::open(user) else { return };
    let mut command = Command::new("prlimit");
    command.arg("--nproc=1:1").arg(lab.home().join("drill")).arg("preflight");
    lab.demote(&mut command);
    match command.output() {
        Ok(output) => assert!(text(&output).contains("ulimit -u"), "{}", text(&output)),
        Err(error) => skip(&format!("no prlimit(1) here: {error}")),
    }
}

#[test]
fn an_agent_or_wire_that_ends_at_once_is_the_error() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    let residents = [
        ("test", "the agent on test"),
        ("passive", "the agent on passive"),
        ("wire", "the link emulator"),
    ];
    for (culprit, told) in residents {
        let mut command = lab.drill(&["coordinate", "veth"]);
        let output =
            command.arg(lab.directory("run")).env("BTU_DRILL_MISCHIEF", culprit).output().unwrap();
        assert!(
            text(&output)
                .starts_with(&format!("refused cannot wait for {told}: exited with status 7")),
            "{output:?}"
        );
        assert!(!lab.directory("run").exists());
    }
}

#[test]
fn a_wire_that_carries_nothing_is_found_out_before_the_run() {
    let Some(lab) = Lab::open(users()[0]) else { return };
    let (start, conditions) = (Instant::now(), Conditions::begin());
    let mut command = lab.drill(&["coordinate", "veth"]);
    let output =
        command.arg(lab.directory("run")).env("BTU_DRILL_MISCHIEF", "deaf").output().unwrap();
    assert!(text(&output).contains("between test and active at 198.19.0.2"), "{output:?}");
    let took = start.elapsed();
    judge!(conditions, took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn a_directory_that_may_not_be_written_is_refused() {
    let Some(lab) = users().contains(&User::Nobody).then(|| Lab::open(User::Nobody)).flatten()
    else {
        return;
    };
    let output = lab.drill(&["coordinate", "veth"]).arg(lab.home().join("mine")).output().unwrap();
    assert!(
        text(&output).contains("runtime directory") && text(&output).contains("Permission denied"),
        "{output:?}"
    );
}

fn raise(directory: PathBuf, executable: &str) -> TestbedError {
    refused(request(directory, executable))
}

fn refused(request: NetworkRequest) -> TestbedError {
    RaisingNetwork::begin(request).and_then(RaisingNetwork::finish).expect_err("it cannot stand")
}

fn request(directory: PathBuf, executable: &str) -> NetworkRequest {
    NetworkRequest {
        name: "veth".to_owned(),
        drawing: Drawing::read(library_text("veth").unwrap(), "veth").unwrap(),
        runtime_directory: directory,
        seed: 1,
        executable: executable.into(),
        capture: None,
        source: String::new(),
        since: String::new(),
        agents: Vec::new(),
        inputs: Vec::new(),
        processors: Vec::new(),
        protocol_work: ProtocolWork::Sender,
        congestion_control: None,
        ipv6: false,
    }
}

/// The requested name reaches the kernel, which knows no such algorithm.
#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    let Some(lab) = Lab::open(User::Myself) else { return };
    let asked = request(lab.directory("run"), env!("CARGO_BIN_EXE_testbed-fault-test"));
    let error = refused(NetworkRequest { congestion_control: "no-such".parse().ok(), ..asked });
    assert!(error.to_string().contains("let the TCP of station test use no-such"), "{error}");
}

#[test]
fn a_program_that_is_missing_or_strange_is_named() {
    let home = tempfile::tempdir().unwrap();
    let missing = raise(home.path().join("run"), "/nowhere/btu");
    assert_eq!(missing.cause, Cause::Processes);
    assert!(missing.to_string().contains("/nowhere/btu"), "{missing}");
    assert_eq!(raise(home.path().join("run"), "/bin/true").cause, Cause::Protocol);
    assert_eq!(raise(home.path().join("run"), "/bin/echo").cause, Cause::Protocol);
    assert_eq!(preflight(Path::new("/bin/false"), &[]).unwrap_err().cause, Cause::Protocol);
    assert!(!home.path().join("run").exists());
}

#[test]
fn a_relative_directory_is_refused() {
    assert_eq!(raise(PathBuf::from("run"), "/bin/true").cause, Cause::RuntimeDirectory);
}
