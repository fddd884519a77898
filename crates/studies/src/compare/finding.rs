//! Turns a ratio into a verdict.

use btu_stats::{Estimate, Level};
use serde::Serialize;

use super::{ComparedCell, Overall};

btu_units::named! {
    /// What a comparison found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Finding {
        /// Faster than the base, beyond chance and by an effect that matters.
        Faster = "faster",
        /// Slower than the base, beyond chance and by an effect that matters.
        Slower = "slower",
        /// Any difference is smaller than the smallest effect that matters.
        NoDifferenceSeen = "no difference seen",
        /// The interval allows a difference that matters and none.
        CannotTell = "cannot tell",
    }
}

impl Finding {
    /// Whether a difference was found.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Faster | Self::Slower)
    }
}

/// The smallest effect that matters, as a share: 0.01 means that ratios from 1/1.01 to 1.01 count
/// as 1. It is symmetric in logarithms, so a comparison can be reversed.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Matter(f64);

impl Matter {
    /// One per cent: users seldom notice less, and most machines repeat less exactly.
    pub const DEFAULT: Self = Self(0.01);

    /// `share` as the smallest effect that matters; `None` unless it is at least 0 and below 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..1.0).contains(&share).then_some(Self(share))
    }

    /// As a share of 1.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Whether `ratio` differs from 1 by more than the smallest effect that matters.
    fn is_passed_by(self, ratio: f64) -> bool {
        ratio >= self.high() || ratio <= self.low()
    }

    fn low(self) -> f64 {
        1.0 / (1.0 + self.0)
    }

    fn high(self) -> f64 {
        1.0 + self.0
    }
}

impl TryFrom<f64> for Matter {
    type Error = String;
    fn try_from(share: f64) -> Result<Self, String> {
        Self::new(share)
            .ok_or_else(|| format!("{share} is not an effect: give a share from 0 to below 1"))
    }
}

impl From<Matter> for f64 {
    fn from(matter: Matter) -> Self {
        matter.0
    }
}

/// The rule. `p` is adjusted for the number of comparisons, the interval is of this one by itself.
pub(crate) fn find(ratio: &Estimate, p: Option<f64>, level: Level, matter: Matter) -> Finding {
    let seen = p.is_some_and(|p| p < 1.0 - level.share());
    if seen && matter.is_passed_by(ratio.value) {
        return if ratio.value > 1.0 { Finding::Faster } else { Finding::Slower };
    }
    match ratio.interval {
        Some(ends) if ends.low >= matter.low() && ends.high <= matter.high() => {
            Finding::NoDifferenceSeen
        }
        _ => Finding::CannotTell,
    }
}

/// Whether a side is slower than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// The whole interval lies within the allowed range.
    Pass,
    /// Slower beyond chance, and by more than the allowed share.
    Fail,
    /// Neither: further runs would decide.
    Unsure,
}

impl Gate {
    /// Judges an overall ratio: `slower` is the share of the base's speed that may not be lost.
    pub fn of(overall: &Overall, slower: f64, level: Level) -> Self {
        Self::judge(&overall.ratio, overall.adjusted_p, slower, level)
    }

    /// Judges cells of several units: one that is slower than allowed fails them all.
    pub fn of_cells<R>(cells: &[ComparedCell<R>], slower: f64, level: Level) -> Self {
        let all: Vec<Self> = cells
            .iter()
            .map(|cell| Self::judge(&cell.ratio, cell.adjusted_p, slower, level))
            .collect();
        match all.as_slice() {
            all if all.contains(&Self::Fail) => Self::Fail,
            [] => Self::Unsure,
            all if all.contains(&Self::Unsure) => Self::Unsure,
            _ => Self::Pass,
        }
    }

    /// Judges a ratio of speeds with the probability of such a difference by chance.
    pub fn judge(ratio: &Estimate, p: Option<f64>, slower: f64, level: Level) -> Self {
        let least = 1.0 - slower;
        let seen = p.is_some_and(|p| p < 1.0 - level.share());
        match ratio.interval {
            _ if seen && ratio.value <= least => Self::Fail,
            Some(ends) if ends.low > least => Self::Pass,
            _ => Self::Unsure,
        }
    }
}
