//! The command line.

use std::path::PathBuf;

use btu_contract::pipe::Pin;
use clap::{Parser, Subcommand};

use crate::case::Case;
use crate::simulator::Simulator;

/// Measures btu's traffic side by side with iperf3, nuttcp and sockperf on one veth pair, btu's
/// signatures side by side with `NetPIPE`'s (`--case pipe`), and btu's wire side by side with the
/// kernel's bridge (`--case wire`).
#[derive(Debug, Parser)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Args {
    /// Blocks; each measures every tool of every case once, in random order
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(7..=1000))]
    pub(crate) blocks: u32,
    /// Seconds that each tool moves data in each block
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) seconds: u32,
    /// Seed of the order, to repeat a run; random when absent
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Measure only these cases
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) case: Vec<Case>,
    /// Keep the processors from sleeping, through `/dev/cpu_dma_latency` (root)
    #[arg(long)]
    pub(crate) awake: bool,
    /// Hold the two ends of every tool on processors, so that the scheduler does not place them
    /// again for each connection
    #[arg(long, value_name = "apart|together|NEAR,FAR")]
    pub(crate) pin: Option<Pin>,
    /// Congestion control for all tools alike. One that paces (BBR) makes small messages a matter
    /// of its timers and not of the tools, so the default is one that does not and that every
    /// kernel has
    #[arg(long, default_value = "reno")]
    pub(crate) congestion_control: Option<String>,
    /// Do not wait for a quiet machine; how busy others kept it is in the result
    #[arg(long)]
    pub(crate) impatient: bool,
    /// Print the whole result as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 when a stated bound is missed
    #[arg(long)]
    pub(crate) check: bool,
    /// The `btu` program with the measured workers; when absent, the one next to this program
    #[arg(long)]
    pub(crate) btu: Option<PathBuf>,
    /// Where the result is written
    #[arg(long, default_value = "target/bench")]
    pub(crate) directory: PathBuf,
    #[command(subcommand)]
    pub(crate) part: Option<BenchCommand>,
}

/// The processes that this program makes of itself.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Carries frames by the plan on standard input
    #[command(hide = true)]
    Carry {
        /// The path of its control socket.
        socket: PathBuf,
    },
    /// Compares the simulator with ns-3's CSMA instead
    Simulator(Simulator),
    /// Simulates a saturated segment once.
    #[command(hide = true)]
    Simulate {
        /// Number of stations
        stations: u32,
        /// Length of each frame
        frame_octets: u32,
        /// Virtual time in milliseconds
        milliseconds: u32,
    },
    /// Runs the comparison, in a network namespace that was made for it.
    #[command(hide = true)]
    Inside,
}
