//! A network file as data, and the errors of a wrong one: `cargo run -p btu-network --example
//! read_a_file`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_network::{Drawing, library_text};

const WRONG: &str =
    "[stations.client]\n[stations.server]\n[links.line]\nbetween = [\"client\", \"servr\"]\n";

fn main() {
    let text = library_text("home-bloated").expect("the library has it");
    match Drawing::read(text, "home-bloated") {
        Ok(drawing) => {
            for station in &drawing.stations {
                println!("{} has the address {}", station.name, station.address);
            }
        }
        Err(error) => println!("{error}"),
    }
    if let Err(error) = Drawing::read(WRONG, "wrong.toml") {
        println!("{error}");
    }
}
