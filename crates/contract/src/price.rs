//! The price of a machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Hundredths of the currency's unit; more than zero.
    pub hundredths: u64,
    /// Three capital letters (ISO 4217).
    pub currency: String,
}

/// The largest amount, in units: a higher price is probably a typing error.
const MOST_UNITS: u64 = 1_000_000_000;

impl Price {
    /// In units of the currency.
    pub fn units(&self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    /// What a megabit per second costs, in units of the currency.
    pub fn per_megabit(&self, bits_per_second: f64) -> f64 {
        self.units() / (bits_per_second / 1e6)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, rest) = (self.hundredths / 100, self.hundredths % 100);
        let text = if rest == 0 {
            format!("{units} {}", self.currency)
        } else {
            format!("{units}.{rest:02} {}", self.currency)
        };
        f.pad(&text)
    }
}

/// Why a text is no price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a price: write an amount above zero and a currency, such as '1200 EUR' or '899.50 USD'"
)]
pub struct PriceError(String);

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).ok_or_else(|| PriceError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Price> {
    let (amount, currency) = text.trim().split_once(char::is_whitespace)?;
    let currency = currency.trim();
    let is_code = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_alphabetic());
    let (units, rest) = amount.split_once('.').unwrap_or((amount, "0"));
    let only_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_code || !only_digits(units) || !only_digits(rest) || rest.len() > 2 {
        return None;
    }
    let units = units.parse::<u64>().ok().filter(|units| *units <= MOST_UNITS)?;
    let rest = rest.parse::<u64>().ok()? * if rest.len() == 1 { 10 } else { 1 };
    let hundredths = units * 100 + rest;
    (hundredths > 0).then(|| Price { hundredths, currency: currency.to_ascii_uppercase() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prices_are_read() {
        let cases = [
            ("1200 EUR", 120_000, "1200 EUR"),
            (" 899.5  usd", 89_950, "899.50 USD"),
            ("0.01 JPY", 1, "0.01 JPY"),
        ];
        for (text, hundredths, shown) in cases {
            let price: Price = text.parse().unwrap();
            assert_eq!((price.hundredths, price.to_string().as_str()), (hundredths, shown));
        }
    }

    #[test]
    fn what_is_no_price_is_refused_with_an_example() {
        let texts = [
            "",
            "1200",
            "EUR",
            "EUR 1200",
            "-5 EUR",
            "0 EUR",
            "1.234 EUR",
            "1,200 EUR",
            "1e3 EUR",
            "1200 Euro",
            "٣ EUR",
        ];
        for text in texts {
            assert!(text.parse::<Price>().unwrap_err().to_string().contains("1200 EUR"), "{text}");
        }
        assert!("1000000001 EUR".parse::<Price>().is_err());
    }

    /// Table 4: a SPARC 10 for 18,000 dollars gave 2.48 Mb/s.
    #[test]
    fn a_megabit_per_second_in_1995() {
        let price: Price = "18000 USD".parse().unwrap();
        assert!((price.per_megabit(2.48e6) - 18_000.0 / 2.48).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_price_survives_being_written(hundredths in 1u64..=100_000_000_000) {
            let price = Price { hundredths, currency: "EUR".to_owned() };
            prop_assert_eq!(price.to_string().parse::<Price>().unwrap(), price);
        }

        #[test]
        fn any_text_is_a_price_or_an_error(text in ".{0,30}") {
            let _ = text.parse::<Price>();
        }
    }
}
