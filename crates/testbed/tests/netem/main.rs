//! Kernel netem on real interfaces: what it is asked for must be seen at the far end.
//!
//! Where the kernel has no netem this says so and ends; `scripts/netem-lab` runs it in a virtual machine that has.
//! A plain program, because a process can only enter a user namespace before it has threads, and scenarios run one after
//! the other: they measure time. An argument that is no option selects scenarios by a part of their name. `--required`
//! makes it a failure when there is no netem; `--exact-clock` says that time passes by instructions, not on the wall.

mod bench;
mod life;
mod lines;
mod pair;
mod queues;

use std::process::ExitCode;
use std::time::Instant;

use btu_testbed::netem::{NetemError, Support, probe};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

type Scenario = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<Scenario> = scenarios().filter(|(name, _)| is_chosen(name, &arguments)).collect();
    if is_set("--list") {
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
    match probe() {
        Ok(support) => run(&chosen, support),
        Err(error) => without_netem(&error),
    }
}

/// The error names what is missing; that is all there is to test.
fn without_netem(error: &NetemError) -> ExitCode {
    println!("  {error}");
    assert!(!is_set("--required"), "netem is required");
    assert!(matches!(error, NetemError::Missing { .. }), "a kernel without netem names what it lacks");
    assert!(error.to_string().contains("modprobe"));
    println!("this kernel's netem cannot be tested here; scripts/netem-lab tests one in a virtual machine");
    ExitCode::SUCCESS
}

fn run(chosen: &[Scenario], support: Support) -> ExitCode {
    println!("{support:?}");
    let failed = chosen.iter().filter(|scenario| !passes(scenario)).count();
    println!("test result: {} passed, {failed} failed", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn scenarios() -> impl Iterator<Item = Scenario> {
    life::SCENARIOS.iter().chain(lines::SCENARIOS).chain(queues::SCENARIOS).copied()
}

fn is_set(option: &str) -> bool {
    std::env::args().any(|argument| argument == option)
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
