//! The options of `btu model` that compare a prediction with other answers and draw it.

use btu_units::Span;
use clap::{Args, ValueEnum};

use super::quantity;

/// Other answers for comparison with the prediction.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckOptions {
    /// Compare the prediction with other answers at the same points, one or several of them:
    /// sim,net
    #[arg(long, value_enum, value_name = "ANSWER", value_delimiter = ',', groups = ["curves", "simulated"])]
    #[arg(conflicts_with_all = ["most", "transfer", "sizes"])]
    pub(crate) check: Vec<ComparedAnswer>,
    /// Number of loads to check, from 5 % to 95 % of the busiest medium [default: 19, with net 7]
    #[arg(long, value_name = "NUMBER", requires = "check")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) points: Option<u32>,
    /// How often each point is simulated and measured
    #[arg(long, value_name = "NUMBER", default_value = "5", requires = "simulated")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replications: u32,
    /// Duration of each point in the emulated network, all replications together
    #[arg(long, value_name = "TIME", default_value = "10 s", requires = "check", value_parser = quantity::<Span>)]
    pub(crate) net_time: Span,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "simulated")]
    pub(crate) seed: u64,
    /// Show no progress
    #[arg(long, short, requires = "simulated")]
    pub(crate) quiet: bool,
}

impl CheckOptions {
    /// The number of loads; fewer if each takes long.
    pub(crate) fn points(&self) -> u32 {
        self.points.unwrap_or(if self.check.contains(&ComparedAnswer::Net) { 7 } else { 19 })
    }
}

/// Another answer for comparison with the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparedAnswer {
    /// The simulator, with the network as drawn
    Sim,
    /// The emulated network: real packets between namespaces, as with `btu net`
    Net,
    /// The simulator with Lam's ideal contention on every shared Ethernet, against the closed form
    /// for that
    Ideal,
}
