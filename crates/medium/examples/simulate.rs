//! A library network in virtual time: `cargo run --release -p btu-medium --example simulate
//! [NAME]`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::error::Error;

use btu_medium::sim::{Settings, simulate};
use btu_network::{Drawing, library_text};
use btu_units::Span;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "ethernet-shared-10".to_owned());
    let drawing =
        Drawing::read(library_text(&name).ok_or("the library has no such network")?, &name)?;
    let outcome = simulate(
        &drawing,
        &Settings { replications: 3, ..Settings::lasting(Span::from_seconds(2)) },
    )?;
    for flow in &outcome.flows {
        let [offered, arrived] = [flow.offered_bits_per_second, flow.goodput_bits_per_second]
            .map(|rate| rate.value / 1e6);
        println!("{}: {offered:.3} Mb/s offered, {arrived:.3} Mb/s arrived", flow.name);
    }
    Ok(())
}
