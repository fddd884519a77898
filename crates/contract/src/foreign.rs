//! Measurements in which a program that is not btu takes part: a client or a server of another make,
//! or a file that another program wrote. Each is a run of its own, with the same few fields whatever
//! the program.

use btu_units::{three_digits, time_unit, written_rate};
use serde::{Deserialize, Serialize};

/// The name of this study in the store.
pub const STUDY: &str = "foreign";

/// A run with another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignRun {
    /// The other program, with its version where it says one: `iperf3 3.12`.
    pub program: String,
    /// Who counted and took the times.
    pub measured_by: MeasuredBy,
    /// What was measured, in words: `TCP to 192.0.2.1 port 5201`.
    pub subject: String,
    /// The result in one sentence, without a full stop.
    pub answer: String,
    /// The results, the first ones first.
    pub quantities: Vec<ForeignQuantity>,
    /// Results over time.
    pub courses: Vec<ForeignCourse>,
    /// What else is known, a sentence each: settings, accounts, who measured at the same time.
    pub remarks: Vec<String>,
    /// What readers must know before they use the results, a sentence each.
    pub warnings: Vec<String>,
    /// Why the results do not count, a sentence each.
    pub faults: Vec<String>,
}

/// Who counted and took the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredBy {
    /// This program, at its own end.
    Btu,
    /// The other program: its figures are taken as they are.
    Program,
}

/// A result, with every repetition of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignQuantity {
    /// What it is: `goodput up`. Runs are compared by this name and the unit.
    pub name: String,
    /// The unit of its values.
    pub unit: ForeignUnit,
    /// One value for each repetition, in their order; never empty.
    pub values: Vec<f64>,
    /// How it was counted, where readers could mistake it; may be empty.
    pub note: String,
}

/// The unit of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignUnit {
    /// Bits per second, the more the better.
    BitsPerSecond,
    /// Seconds, the fewer the better.
    Seconds,
    /// Round trips per minute, the more the better.
    RoundTripsPerMinute,
    /// A share of one.
    Share,
    /// A number of things, such as lost datagrams.
    Count,
}

/// A result over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignCourse {
    /// What it is.
    pub name: String,
    /// The unit of its values.
    pub unit: ForeignUnit,
    /// Seconds since the start, and the value from the point before to there; ascending.
    pub points: Vec<[f64; 2]>,
}

impl ForeignQuantity {
    /// A result that was measured once.
    pub fn once(name: &str, unit: ForeignUnit, value: f64) -> Self {
        Self { name: name.to_owned(), unit, values: vec![value], note: String::new() }
    }

    /// The same result with this note.
    #[must_use]
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// The value that is shown: the median of the repetitions.
    pub fn typical(&self) -> Option<f64> {
        btu_stats::median(&self.values)
    }
}

impl ForeignUnit {
    /// A value with its unit, for readers.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::BitsPerSecond => written_rate(value),
            Self::Seconds => time_unit(value.abs()).write(value),
            Self::RoundTripsPerMinute => format!("{value:.0} /min"),
            Self::Share => format!("{} %", three_digits(value * 100.0)),
            // A mean of counts need not be a whole number.
            Self::Count if value.fract() != 0.0 => three_digits(value),
            Self::Count => format!("{value:.0}"),
        }
    }

    /// How many per second a value is where more is better: what runs are compared by. `None` is a
    /// unit of which neither more nor less is better by its ratio.
    pub fn per_second(self, value: f64) -> Option<f64> {
        match self {
            Self::BitsPerSecond => Some(value),
            Self::Seconds => Some(1.0 / value),
            Self::RoundTripsPerMinute => Some(value / 60.0),
            Self::Share | Self::Count => None,
        }
    }
}

/// Most results, courses or remarks of a run, and most points of a course: a file of others may
/// not fill a terminal or the memory with it.
const MOST: usize = 1024;
const MOST_POINTS: usize = 200_000;

