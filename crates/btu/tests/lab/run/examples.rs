//! The library of examples, each measured once.

use crate::common::Laboratory;
use crate::support::text;

/// Runs an example once, as a user would; every row has a repetition that counts.
fn measured(laboratory: &Laboratory, name: &str) {
    let example = laboratory.command(&["run", "--example", name]).output().expect("btu starts");
    let path = laboratory.directory.path().join(format!("{name}.toml"));
    std::fs::write(&path, &example.stdout).expect("a file is written");
    let arguments =
        ["run", "--quiet", "--blocks", "1", "-C", "reno", path.to_str().expect("a path")];
    let output = laboratory.command(&arguments).output().expect("btu starts");
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    laboratory.assert_down();
}

#[test]
fn examples_of_transfers_can_be_measured() {
    let Some(laboratory) = Laboratory::open_once_if_changed() else { return };
    for name in ["rate-and-distance", "busy-host", "message-size", "loss"] {
        measured(&laboratory, name);
    }
}

#[test]
fn examples_of_requests_and_computing_can_be_measured() {
    let Some(laboratory) = Laboratory::open_once_if_changed() else { return };
    for name in ["queue", "transports", "download-and-copy"] {
        measured(&laboratory, name);
    }
}

/// Those with programs need packages: scripts/test installs them where they are asked for.
#[test]
#[ignore = "slow: needs curl, openssh, redis and iperf3; scripts/run-lab examples"]
fn slow_examples_with_programs_can_be_measured() {
    let Some(laboratory) = Laboratory::open() else { return };
    for name in ["curl", "scp", "redis", "iperf3"] {
        measured(&laboratory, name);
    }
}
