//! The options of every command that measures a study of scripted cells.

use std::path::PathBuf;

use btu_contract::experiment::MOST_BLOCKS;
use btu_units::Span;
use clap::Args;

use super::{Congestion, Naming, ProfileName, Resuming, StudyHosts, octets, quantity};
use crate::files;

/// Options of every study: where, how long, and the name of the run.
#[derive(Debug, Args)]
pub(crate) struct StudyOptions {
    /// How long and how often to measure
    #[arg(long, alias = "precision", value_enum, default_value = "quick")]
    pub(crate) profile: ProfileName,
    /// The rate of a line, such as '10 Mb/s', a network file, a link recorded in Mahimahi's format,
    /// or a name from the library (`btu net list`)
    #[arg(long, value_name = "RATE|FILE", value_parser = octets())]
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
    /// Measure in virtual time, in a kernel of its own: the same on every machine, however busy
    #[arg(long = "virtual")]
    pub(crate) in_virtual_time: bool,
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
    /// and completes the first one in any case, without cells that take longer by their closed form
    #[arg(long, value_name = "TIME", value_parser = measuring_time)]
    pub(crate) time: Option<Span>,
}

impl TimeLimit {
    /// The profile's most blocks and its time; or the given time, with as many blocks as fit.
    pub(crate) fn over(&self, (blocks, budget): (u32, Span)) -> (u32, Span) {
        self.time.map_or((blocks, budget), |time| (MOST_BLOCKS, time))
    }
}

/// How long to measure: a time above zero.
pub(crate) fn measuring_time(text: &str) -> Result<Span, String> {
    let number = text.trim();
    if number.parse::<f64>().is_ok_and(|number| number >= 0.0) {
        return Err(format!(
            "`{number}` has no unit: write '{number} s' for seconds, '{number} min' for minutes"
        ));
    }
    match quantity::<Span>(text)? {
        Span::ZERO => Err(format!("in `{text}` nothing can be measured: write for example '30 s'")),
        time => Ok(time),
    }
}

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

    /// A given time is used up: no number of blocks ends a run before.
    #[test]
    fn a_given_time_has_no_number_of_blocks() {
        let seconds = Span::from_seconds;
        for (time, expected) in [
            (None, (3, seconds(100))),
            (Some(seconds(10)), (MOST_BLOCKS, seconds(10))),
            (Some(seconds(1_000_000)), (MOST_BLOCKS, seconds(1_000_000))),
        ] {
            assert_eq!(TimeLimit { time }.over((3, seconds(100))), expected);
        }
    }

    #[test]
    fn a_time_to_measure_has_a_unit_and_is_above_zero() {
        assert_eq!(measuring_time("10s"), Ok(Span::from_seconds(10)));
        for (text, word) in [("10", "'10 s' for seconds"), ("0s", "'30 s'"), ("0 min", "'30 s'")] {
            let error = measuring_time(text).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{error}");
        }
        assert!(measuring_time("-3s").unwrap_err().contains("negative"));
    }
}
