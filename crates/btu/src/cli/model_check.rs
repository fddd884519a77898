//! What may be written after `btu model` to hold a prediction against other answers, and to draw it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Other answers to hold the prediction against.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckOptions {
    /// Hold the prediction against the simulator at the same points
    #[arg(long, value_enum, value_name = "ANSWER", value_delimiter = ',', group = "curves")]
    #[arg(conflicts_with_all = ["most", "transfer", "sizes"])]
    pub(crate) check: Vec<Answer>,
    /// At how many loads to check, from 5 % to 95 % of the busiest medium
    #[arg(long, value_name = "NUMBER", default_value = "19", requires = "check")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) points: u32,
    /// How often each point is simulated
    #[arg(long, value_name = "NUMBER", default_value = "5", requires = "check")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replications: u32,
    /// Seed of the simulator's chance
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "check")]
    pub(crate) seed: u64,
    /// No progress
    #[arg(long, short, requires = "check")]
    pub(crate) quiet: bool,
}

/// An answer beside the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answer {
    /// The simulator, as the network is drawn
    Sim,
    /// The simulator with Lam's ideal contention on every shared Ethernet, against the closed form for that
    Ideal,
}

/// Files to draw curves to.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Pictures {
    /// Draw the curves of --check to this file
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) png: Option<PathBuf>,
}
