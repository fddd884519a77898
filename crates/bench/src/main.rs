//! Compares `btu`'s traffic with iperf3, nuttcp, sockperf and `NetPIPE` in one run, on one pair of
//! network namespaces joined by a veth pair, in randomised blocks.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of developers, with no measurement of users to lose"
)]
#![forbid(unsafe_code)]

mod args;
mod case;
mod compare;
mod lab;
mod outcome;
mod pinning;
mod quiet;
mod report;
mod run;
mod signature;
mod simulator;
mod tools;
mod wire;

use std::process::ExitCode;

use args::{Args, BenchCommand};
use clap::Parser;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.part {
        Some(BenchCommand::Simulator(asked)) => simulator::run(asked),
        &Some(BenchCommand::Simulate { stations, frame_octets, milliseconds }) => {
            simulator::simulate(stations, frame_octets, milliseconds)
        }
        Some(BenchCommand::Carry { socket }) => wire::carry(socket),
        Some(BenchCommand::Inside) => run::inside(&args),
        None => run::outside(),
    };
    result.unwrap_or_else(|error| {
        eprintln!("btu-bench: {error:#}");
        ExitCode::from(2)
    })
}
