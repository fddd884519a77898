//! Numbers of predictions: as many digits as the study prints.

use btu_model::{Answer, Warning};
use btu_units::Span;

use crate::number::duration;

/// `value` with this number of significant digits, in plain notation if that is short.
pub fn digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.*e}", usize::try_from(digits - 1).unwrap_or(0));
    }
    let decimals = digits - 1 - value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// Seconds with four or five digits and the unit that suits: `1.0667 ms`, `73.06 s`; from 100 s on
/// as people say them: `19 min 2 s`.
pub fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 100.0 => duration(Span::from_seconds_f64(seconds)),
        _ if seconds >= 1.0 => format!("{} s", digits(seconds, 4)),
        _ if seconds >= 1e-3 => format!("{} ms", digits(seconds * 1e3, 5)),
        _ if seconds >= 1e-6 => format!("{} us", digits(seconds * 1e6, 4)),
        _ => format!("{} ns", digits(seconds * 1e9, 3)),
    }
}

/// A share in per cent: two decimals below 100.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value >= 1000.0 { format!("{value:.0} %") } else { format!("{value:.2} %") }
}

/// A rate: whole if it is nearly whole, and 0 below a frame in ten days.
pub fn rate(per_second: f64) -> String {
    if per_second < 1e-6 { "0".to_owned() } else { whole_or(per_second, 5) }
}

/// Whole if it is nearly whole, else with this number of digits.
pub fn whole_or(value: f64, other: i32) -> String {
    let whole = value.round();
    if (1.0..1e9).contains(&whole) && (value - whole).abs() <= whole * 1e-9 {
        format!("{whole:.0}")
    } else {
        digits(value, other)
    }
}

/// Bits per second with the unit that suits.
pub fn bit_rate(bits: f64) -> String {
    btu_units::BitRate::from_bits_per_second(bits.round() as u64).to_string()
}

/// The answer in this form, or why there is none; an answer that is too good is marked.
pub fn answer(answer: Answer, form: fn(f64) -> String) -> String {
    match (answer.value, answer.warning) {
        (Some(value), None) => form(value),
        (Some(value), Some(Warning::Saturated)) => format!("{}, saturated", form(value)),
        (Some(value), Some(_)) => format!("{} at least", form(value)),
        (None, Some(Warning::Saturated)) => "saturated".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

/// Like `answer`, for a narrow column: no more than a mark.
pub fn short(answer: Answer, form: fn(f64) -> String) -> String {
    match (answer.value, answer.warning) {
        (Some(value), Some(Warning::Optimistic | Warning::OutOfRange)) => {
            format!(">{}", form(value))
        }
        (Some(value), _) => form(value),
        (None, Some(Warning::Saturated)) => "saturated".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_the_study_s() {
        assert_eq!(time(1.066_715_86e-3), "1.0667 ms");
        assert_eq!(time(1141.5525), "19 min 2 s");
        assert_eq!(time(73.0627), "73.06 s");
        assert_eq!(time(5.12e-6), "5.120 us");
        assert_eq!(percent(0.071_184), "7.12 %");
        assert_eq!(
            (rate(1034.0), rate(70.000_000_001), rate(1e-9)),
            ("1034".to_owned(), "70".to_owned(), "0".to_owned())
        );
        assert_eq!(digits(10_169.142_857, 9), "10169.1429");
        assert_eq!(digits(1e-9, 3), "1.00e-9");
    }

    #[test]
    fn what_has_no_value_says_why() {
        assert_eq!(answer(Answer::SATURATED, time), "saturated");
        assert_eq!(answer(Answer::OUT_OF_RANGE, time), "-");
        assert_eq!(answer(Answer::of(1.2).but(Warning::Saturated), percent), "120.00 %, saturated");
        assert_eq!(answer(Answer::of(1.0).but(Warning::Optimistic), time), "1.000 s at least");
    }
}
