//! The words of a comparison: how much faster, whether a difference was seen at all, and which of
//! several comes first. A claim is made only where intervals allow it.

use btu_stats::{Estimate, Interval};
use btu_studies::compare::Finding;

use crate::number::{percent_at_most, three_digits};

/// The words for a ratio above one, and below.
pub(crate) type Directions = [&'static str; 2];

/// Of speeds.
pub(crate) const FASTER: Directions = ["faster", "slower"];
/// Of times.
pub(crate) const LONGER: Directions = ["longer", "shorter"];
/// Of other quantities.
pub(crate) const HIGHER: Directions = ["higher", "lower"];

/// Two things that are compared, as sentences call them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sides {
    /// What the sentence begins with: `new`, `memory with new`.
    pub(crate) subject: String,
    /// What it is compared with: `old`, `with old`.
    pub(crate) object: String,
    /// Both, where no difference was seen: `old and new`.
    pub(crate) both: String,
}

impl Sides {
    /// Two things with names of their own.
    pub(crate) fn named(base: &str, other: &str) -> Self {
        Self {
            subject: other.to_owned(),
            object: base.to_owned(),
            both: format!("{base} and {other}"),
        }
    }
}

/// From twice as much on, a difference that cannot be excluded is no bound worth a sentence.
const DOUBLE: f64 = 2.0;

/// How large a difference is at most, as a share: of ratios between which none was found, and whose intervals
/// include equal values and exclude twice as much. `None` if any is not of that kind.
pub(crate) fn largest_possible(compared: impl Iterator<Item = (Estimate, Finding)>) -> Option<f64> {
    let most = compared.map(|(ratio, finding)| {
        let ends = ratio.interval.filter(|_| !finding.is_difference())?;
        let most = ends.high.max(1.0 / ends.low);
        let is_bound = ends.contains(1.0) || finding == Finding::NoDifferenceSeen;
        (is_bound && most < DOUBLE).then_some(most - 1.0)
    });
    most.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// `no difference seen`, or `cannot tell`: the words of the finding, before what was compared.
pub(crate) fn undecided(findings: impl IntoIterator<Item = Finding>) -> &'static str {
    let mut findings = findings.into_iter();
    if findings.all(|finding| finding == Finding::NoDifferenceSeen) {
        "no difference seen"
    } else {
        "cannot tell a difference"
    }
}

/// What was found of two, in a sentence: `new is 2.50 times faster than old (2.11 to 2.93)`,
/// `no difference seen between old and new, at most 0.3 %` or `cannot tell a difference between old
/// and new, at most 3.0 %`. `ratio` is the other's over the base's, in the quantity that
/// `directions` describe.
pub(crate) fn verdict(
    sides: &Sides,
    ratio: &Estimate,
    directions: Directions,
    finding: Finding,
) -> String {
    let Sides { subject, object, both } = sides;
    let (times, interval) = parts(ratio, directions);
    let difference = format!("{subject} is {times} than {object}{interval}");
    match largest_possible(std::iter::once((*ratio, finding))) {
        _ if finding.is_difference() => difference,
        Some(most) => {
            format!("{} between {both}, at most {} %", undecided([finding]), percent_at_most(most))
        }
        None => format!("{difference}: cannot tell yet"),
    }
}

/// `2.50 times faster (2.11 to 2.93)`.
pub(crate) fn times(ratio: &Estimate, directions: Directions) -> String {
    let (times, interval) = parts(ratio, directions);
    times + &interval
}

/// The ratio in words, and its interval in parentheses.
fn parts(ratio: &Estimate, [above, below]: Directions) -> (String, String) {
    let word = if ratio.value >= 1.0 { above } else { below };
    let Estimate { value, interval } = upwards(ratio);
    let interval = interval.map_or_else(String::new, |ends| {
        format!(" ({} to {})", factor(ends.low), factor(ends.high))
    });
    (format!("{} times {word}", factor(value)), interval)
}

/// A ratio, or its inverse, whichever is at least 1.
pub(crate) fn upwards(ratio: &Estimate) -> Estimate {
    if ratio.value >= 1.0 { *ratio } else { inverted(ratio) }
}

/// One over a ratio.
pub(crate) fn inverted(ratio: &Estimate) -> Estimate {
    let ends = |ends: Interval| Interval { low: 1.0 / ends.high, high: 1.0 / ends.low };
    Estimate { value: 1.0 / ratio.value, interval: ratio.interval.map(ends) }
}

/// A factor with three digits, and one more near 1, where the difference from 1 is what counts.
pub(crate) fn factor(value: f64) -> String {
    if (0.9..1.1).contains(&value) { format!("{value:.3}") } else { three_digits(value) }
}

/// How two values lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalRelation {
    /// Their intervals (95 %) have no value in common. A conservative test: the difference of two values
    /// varies less than the sum of both half widths.
    Apart,
    /// Their intervals overlap.
    Overlap,
    /// One of them has no interval.
    Unknown,
}

impl IntervalRelation {
    pub(crate) fn of(one: &Estimate, other: &Estimate) -> Self {
        match one.interval.zip(other.interval) {
            None => Self::Unknown,
            Some((one, other)) if one.high < other.low || other.high < one.low => Self::Apart,
            Some(_) => Self::Overlap,
        }
    }

