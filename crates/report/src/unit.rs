//! Units that fit: rates from b/s to Gb/s, times from ns to s.

use btu_stats::Estimate;
use btu_units::{Bytes, unit_called};

use crate::number::three_digits;

pub(crate) use btu_units::{Unit, rate_unit, time_unit, written_rate as rate};

/// The head of a column without the unit of a rate or time at its end, and that unit: `latency, us`.
pub(crate) fn of_head(head: &str) -> Option<(&str, Unit)> {
    let name = head.rsplit([' ', ',']).next()?;
    Some((head.strip_suffix(name)?, unit_called(name)?))
}

/// `12.3 us`; a negative time keeps its sign.
pub(crate) fn time(seconds: f64) -> String {
    time_unit(seconds.abs()).write(seconds)
}

/// `14.7 Mb/s` and the ends of its interval in the same unit, `14.5 .. 14.9`.
pub(crate) fn rate_with_ends(rate: &Estimate) -> (String, Option<String>) {
    let unit = rate_unit(rate.value);
    (unit.write(rate.value), crate::number::ends(rate, unit.worth))
}

/// A size that may be a fraction of a byte.
pub(crate) fn bytes(count: f64) -> String {
    if count < 10.0 {
        format!("{} B", three_digits(count))
    } else {
        Bytes::new(count.round() as u64).to_string()
    }
}