/// What another program can have measured: every unit counts from zero, and none needs more.
const VALUES: std::ops::RangeInclusive<f64> = 0.0..=1e18;

impl ForeignRun {
    /// Why the run cannot be kept: it came from a peer or from a file.
    ///
    /// # Errors
    /// A sentence that names what is missing, too much, or no number.
    pub fn check(&self) -> Result<(), String> {
        let texts = [&self.remarks, &self.warnings, &self.faults].map(Vec::len);
        let lists = [self.quantities.len(), self.courses.len()].into_iter().chain(texts);
        let points: usize = self.courses.iter().map(|course| course.points.len()).sum();
        let values: usize = self.quantities.iter().map(|quantity| quantity.values.len()).sum();
        if lists.max() > Some(MOST) {
            return Err(format!("it has more than {MOST} results, courses or remarks"));
        }
        if points.max(values) > MOST_POINTS {
            return Err(format!("it has more than {MOST_POINTS} values"));
        }
        let results = self.quantities.iter().map(|one| (&one.name, one.values.as_slice()));
        let courses = self.courses.iter().map(|one| (&one.name, one.points.as_flattened()));
        let mut numbers =
            results.chain(courses).flat_map(|(name, all)| all.iter().map(move |one| (name, *one)));
        let may_be = |value: f64| self.measured_by == MeasuredBy::Btu || VALUES.contains(&value);
        if let Some((name, wrong)) = numbers.find(|(_, one)| !one.is_finite() || !may_be(*one)) {
            let why = if wrong.is_finite() { "below 0 or above 1e18" } else { "no finite number" };
            return Err(format!("its `{name}` has the value {wrong}: {why}"));
        }
        if let Some(empty) = self.quantities.iter().find(|quantity| quantity.values.is_empty()) {
            return Err(format!("its `{}` has no value", empty.name));
        }
        if self.quantities.is_empty() && self.faults.is_empty() {
            return Err("it has no result".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: Vec<f64>) -> ForeignRun {
        let quantity = ForeignQuantity {
            values,
            ..ForeignQuantity::once("goodput up", ForeignUnit::BitsPerSecond, 0.0)
        };
        ForeignRun {
            program: "iperf3 3.12".to_owned(),
            measured_by: MeasuredBy::Program,
            subject: "TCP to a host".to_owned(),
            answer: "nothing".to_owned(),
            quantities: vec![quantity],
            courses: Vec::new(),
            remarks: Vec::new(),
            warnings: Vec::new(),
            faults: Vec::new(),
        }
    }

    #[test]
    fn the_median_is_shown() {
        let typical = |values: &[f64]| run(values.to_vec()).quantities[0].typical();
        assert_eq!(typical(&[3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(typical(&[3.0, 1.0]), Some(2.0));
        assert_eq!(typical(&[]), None);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        assert_eq!(run(vec![1.0]).check(), Ok(()));
        for impossible in [f64::NAN, -1.5, 1e308] {
            let why = run(vec![1.0, impossible]).check().expect_err("no such value");
            assert!(
                why.starts_with(&format!("its `goodput up` has the value {impossible}: ")),
                "{why}"
            );
        }
        assert!(run(Vec::new()).check().is_err());
        let mut endless = run(vec![1.0]);
        let points = vec![[0.0, 1.0]; MOST_POINTS + 1];
        endless.courses.push(ForeignCourse {
            name: "goodput".to_owned(),
            unit: ForeignUnit::BitsPerSecond,
            points,
        });
        assert!(endless.check().is_err());
    }

    #[test]
    fn more_per_second_is_better_in_every_compared_unit() {
        assert_eq!(ForeignUnit::Seconds.per_second(0.5), Some(2.0));
        assert_eq!(ForeignUnit::RoundTripsPerMinute.per_second(120.0), Some(2.0));
        assert_eq!(ForeignUnit::Count.per_second(1.0), None);
    }
}
