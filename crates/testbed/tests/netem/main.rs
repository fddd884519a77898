//! Kernel netem on real interfaces: each requested impairment must be visible at the far end.
//!
//! If the kernel has no netem, the program prints that and ends; `scripts/kernel-lab netem` runs it
//! in a virtual machine that has netem. An argument that is no option selects scenarios by a part
//! of their name. `--required` makes it a failure when there is no netem; `--exact-clock` says that
//! time passes by instructions, not on the wall.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod bench;
mod driver;
mod life;
mod lines;
mod pair;
mod queues;
#[path = "../scenarios/mod.rs"]
mod scenarios;

use std::process::ExitCode;

use btu_testbed::netem::{NetemError, probe};
use scenarios::Scenario;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = scenarios::chosen(all(), &arguments);
    if let Err(code) = scenarios::prepare(&chosen, &arguments) {
        return code;
    }
    match probe() {
        Ok(()) => scenarios::run(&chosen),
        Err(error) => without_netem(&error),
    }
}

/// The error names the missing part; there is nothing else to test.
fn without_netem(error: &NetemError) -> ExitCode {
    println!("  {error}");
    assert!(!is_set("--required"), "netem is required");
    assert!(
        matches!(error, NetemError::Missing { .. }),
        "a kernel without netem names what it lacks"
    );
    assert!(error.to_string().contains("modprobe"));
    println!(
        "this kernel's netem cannot be tested here; scripts/kernel-lab netem tests one in a virtual machine"
    );
    ExitCode::SUCCESS
}

fn all() -> impl Iterator<Item = &'static Scenario> {
    let in_the_kernel = life::SCENARIOS.iter().chain(lines::SCENARIOS).chain(queues::SCENARIOS);
    driver::scenarios().chain(in_the_kernel)
}

fn is_set(option: &str) -> bool {
    std::env::args().any(|argument| argument == option)
}