    /// What may be said of two values: `claim`, or why not.
    pub(crate) fn claim(self, claim: String) -> String {
        match self {
            Self::Apart => claim,
            Self::Overlap => "cannot tell yet, their intervals overlap".to_owned(),
            Self::Unknown => format!("{claim}, without intervals"),
        }
    }
}

/// The names of several in their order that may come first: the first, and all whose intervals
/// overlap with its.
pub(crate) fn leaders<N: AsRef<str>>(ordered: &[(N, Estimate)]) -> Vec<&str> {
    let Some((_, first)) = ordered.first() else { return Vec::new() };
    let equal = ordered
        .iter()
        .skip(1)
        .filter(|(_, other)| IntervalRelation::of(first, other) == IntervalRelation::Overlap);
    ordered.iter().take(1).chain(equal).map(|(name, _)| name.as_ref()).collect()
}

/// What may be said of the first of several, which are in their order: `claim` if its interval lies
/// apart from all others', else between which no difference can be told.
pub(crate) fn first_of<N: AsRef<str>>(
    ordered: &[(N, Estimate)],
    claim: impl FnOnce(&str, &Estimate) -> String,
) -> String {
    let Some(((name, first), others)) = ordered.split_first() else { return String::new() };
    match leaders(ordered).as_slice() {
        [_] => {
            let is_unknown = others
                .iter()
                .any(|(_, other)| IntervalRelation::of(first, other) == IntervalRelation::Unknown);
            let order =
                if is_unknown { IntervalRelation::Unknown } else { IntervalRelation::Apart };
            order.claim(claim(name.as_ref(), first))
        }
        several => format!("cannot tell a difference between {}", list(several)),
    }
}

/// Names that are listed.
const MOST_NAMES: usize = 3;

/// `a, b and c`; of many the first ones, and how many more there are.
pub(crate) fn list(names: &[&str]) -> String {
    let rest = names.len().saturating_sub(MOST_NAMES);
    match names {
        [one] => (*one).to_owned(),
        [begin @ .., last] if rest == 0 => format!("{} and {last}", begin.join(", ")),
        _ => format!("{} and {rest} more", names[..MOST_NAMES.min(names.len())].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some(Interval { low, high }) }
    }

    #[test]
    fn two_are_compared_in_a_sentence() {
        let sides = Sides::named("old", "new");
        let said = |ratio: &Estimate, finding| verdict(&sides, ratio, FASTER, finding);
        let half = estimate(0.4, 0.35, 0.5);
        for (ratio, finding, expected) in [
            (
                estimate(2.5, 2.1, 2.9),
                Finding::Faster,
                "new is 2.50 times faster than old (2.10 to 2.90)",
            ),
            (half, Finding::Slower, "new is 2.50 times slower than old (2.00 to 2.86)"),
            (
                estimate(1.05, 1.03, 1.07),
                Finding::Faster,
                "new is 1.050 times faster than old (1.030 to 1.070)",
            ),
            (
                estimate(1.0, 0.999, 1.002),
                Finding::NoDifferenceSeen,
                "no difference seen between old and new, at most 0.2 %",
            ),
            (
                estimate(1.01, 0.98, 1.03),
                Finding::CannotTell,
                "cannot tell a difference between old and new, at most 3.0 %",
            ),
            (
                estimate(49.6, 3.39, 726.0),
                Finding::CannotTell,
                "new is 49.6 times faster than old (3.39 to 726): cannot tell yet",
            ),
            (
                estimate(1.2, 0.15, 10.0),
                Finding::CannotTell,
                "new is 1.20 times faster than old (0.150 to 10.0): cannot tell yet",
            ),
            (
                Estimate { value: 2.0, interval: None },
                Finding::CannotTell,
                "new is 2.00 times faster than old: cannot tell yet",
            ),
        ] {
            assert_eq!(said(&ratio, finding), expected);
        }
    }

    /// The first has to be apart from every other one, not only from the second.
    #[test]
    fn only_what_is_apart_comes_first() {
        let one = |name: &'static str, value: f64, half: f64| {
            (name, estimate(value, value - half, value + half))
        };
        let said = |ordered: &[(&str, Estimate)]| {
            first_of(ordered, |name, value| format!("{name} is first with {}", value.value))
        };
        assert_eq!(said(&[one("a", 10.0, 1.0), one("b", 13.0, 1.0)]), "a is first with 10");
        assert_eq!(
            said(&[one("a", 10.0, 1.0), one("b", 13.0, 1.0), one("c", 14.0, 5.0)]),
            "cannot tell a difference between a and c"
        );
        let unknown = ("b", Estimate { value: 99.0, interval: None });
        assert_eq!(said(&[one("a", 10.0, 1.0), unknown]), "a is first with 10, without intervals");
        let many: Vec<(&str, Estimate)> =
            ["a", "b", "c", "d", "e"].map(|name| one(name, 10.0, 1.0)).to_vec();
        assert_eq!(said(&many), "cannot tell a difference between a, b, c and 2 more");
        assert_eq!(said(&[]), "");
    }
}
