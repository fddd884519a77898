//! The answer to an inverse question: the largest load that keeps a bound.

use btu_medium::sim;
use btu_model::Warning;
use btu_model::predict::{Found, PredictionWarning};
use btu_stats::Estimate;
use btu_units::Span;
use serde::Serialize;

use crate::head::TextOptions;
use crate::number::plus_minus;
use crate::sheet::{self, wrap};

/// The question, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MostFound {
    /// The key of the changed value.
    pub key: String,
    /// The unit of its values.
    pub unit: String,
    /// The figure with the bound: `mean delay`, `transfer time`.
    pub figure: String,
    /// The bound, in seconds.
    pub bound_seconds: f64,
    /// The least and the greatest value that were tried.
    pub tried: [f64; 2],
    /// The largest value for which the bound is known to be kept; `None` if there is none.
    pub found: Option<Found>,
    /// The figure there, in seconds; `None` if the network is saturated.
    pub figure_seconds: Option<f64>,
    /// The method that answered, and the range in which it is valid.
    #[serde(flatten)]
    pub answered: Answered,
}

/// The method that answered, and the range in which it is valid.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Answered {
    /// The closed form gave the answer.
    Formula {
        /// Its result outside the range in which it is valid; `None` if the answer lies inside.
        beyond: Option<Beyond>,
        /// Warnings about the answer.
        warnings: Vec<PredictionWarning>,
    },
    /// The simulator gave the answer.
    Sim {
        /// Confidence level of the intervals: 0.95.
        confidence: f64,
        /// The least and the greatest value that the bound may be kept up to; none with one
        /// replication.
        interval: Option<[f64; 2]>,
        /// The figure at the value found.
        figure_estimate: Option<Estimate>,
        /// The number of replications of each value.
        replications: u32,
        /// Seed of all chance.
        seed: u64,
        /// Warnings about the figures at the value found.
        warnings: Vec<sim::SimulationWarning>,
    },
}

/// The result of a formula where it is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beyond {
    /// Why it is not valid there.
    pub warning: Warning,
    /// Up to which value its figure stays within the bound.
    pub found: Found,
}

/// The answer, its warnings, and the next commands; ends with `\n`.
pub fn most_text(most: &MostFound, options: &TextOptions) -> String {
    let (answer, warnings, next) = match &most.answered {
        Answered::Formula { beyond, warnings } => {
            let next = beyond.map(|_| next(most));
            (formula(most, *beyond), super::warnings(warnings, options), next)
        }
        Answered::Sim { warnings, .. } => {
            (simulated(most), crate::sim::paragraphs(warnings, options), None)
        }
    };
    let lines = |text: String| wrap(&text, options.columns(), 0);
    sheet::page(vec![[lines(answer), warnings, next.map(lines).unwrap_or_default()].concat()])
}

fn formula(most: &MostFound, beyond: Option<Beyond>) -> String {
    let (figure, bound) = (&most.figure, bound(most));
    let there = most.there();
    match (most.found, beyond) {
        (Some(Found::UpTo(found)), None) => {
            let found = most.value(found, Rounding::Down);
            format!("The {figure} stays within {bound} up to {} = {found}{there}.", most.key)
        }
        (found, None) => without_limit(most, found.unwrap_or(Found::Never), ""),
        (found, Some(beyond)) => {
            let inside = match found {
                Some(Found::UpTo(found)) => format!(
                    "The formula holds up to {} = {}, where the {figure} is within {bound}{there}. Beyond, it",
                    most.key,
                    most.value(found, Rounding::Down)
                ),
                _ => "The formula".to_owned(),
            };
            format!("{inside} {}", outside(most, beyond))
        }
    }
}

/// The result of a formula outside its range.
fn outside(most: &MostFound, beyond: Beyond) -> String {
    let bound = bound(most);
    let kind = if beyond.warning == Warning::Optimistic {
        "gives only a lower bound"
    } else {
        "is out of its range"
    };
    match beyond.found {
        Found::UpTo(limit) if beyond.warning == Warning::Optimistic => format!(
            "{kind}, which passes {bound} at {}: the greatest value is not above that.",
            most.value(limit, Rounding::Up)
        ),
        Found::Always if beyond.warning == Warning::Optimistic => format!(
            "{kind}, which stays within {bound} up to {}, the largest value tried.",
            most.value(most.tried[1], Rounding::Nearest)
        ),
        Found::UpTo(_) | Found::Always | Found::Never => {
            format!("{kind}, so what it says there is no answer.")
        }
    }
}

fn next(most: &MostFound) -> String {
    if most.figure == MostFound::TRANSFER_TIME {
        return format!(
            "Next: `btu sim` with --set {}=VALUE gives the delay of a packet where the formula does not hold.",
            most.key
        );
    }
    "Next: the same command with --by sim; the simulator finds the value, with its interval."
        .to_owned()
}

