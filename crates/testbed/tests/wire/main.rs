//! The wire on real interfaces: each requested impairment must be visible at the far end. An
//! argument that is no option selects scenarios by a part of their name.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod bench;
mod drawn;
mod lab;
mod lines;
mod paths;
mod raw;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod veths;

use std::process::ExitCode;

use scenarios::Scenario;

/// The argument by which this program becomes a wire.
const WIRE: &str = "--become-the-wire";

/// The scenarios that always run: one for each way in which interfaces are made and removed, and in
/// which frames are carried. The others are left out when scripts/test reports that all passed as
/// an ordinary user (`BTU_TESTED_AS`), because the treatment of frames on a line does not depend on
/// the user, or with these files (`BTU_UNCHANGED`).
const ALWAYS: [&str; 8] = [
    "path_delay",
    "path_black_box_input",
    "wire_ends",
    "veth_loss",
    "veth_superframes",
    "drawn_link_10",
    "drawn_capture_killed",
    "line_queue_of_frames",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, socket] = &arguments[..]
        && role == WIRE
    {
        return lab::be_the_wire(socket);
    }
    let mut chosen = scenarios::chosen(all(), &arguments);
    if has_passed() {
        chosen.retain(|(name, _)| ALWAYS.contains(name));
        println!("the other scenarios have passed already");
    }
    if let Err(code) = scenarios::prepare(&chosen, &arguments) {
        return code;
    }
    take_precedence();
    scenarios::run(&chosen)
}

/// Whether all scenarios have passed already.
fn has_passed() -> bool {
    let unchanged = std::env::var("BTU_UNCHANGED").unwrap_or_default();
    std::env::var_os("BTU_TESTED_AS").is_some() || unchanged.split(' ').any(|part| part == "wire")
}

fn all() -> impl Iterator<Item = &'static Scenario> {
    paths::SCENARIOS.iter().chain(veths::SCENARIOS).chain(drawn::SCENARIOS).chain(lines::SCENARIOS)
}

/// Scenarios measure time: if allowed, this program and its threads get precedence over others.
#[allow(unsafe_code)]
fn take_precedence() {
    // SAFETY: a system call without pointers. A refusal is usual, and only makes failures on a busy
    // machine likelier.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}
