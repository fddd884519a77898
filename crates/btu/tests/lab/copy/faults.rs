//! Faults of the system's programs in the middle of a copy.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{longest, row};
use crate::common::{Laboratory, finish};
use crate::support::{LONG, send, text};

/// The system's servers, and a part of their command lines.
const SERVERS: [(&str, &str, &str); 2] =
    [("rsync", "rsync --daemon", "/usr/bin/rsync"), ("vsftpd", "vsftpd /proc", "/usr/sbin/vsftpd")];

/// Whether this system has the program; prints loudly if not.
fn is_here(path: &str) -> bool {
    if Path::new(path).exists() {
        return true;
    }
    assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "there is no {path}");
    eprintln!("LAB SKIPPED: no {path}");
    false
}

/// Begins copies at 10 Mb/s, each of which takes 0.85 s for a megabyte at least.
fn begin(laboratory: &Laboratory, program: &str, size: &str) -> Child {
    let what = ["copy", "--quiet", "--network", "10 Mb/s", "--program", program, "--size", size];
    let how = ["--storage", "disk", "--contention", "0"];
    laboratory.command(&[&what[..], &how].concat()).spawn().expect("btu starts")
}

/// What has a name in this laboratory's scratch directory.
fn left(laboratory: &Laboratory) -> Vec<String> {
    let scratch = laboratory.directory.path().join("scratch");
    let entries = fs::read_dir(scratch).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// Ends the run after its first cell, which does not count, says in a sentence of each end what
/// happened, and leaves nothing.
fn is_told(laboratory: &Laboratory, child: Child, wanted: &str) {
    let deadline = Instant::now() + LONG;
    while laboratory.stored_cells() < 1 {
        assert!(Instant::now() < deadline, "no cell after {LONG:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(child.id().cast_signed(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    laboratory.assert_down();
    let cells = laboratory.json(&["show", "--cells"]);
    let faults = cells[0]["faults"].as_array().expect("faults");
    println!("{wanted}: {faults:?}");
    assert!(faults.iter().any(|fault| fault.to_string().contains(wanted)), "{wanted}: {faults:?}");
    for fault in faults {
        assert_eq!(fault.as_str().expect("text").lines().count(), 1, "{fault}");
    }
    assert_eq!(left(laboratory), Vec::<String>::new());
}

#[test]
#[ignore = "takes some 10 s: scripts/lan-lab copy"]
fn long_a_killed_server_of_the_system_is_a_cell_that_does_not_count() {
    let Some(laboratory) = Laboratory::open() else { return };
    for (program, part, path) in SERVERS {
        if !is_here(path) {
            continue;
        }
        // The server itself, and the worker that started it.
        for (victim, wanted) in [(part, "it was killed"), ("internal worker", "killed by")] {
            let child = begin(&laboratory, program, "1 MB");
            laboratory.process(part);
            std::thread::sleep(Duration::from_millis(300));
            laboratory.kill(victim);
            is_told(&laboratory, child, wanted);
        }
    }
}

/// All of btu is killed at once while rsync copies, so that no process can remove its directory:
/// the next start does.
#[test]
fn what_a_run_that_was_killed_as_a_whole_left_goes_with_the_next_start() {
    let Some(laboratory) = Laboratory::open() else { return };
    if !is_here(SERVERS[0].2) {
        return;
    }
    let mut child = begin(&laboratory, "rsync", "1 MB");
    laboratory.process(SERVERS[0].1);
    // Named before the kill: any other btu of this user that starts after it takes them away.
    let before = left(&laboratory);
    assert!(before.iter().any(|name| name.starts_with("btu-run-")), "{before:?}");
    // A process that removes what its worker leaves is started with the directory.
    for _ in 0..3 {
        laboratory.processes().into_iter().for_each(|(process, _)| {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), Signal::SIGKILL);
        });
    }
    child.wait().expect("gone");
    laboratory.assert_down();
    let next = ["copy", "--quiet", "--program", "local", "--size", "1 kB", "--contention", "0"];
    let output = laboratory.command(&next).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(left(&laboratory), Vec::<String>::new());
}

/// The network is silent for ten seconds while the system's programs copy: every byte arrives in
/// the end.
#[test]
#[ignore = "takes some 40 s: scripts/lan-lab copy"]
fn long_the_systems_programs_outlast_ten_silent_seconds() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let sshd = ("scp", "internal worker", "/usr/sbin/sshd");
    for (program, part, path) in SERVERS.into_iter().chain([sshd]) {
        if !is_here(path) {
            continue;
        }
        let child = begin(&laboratory, program, "2 MB");
        let wire = laboratory.process("internal wire");
        laboratory.process(part);
        // After the login, for which sshd waits 5 s.
        std::thread::sleep(Duration::from_secs(1));
        send(wire, Signal::SIGSTOP);
        let began = Instant::now();
        std::thread::sleep(Duration::from_secs(10));
        send(wire, Signal::SIGCONT);
        let output = finish(child);
        assert!(output.status.success(), "{program}: {}", text(&output.stderr));
        laboratory.assert_down();
        let result = laboratory.json(&["show"])["result"].clone();
        let row: &Value = row(&result, program, 2_000_000, 0);
        println!("{program}: {row}, {:?}", began.elapsed());
        assert_eq!(row["invalid"], 0, "{row}");
        judge!(laboratory, longest(&laboratory) > 9.0, "no copy waited: {row}");
        assert_eq!(left(&laboratory), Vec::<String>::new());
    }
}