fn simulated(most: &MostFound) -> String {
    let Answered::Sim { confidence, interval, figure_estimate, replications, seed, .. } =
        &most.answered
    else {
        return String::new();
    };
    let how = format!("{replications} replications at each value, seed {seed}.");
    let there = most.figure_seconds.map_or_else(String::new, |seconds| {
        format!("; there it is {} {}", time(seconds), plus_minus(figure_estimate.as_ref()))
            .trim_end()
            .to_owned()
    });
    match most.found {
        Some(Found::UpTo(found)) => {
            let uncertain = interval.map(|[low, high]| (high - low) / 2.0);
            let rounding = uncertain.map_or(Rounding::Down, Rounding::To);
            let ends = interval.map_or_else(String::new, |[low, high]| {
                let (low, high) = (number(low, rounding), most.value(high, rounding));
                format!(" ({} %: {low} .. {high})", confidence * 100.0)
            });
            format!(
                "By simulation the {} stays within {} up to {} = {}{ends}{there}. {how}",
                most.figure,
                bound(most),
                most.key,
                most.value(found, rounding),
            )
        }
        found => {
            format!("{} {how}", without_limit(most, found.unwrap_or(Found::Never), "simulated "))
        }
    }
}

/// The bound is kept nowhere, or everywhere.
fn without_limit(most: &MostFound, found: Found, kind: &str) -> String {
    let (figure, bound, there) = (&most.figure, bound(most), most.there());
    let at = |value: f64| format!("{} = {}", most.key, most.value(value, Rounding::Nearest));
    if found == Found::Always {
        return format!(
            "No limit was found: even with {}, the largest value tried, the {kind}{figure} stays within {bound}{there}.",
            at(most.tried[1])
        );
    }
    format!(
        "There is no answer: even with {} the {kind}{figure} exceeds {bound}{there}.",
        at(most.tried[0])
    )
}

fn bound(most: &MostFound) -> String {
    time(most.bound_seconds)
}

/// A time with three digits at most: no mean is known better.
fn time(seconds: f64) -> String {
    Span::from_seconds_f64(seconds).to_string()
}

/// A share of the last digit that rounding of floating point may be off.
const NOISE: f64 = 1e-6;

/// How a value is rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rounding {
    /// Down to three digits, or whole, so that the bound still holds.
    Down,
    /// Like `Down`, but upwards.
    Up,
    /// To three digits, or whole.
    Nearest,
    /// To the first digit of this uncertainty.
    To(f64),
}

impl MostFound {
    /// The name of [`MostFound::figure`] if it is a transfer's.
    pub const TRANSFER_TIME: &str = "transfer time";
    /// Its name if it is the slowest flow's, or that of one flow.
    pub const MEAN_DELAY: &str = "mean delay";

    fn there(&self) -> String {
        self.figure_seconds
            .map_or_else(String::new, |seconds| format!(" (there it is {})", time(seconds)))
    }

    fn value(&self, value: f64, rounding: Rounding) -> String {
        let number = number(value, rounding);
        if self.unit.is_empty() { number } else { format!("{number} {}", self.unit) }
    }
}

fn number(value: f64, rounding: Rounding) -> String {
    let size = match rounding {
        Rounding::To(uncertain) if uncertain > 0.0 => uncertain * 1.1,
        _ => value.abs() / 100.0,
    };
    if size <= 0.0 || (value.fract() == 0.0 && !matches!(rounding, Rounding::To(_))) {
        return format!("{value}");
    }
    let decimals = (-size.log10().floor() as i32).max(0);
    let step = 10f64.powi(decimals);
    let rounded = match rounding {
        Rounding::Down => (value * step + NOISE).floor() / step,
        Rounding::Up => (value * step - NOISE).ceil() / step,
        Rounding::Nearest | Rounding::To(_) => value,
    };
    format!("{rounded:.*}", usize::try_from(decimals).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_from_what_is_known() {
        let table = [
            (51.267, Rounding::Down, "51.2"),
            (51.2, Rounding::Down, "51.2"),
            (51.267, Rounding::Up, "51.3"),
            (1033.17, Rounding::Down, "1033"),
            (0.012_345, Rounding::Nearest, "0.0123"),
            (62.267, Rounding::To(0.4), "62.3"),
            (62.267, Rounding::To(0.095), "62.3"),
            (62.267, Rounding::To(3.0), "62"),
            (73.0, Rounding::Down, "73"),
        ];
        for (value, rounding, text) in table {
            assert_eq!(number(value, rounding), text, "{value} {rounding:?}");
        }
    }
}
