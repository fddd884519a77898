//! The output of `btu hosts doctor`, from data: `cargo run -p btu-report --example findings`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_contract::doctor::{Finding, Health};
use btu_report::{TextOptions, doctor_text};

fn main() {
    let findings = [Finding {
        essential: true,
        health: Health::Missing,
        topic: "user namespaces".to_owned(),
        observed: "kernel.unprivileged_userns_clone is 0".to_owned(),
        impact: "an ordinary user cannot start a network".to_owned(),
        fix: Some("sudo sysctl kernel.unprivileged_userns_clone=1".to_owned()),
    }];
    println!("{}", doctor_text(&findings, &TextOptions { colour: false, width: 78 }));
}
