//! The arguments of `btu sim`.

use std::path::PathBuf;

use btu_units::Span;
use clap::Args;

use super::{Subject, quantity};
use crate::files;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu sim laboratory-1995                         a network of the library; `btu net list` lists
                                                  them
  btu sim laboratory-1995 --all                    every table
  btu sim lab.toml --duration '60 s' --replications 10
  btu sim lab.toml --set traffic.background.load='60 %'
  btu sim lab.toml --idealised                    Lam's contention, for comparison with closed
                                                  forms
  btu sim lab.toml --json > lab.json
  btu sim ethernet-shared-10 --svg ether.svg      queues, collisions and use of the media over
                                                  time

The same file, options and seed give the same figures on every run.";

/// The arguments of `btu sim`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Sim {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// One-way delay of a line that is named by its rate
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) delay: Option<Span>,
    /// Simulated time of each replication, warm-up included; this is not the running time [default:
    /// long enough for about 200,000 frames]
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) duration: Option<Span>,
    /// Simulated time at the start that is not counted [default: a tenth of the duration]
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) warm_up: Option<Span>,
    /// Number of replications, each with different random numbers; intervals come from the
    /// differences
    #[arg(long, value_name = "NUMBER", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replications: u32,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
    /// Replace a value of the file, such as traffic.background.load='60 %'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Use Lam's idealised contention on every shared Ethernet instead of the standard's
    #[arg(long)]
    pub(crate) idealised: bool,
    /// Show every table, and one for every station
    #[arg(long)]
    pub(crate) stations: bool,
    /// Draw queues, collisions and the use of media over time, in the first replication, to this
    /// file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Show every table, not only the first screen
    #[arg(long)]
    pub(crate) all: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
