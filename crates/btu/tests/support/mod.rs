//! Common functions of tests of the real program.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longer than anything takes that a test waits for, however busy the machine is. Nothing waits for
/// so long unless it has failed.
pub(crate) const LONG: Duration = Duration::from_mins(3);

/// What a program printed, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sends a signal to a process that must exist.
pub(crate) fn send(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal)
        .unwrap_or_else(|error| panic!("{signal} to {process}: {error}"));
}

/// Prints loudly that a test is skipped here; fails if a laboratory is required.
pub(crate) fn lab_skipped(reason: &str) {
    eprintln!("LAB SKIPPED: {reason}");
    assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "a lab is required: {reason}");
}

/// Writes the recorded link that the pages name.
pub(crate) fn write_recordings(directory: &Path) {
    for (name, times) in [("drive.down", "1\n2\n2\n3\n"), ("drive.up", "2\n4\n")] {
        std::fs::write(directory.join(name), times).expect("a file is written");
    }
}

/// The path of a file in this directory, as an argument.
pub(crate) fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

/// The memory of a process, in bytes: its own, and with the pages of its program; `None` when it is
/// gone.
pub(crate) fn memory(process: i32) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Some((bytes("RssAnon:")?, bytes("VmRSS:")?))
}
