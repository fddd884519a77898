//! Runs the scenarios of a laboratory: a plain program, because a process can only enter a user
//! namespace before it has threads, and one scenario after the other, because they measure time. An
//! argument that is no option selects scenarios by a part of their name.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use btu_conditions::Conditions;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// A scenario's name, and its function; it fails by a panic.
pub(crate) type Scenario = (&'static str, fn());

/// Since the scenario that runs began.
static CONDITIONS: Mutex<Option<Conditions>> = Mutex::new(None);

/// The machine on which a scenario measures: `judge!(Machine, holds, "message")`.
pub(crate) struct Machine;

impl Machine {
    /// See [`btu_conditions::judge`]. A clock that counts instructions knows no other program.
    #[track_caller]
    #[allow(clippy::unused_self, reason = "`judge!` calls it so")]
    pub(crate) fn out_of_bounds(&self, message: &str) {
        let conditions = CONDITIONS.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_exact = std::env::args().any(|argument| argument == "--exact-clock");
        let reason = conditions.as_ref().filter(|_| !is_exact).and_then(Conditions::disturbance);
        *CONDITIONS.lock().unwrap_or_else(PoisonError::into_inner) = conditions;
        btu_conditions::report(reason, message);
    }
}

/// The scenarios that `arguments` select.
pub(crate) fn chosen<'a>(
    all: impl Iterator<Item = &'a Scenario>,
    arguments: &[String],
) -> Vec<Scenario> {
    all.copied().filter(|(name, _)| is_chosen(name, arguments)).collect()
}

fn is_chosen(name: &str, arguments: &[String]) -> bool {
    let mut parts = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    parts.peek().is_none() || parts.any(|part| name.contains(part.as_str()))
}

/// Answers `--list`, and enters new namespaces; returns the exit code when there is nothing to run.
pub(crate) fn prepare(chosen: &[Scenario], arguments: &[String]) -> Result<(), ExitCode> {
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in chosen {
            println!("{name}: test");
        }
        return Err(ExitCode::SUCCESS);
    }
    own_namespaces().map_err(|why| {
        println!("LAB SKIPPED: no network namespace of our own: {why}");
        assert!(
            std::env::var("BTU_LAB").as_deref() != Ok("required"),
            "BTU_LAB=required, and there is no lab"
        );
        ExitCode::SUCCESS
    })
}

/// Runs them, and reports the result.
pub(crate) fn run(chosen: &[Scenario]) -> ExitCode {
    let failed = chosen.iter().filter(|scenario| !passes(scenario)).count();
    println!("test result: {} passed, {failed} failed", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes((name, scenario): &Scenario) -> bool {
    *CONDITIONS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Conditions::begin());
    let start = Instant::now();
    let passed = std::panic::catch_unwind(scenario).is_ok();
    println!(
        "test {name} ... {} ({:.1} s)",
        if passed { "ok" } else { "FAILED" },
        start.elapsed().as_secs_f64()
    );
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
