//! One parser for every quantity: a decimal number, an optional space, a unit from a list.

use thiserror::Error;

/// Why a written quantity was refused, and what would have been accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There is no number in front.
    #[error("`{text}` is not {what}: it must begin with a number, for example `10 {example}`")]
    NoNumber {
        /// The text that was written.
        text: String,
        /// What was wanted, with its article.
        what: &'static str,
        /// A unit that would do.
        example: &'static str,
    },
    /// The number is below zero.
    #[error("`{text}` is not {what}: it cannot be negative")]
    Negative {
        /// The text that was written.
        text: String,
        /// What was wanted, with its article.
        what: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("`{text}` is not {what}: {problem}; units are {allowed}")]
    Unit {
        /// The text that was written.
        text: String,
        /// What was wanted, with its article.
        what: &'static str,
        /// What is wrong with the unit.
        problem: String,
        /// The units that are known.
        allowed: String,
    },
    /// The number cannot be represented.
    #[error(
        "`{text}` is not {what} that can be represented: it must be between 0 and 1.8e19 base units"
    )]
    Range {
        /// The text that was written.
        text: String,
        /// What was wanted, with its article.
        what: &'static str,
    },
}

/// Reads `text` as a number and one of `units`, and returns it in base units, rounded to the
/// nearest.
pub(crate) fn quantity(
    text: &str,
    what: &'static str,
    units: &'static [(&'static str, f64)],
) -> Result<u64, ParseError> {
    let trimmed = text.trim();
    if is_negative(trimmed) {
        return Err(ParseError::Negative { text: text.to_owned(), what });
    }
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    let number: f64 = number.parse().map_err(|_| ParseError::NoNumber {
        text: text.to_owned(),
        what,
        example: units[0].0,
    })?;
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let problem = if unit.is_empty() {
            "the unit is missing".to_owned()
        } else {
            format!("`{unit}` is not a unit here")
        };
        let allowed = units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(ParseError::Unit { text: text.to_owned(), what, problem, allowed });
    };
    let value = (number * scale).round();
    if !value.is_finite() || value >= u64::MAX as f64 {
        return Err(ParseError::Range { text: text.to_owned(), what });
    }
    Ok(value as u64)
}

/// Whether a text is a number below zero, perhaps with a unit.
pub fn is_negative(text: &str) -> bool {
    let digits = text.trim_start().strip_prefix('-').unwrap_or_default();
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
}

/// `value` with three significant digits and no trailing zeros.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{BitRate, Bytes, Span};

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _: Result<Span, _> = text.parse();
            let _: Result<Bytes, _> = text.parse();
            let _: Result<BitRate, _> = text.parse();
        }

        #[test]
        fn what_is_below_zero_is_refused_as_that(count in 1u64..1_000_000) {
            let error = format!("-{count} s").parse::<Span>().unwrap_err().to_string();
            prop_assert_eq!(error, format!("`-{count} s` is not a length of time: it cannot be negative"));
        }

        #[test]
        fn whole_base_units_come_back(count in 0u64..1_000_000_000) {
            prop_assert_eq!(format!("{count} B").parse(), Ok(Bytes::new(count)));
            prop_assert_eq!(format!("{count}ns").parse(), Ok(Span::from_nanoseconds(count)));
        }
    }
}
