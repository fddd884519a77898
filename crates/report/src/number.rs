//! Numbers for readers: three significant digits, with the unit in another place.

use btu_stats::Estimate;
use btu_units::Span;
pub(crate) use btu_units::three_digits;

/// The text for a missing value.
pub(crate) const NOTHING: &str = "-";

/// Three digits of `value`, or a dash.
pub(crate) fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), three_digits)
}

/// A share in per cent, without the sign: `0.6`, `12`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// A share that is not exceeded, in per cent without the sign: `1.1` of 0.0102, which `at most 1.0 %` would deny.
pub(crate) fn percent_at_most(share: f64) -> String {
    let value = share * 100.0;
    let steps = if value > 9.9 { 1.0 } else { 10.0 };
    // What arithmetic in floating point adds to a round figure is no reason to say the next one.
    let whole = (value * steps - 1e-9).ceil().abs();
    percent(whole / steps / 100.0)
}

/// Half the interval in per cent of the value: `±2.1%`; empty without an interval.
pub(crate) fn plus_minus(estimate: Option<&Estimate>) -> String {
    match estimate.and_then(Estimate::relative_half_width) {
        Some(half) if half < 9.995 => format!("±{}%", percent(half)),
        Some(_) => "±>999%".to_owned(),
        None => String::new(),
    }
}

/// The ends of the interval, divided by `unit`: `1200 .. 1268`.
pub(crate) fn ends(estimate: &Estimate, unit: f64) -> Option<String> {
    let interval = estimate.interval?;
    Some(format!("{} .. {}", three_digits(interval.low / unit), three_digits(interval.high / unit)))
}

/// A value and the ends of its interval, as columns of a file.
pub(crate) fn ends_of(estimate: &Estimate) -> String {
    let ends = estimate
        .interval
        .map_or_else(|| ",".to_owned(), |ends| format!("{:e},{:e}", ends.low, ends.high));
    format!("{:e},{ends}", estimate.value)
}

/// A length of time for readers: `2 min 5 s`, `1 h 3 min`, `12.5 s`.
pub(crate) fn duration(span: Span) -> String {
    let seconds = span.seconds().round() as u64;
    match seconds {
        0..60 => span.to_string(),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 row`, `2 rows`.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_stats::Interval;

    #[test]
    fn intervals_read_as_plus_and_minus() {
        let estimate =
            |half| Estimate { value: 10.0, interval: Some(Interval::around(10.0, half)) };
        assert_eq!(plus_minus(Some(&estimate(0.21))), "±2.1%");
        assert_eq!(plus_minus(Some(&estimate(1.2))), "±12%");
        assert_eq!(plus_minus(Some(&estimate(500.0))), "±>999%");
        assert_eq!(plus_minus(Some(&Estimate { value: 10.0, interval: None })), "");
        assert_eq!(ends(&estimate(1.0), 1.0).unwrap(), "9.00 .. 11.0");
    }

    #[test]
    fn what_is_said_to_be_the_most_is_not_exceeded() {
        for (share, said) in [
            (0.0, "0.0"),
            (0.000_1, "0.1"),
            (0.010_25, "1.1"),
            (1.03 - 1.0, "3.0"),
            (0.099, "9.9"),
            (0.099_1, "10"),
            (0.101, "11"),
            (0.994_1, "100"),
        ] {
            assert_eq!(percent_at_most(share), said, "{share}");
        }
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        assert_eq!(duration(Span::from_milliseconds(12_500)), "12.5 s");
        assert_eq!(duration(Span::from_seconds(125)), "2 min 5 s");
        assert_eq!(duration(Span::from_seconds(3780)), "1 h 3 min");
    }
}
