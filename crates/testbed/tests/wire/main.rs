//! The wire on real interfaces: what it is asked for must be seen at the far end.
//!
//! A plain program, because a process can only enter a user namespace before it has threads. Scenarios run one after the
//! other: they measure time. An argument that is no option selects scenarios by a part of their name.

mod bench;
mod drawn;
mod lab;
mod lines;
mod paths;
mod raw;
mod veths;

use std::process::ExitCode;
use std::time::Instant;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// The argument by which this program becomes a wire.
const WIRE: &str = "--become-the-wire";

type Scenario = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, socket] = &arguments[..]
        && role == WIRE
    {
        return lab::be_the_wire(socket);
    }
    let chosen: Vec<Scenario> = scenarios().filter(|(name, _)| is_chosen(name, &arguments)).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in &chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    if let Err(why) = own_namespaces() {
        println!("LAB SKIPPED: no network namespace of our own: {why}");
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "BTU_LAB=required, and there is no lab");
        return ExitCode::SUCCESS;
    }
    take_precedence();
    let failed = chosen.iter().filter(|scenario| !passes(scenario)).count();
    println!("test result: {} passed, {failed} failed", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn scenarios() -> impl Iterator<Item = Scenario> {
    paths::SCENARIOS.iter().chain(veths::SCENARIOS).chain(drawn::SCENARIOS).chain(lines::SCENARIOS).copied()
}

fn is_chosen(name: &str, arguments: &[String]) -> bool {
    let mut parts = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    parts.peek().is_none() || parts.any(|part| name.contains(part.as_str()))
}

fn passes((name, scenario): &Scenario) -> bool {
    let start = Instant::now();
    let passed = std::panic::catch_unwind(scenario).is_ok();
    println!("test {name} ... {} ({:.1} s)", if passed { "ok" } else { "FAILED" }, start.elapsed().as_secs_f64());
    passed
}

/// Scenarios measure time: where it may, this program and the threads it will start go before others.
#[allow(unsafe_code)]
fn take_precedence() {
    // SAFETY: a system call without pointers. A refusal is usual, and only makes failures on a busy machine likelier.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// A network namespace where this process is root: as an ordinary user, in a user namespace.
fn own_namespaces() -> std::io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(unshare(CloneFlags::CLONE_NEWNET)?);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    // A process may map its own group only after giving up to set others (user_namespaces(7)).
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
