//! Prints the plan of `btu rate`: `cargo run -p btu-studies --example plan`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_contract::experiment::Experiment;
use btu_contract::network::Network;
use btu_studies::rate::{Plan, Profile};

fn main() {
    let plan = Plan::whole(7, Profile::quick(), Network::Veth);
    let rows = plan.rows();
    println!(
        "{} rows, {} of them in the first block; plan {}",
        rows.len(),
        plan.shuffled(0, rows.clone()).len(),
        plan.hash()
    );
    for row in plan.shuffled(0, rows).iter().take(5) {
        println!("{row}");
    }
}
