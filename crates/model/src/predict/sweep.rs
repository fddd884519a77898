//! A sweep over one value of a network file: predictions along it, and the last value at which a
//! condition holds.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// The results of `answer` for each setting of `range`, as key and value.
///
/// # Errors
/// The first error of `answer`.
pub fn sweep_with<T, E>(
    range: &Range,
    mut answer: impl FnMut(&str, &str) -> Result<T, E>,
) -> Result<Vec<(f64, T)>, E> {
    range
        .values()
        .into_iter()
        .map(|value| Ok((value, answer(&range.key, &range.written(value))?)))
        .collect()
}

/// A key of a network file and the values it takes: `traffic.background.packets_per_s=0..1100:100`,
/// `segments.ether.rate=10..100 Mb/s:10`.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The key in the network file, such as `segments.ether.rate`.
    pub key: String,
    /// The first value of the key, in `unit`.
    pub from: f64,
    /// The last value of the key, in `unit`.
    pub to: f64,
    /// The step from each value to the next.
    pub step: f64,
    /// The unit of each value; empty for plain numbers.
    pub unit: String,
}

/// A range that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a range: {problem}; write for example traffic.background.packets_per_s=0..1100:100"
)]
pub struct RangeError {
    text: String,
    problem: &'static str,
}

impl Range {
    /// The number of points of a range without a step.
    const POINTS: f64 = 20.0;
    /// More points than this are a typing error.
    const MOST: f64 = 100_000.0;

    /// All values, the last included.
    pub fn values(&self) -> Vec<f64> {
        let steps = ((self.to - self.from) / self.step * (1.0 + 1e-12)).floor().max(0.0) as u64;
        (0..=steps).map(|number| self.from + number as f64 * self.step).collect()
    }

    /// A value as a file has it. A frame rate of zero, which no file accepts, becomes a frame in
    /// thirty years.
    pub fn written(&self, value: f64) -> String {
        const LEAST: f64 = 1e-9;
        if self.key.ends_with(".packets_per_s") && value < LEAST {
            return format!("{LEAST:e}");
        }
        if self.unit.is_empty() { plain(value) } else { format!("{value} {}", self.unit) }
    }
}

/// A number as TOML has it.
fn plain(value: f64) -> String {
    format!("{value}")
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let wrong = |problem| RangeError { text: text.to_owned(), problem };
        let (key, values) =
            text.split_once('=').ok_or_else(|| wrong("there is no `=` behind the key"))?;
        let (from, rest) =
            values.split_once("..").ok_or_else(|| wrong("there is no `..` between two values"))?;
        let (to, step) = rest.split_once(':').map_or((rest, None), |(to, step)| (to, Some(step)));
        let no_number = || wrong("a value must begin with a number");
        let (from, first) = quantity(from).ok_or_else(no_number)?;
        let (to, last) = quantity(to).ok_or_else(no_number)?;
        let (step, third) = match step {
            Some(step) => quantity(step).ok_or_else(no_number)?,
            None => ((to - from) / Self::POINTS, ""),
        };
        let unit = if last.is_empty() { first } else { last };
        if [first, third].iter().any(|other| !other.is_empty() && *other != unit) {
            return Err(wrong("its values have different units"));
        }
        if key.trim().is_empty() || to < from {
            return Err(wrong("the second value must not be below the first"));
        }
        if to > from && (step <= 0.0 || (to - from) / step > Self::MOST) {
            return Err(wrong("there must be from 1 to 100,000 steps"));
        }
        let step = if to > from { step } else { 1.0 };
        Ok(Self { key: key.trim().to_owned(), from, to, step, unit: unit.to_owned() })
    }
}

/// A number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        write!(f, "{}={}..{}{unit}:{}{unit}", self.key, self.from, self.to, self.step)
    }
}

/// The point at which a condition stops to hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Up to this value it holds, just above it does not.
    UpTo(f64),
    /// Even at the least value it does not hold.
    Never,
    /// Even at the greatest value it holds.
    Always,
}

/// The precision of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resolution {
    /// The values are whole numbers.
    Whole,
    /// To this share of the range: 1e-6 is a millionth.
    Share(f64),
}

/// The greatest value between `least` and `most` at which `holds`, by bisection: it must hold up to
/// some value and not above.
///
/// # Errors
/// The first error of `holds`.
pub fn last_that_holds<E>(
    [least, most]: [f64; 2],
    resolution: Resolution,
    mut holds: impl FnMut(f64) -> Result<bool, E>,
) -> Result<Found, E> {
    if !holds(least)? {
        return Ok(Found::Never);
    }
    if holds(most)? {
        return Ok(Found::Always);
    }
    let (mut low, mut high) = (least, most);
    let close = match resolution {
        Resolution::Whole => 1.0,
        Resolution::Share(share) => (most - least) * share,
    };
    while high - low > close {
        let middle = f64::midpoint(low, high);
        let middle = if resolution == Resolution::Whole { middle.floor() } else { middle };
        if holds(middle)? { low = middle } else { high = middle }
    }
    Ok(Found::UpTo(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_written() {
        let range: Range = "traffic.background.packets_per_s=0..1100:100".parse().unwrap();
        assert_eq!(range.values().len(), 12);
        assert_eq!(
            (range.written(0.0), range.written(200.0)),
            ("1e-9".to_owned(), "200".to_owned())
        );
        let range: Range = "segments.ether.rate = 10 .. 100 Mb/s : 10".parse().unwrap();
        assert_eq!((range.values().len(), range.written(20.0)), (10, "20 Mb/s".to_owned()));
        let range: Range = "stations.host.count=1..21".parse().unwrap();
        assert_eq!((range.values().len(), range.step), (21, 1.0));
        assert_eq!("a.b=3..3".parse::<Range>().unwrap().values(), [3.0]);
        assert_eq!("a.b=0..1:0.1".parse::<Range>().unwrap().values().len(), 11);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "a.b",
            "a.b=1",
            "a.b=1..x",
            "a.b=2..1",
            "a.b=1 m..2 km",
            "a.b=1..2:0",
            "=1..2",
            "a=0..9:0.00001",
        ] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }

    #[test]
    fn bisection_finds_the_last_value_or_says_that_there_is_none() {
        use Resolution::{Share, Whole};
        let up_to = |limit: f64, resolution| {
            last_that_holds([0.0, 1000.0], resolution, |value| Ok::<_, ()>(value <= limit)).unwrap()
        };
        assert_eq!(up_to(1033.5, Whole), Found::Always);
        assert_eq!(up_to(-1.0, Whole), Found::Never);
        assert_eq!(up_to(733.5, Whole), Found::UpTo(733.0));
        for share in [1e-3, 1e-6] {
            let Found::UpTo(value) = up_to(0.25, Share(share)) else { panic!("there is one") };
            assert!((value - 0.25).abs() <= 1000.0 * share, "{value}");
        }
        assert_eq!(last_that_holds([0.0, 1.0], Whole, |_| Err(())), Err(()));
    }
}
