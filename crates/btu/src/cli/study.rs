//! The options of every command that measures a study of scripted cells.

use std::path::PathBuf;

use btu_units::Span;
use clap::Args;

use super::{Congestion, Naming, ProfileName, Resuming, StudyHosts, quantity};
use crate::files;

/// Options of every study: where, how long, and the name of the run.
#[derive(Debug, Args)]
pub(crate) struct StudyOptions {
    /// How long and how often to measure
    #[arg(long, alias = "precision", value_enum, default_value = "quick")]
    pub(crate) profile: ProfileName,
    /// The rate of a line, such as '10 Mb/s', a network file, a link recorded in Mahimahi's form, or
    /// a name of the library (`btu net list`)
    #[arg(long, value_name = "RATE|FILE")]
    pub(crate) network: Option<String>,
    /// One-way delay of that line
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) delay: Option<Span>,
    /// Replace a value of the network file, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) congestion: Congestion,
    /// Seed of order, payload and loss [default: a new one, printed]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Existing directory for files that are written [default: `scratch` next to the stored runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    #[command(flatten)]
    pub(crate) naming: Naming,
    /// Show every table at the end, not only the first screen
    #[arg(long)]
    pub(crate) all: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) real: StudyHosts,
}

/// The time limit of commands with cells in blocks.
#[derive(Debug, Args)]
pub(crate) struct TimeLimit {
    /// How long to measure, instead of the profile's time; btu begins blocks while time is left,
    /// and always completes the first one, without what takes longer by its closed form
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) time: Option<Span>,
}

impl TimeLimit {
    /// The profile's blocks and time; or the given time, with more blocks in proportion where it is
    /// longer.
    pub(crate) fn over(&self, (blocks, budget): (u32, Span)) -> (u32, Span) {
        let Some(time) = self.time else { return (blocks, budget) };
        let times = time.nanoseconds().div_ceil(budget.nanoseconds().max(1)).clamp(1, MOST_TIMES);
        (blocks * times as u32, time)
    }
}

/// Largest multiple of a profile's blocks.
const MOST_TIMES: u64 = 20;

/// The named values, each once, in their order; without any, the default.
pub(crate) fn or_usual<T: Copy + PartialEq>(named: &[T], usual: &[T]) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for one in if named.is_empty() { usual } else { named } {
        if !all.contains(one) {
            all.push(*one);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_time_is_for_more_blocks() {
        let seconds = Span::from_seconds;
        for (time, expected) in [
            (None, (3, seconds(100))),
            (Some(seconds(10)), (3, seconds(10))),
            (Some(seconds(250)), (9, seconds(250))),
            (Some(seconds(1_000_000)), (60, seconds(1_000_000))),
        ] {
            assert_eq!(TimeLimit { time }.over((3, seconds(100))), expected);
        }
    }
}
