//! Units that fit: rates from b/s to Gb/s, times from ns to s.

use btu_stats::Estimate;
use btu_units::Bytes;

use crate::number::three_digits;

/// A unit and its value in the base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) worth: f64,
}

const RATES: [Unit; 4] = [
    Unit { name: "b/s", worth: 1.0 },
    Unit { name: "kb/s", worth: 1e3 },
    Unit { name: "Mb/s", worth: 1e6 },
    Unit { name: "Gb/s", worth: 1e9 },
];

const TIMES: [Unit; 4] = [
    Unit { name: "ns", worth: 1e-9 },
    Unit { name: "us", worth: 1e-6 },
    Unit { name: "ms", worth: 1e-3 },
    Unit { name: "s", worth: 1.0 },
];

/// The largest unit of `units` in which `value` is at least one; the smallest where there is none.
fn fitting(units: &[Unit], value: f64) -> Unit {
    units.iter().rev().find(|unit| value >= unit.worth).copied().unwrap_or(units[0])
}

/// The unit for rates up to `most` bits per second.
pub(crate) fn rate_unit(most: f64) -> Unit {
    fitting(&RATES, most)
}

/// The head of a column without the unit of time at its end, and that unit: `latency, us`.
pub(crate) fn of_head(head: &str) -> Option<(&str, Unit)> {
    let name = head.rsplit([' ', ',']).next()?;
    let unit = TIMES.iter().find(|unit| unit.name == name)?;
    Some((head.strip_suffix(name)?, *unit))
}

/// The unit for times of which this is a typical one.
pub(crate) fn time_unit(seconds: f64) -> Unit {
    fitting(&TIMES, seconds)
}

/// `12.3 us`; a negative time keeps its sign.
pub(crate) fn time(seconds: f64) -> String {
    with(seconds, time_unit(seconds.abs()))
}

/// Formats a rate as in `940 Mb/s`.
pub(crate) fn rate(bits_per_second: f64) -> String {
    with(bits_per_second, rate_unit(bits_per_second))
}

/// A size that may be a fraction of a byte.
pub(crate) fn bytes(count: f64) -> String {
    if count < 10.0 {
        format!("{} B", three_digits(count))
    } else {
        Bytes::new(count.round() as u64).to_string()
    }
}

fn with(value: f64, unit: Unit) -> String {
    format!("{} {}", three_digits(value / unit.worth), unit.name)
}

/// `12.1 .. 12.5 us`: the ends of an interval in the unit of the value; empty without an interval.
pub(crate) fn ends(estimate: &Estimate, unit: Unit) -> String {
    crate::number::ends(estimate, unit.worth)
        .map_or_else(String::new, |ends| format!("{ends} {}", unit.name))
}
