//! Numbers for readers: three significant digits, in the unit that fits.

/// A unit and its worth in the base unit: bits per second of a rate, seconds of a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As it is written: `Mb/s`.
    pub name: &'static str,
    /// How many of the base unit it is.
    pub worth: f64,
}

impl Unit {
    /// The unit of the same quantity that fits a value in the base unit.
    #[must_use]
    pub fn fitting(self, value: f64) -> Self {
        fitting(if RATES.contains(&self) { &RATES } else { &TIMES }, value)
    }

    /// A value in the base unit, written in this unit: `940 Mb/s`.
    pub fn write(self, value: f64) -> String {
        format!("{} {}", three_digits(value / self.worth), self.name)
    }
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

/// From this value on, three digits of it are 1.00.
const ONE: f64 = 0.999_5;

/// The largest unit of `units` in which `value` is written as at least one; the smallest where there
/// is none.
fn fitting(units: &[Unit; 4], value: f64) -> Unit {
    units.iter().rev().find(|unit| value >= ONE * unit.worth).copied().unwrap_or(units[0])
}

/// The unit for rates up to `most` bits per second, from b/s to Gb/s.
pub fn rate_unit(most: f64) -> Unit {
    fitting(&RATES, most)
}

/// The unit for times of which this is a typical one, in seconds: from ns to s.
pub fn time_unit(seconds: f64) -> Unit {
    fitting(&TIMES, seconds)
}

/// The unit of this name, if it is one of rates or times.
pub fn unit_called(name: &str) -> Option<Unit> {
    RATES.iter().chain(&TIMES).find(|unit| unit.name == name).copied()
}

/// A rate in bits per second as every text for people writes it: `936 kb/s`, `16.7 Gb/s`.
pub fn written_rate(bits_per_second: f64) -> String {
    rate_unit(bits_per_second).write(bits_per_second)
}

/// `value` with three significant digits, zeros kept: `1230`, `12.3`, `0.0123`; with an exponent if
/// that would be long.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let step = 10f64.powi(magnitude - 2);
    let rounded = (value / step).round() * step;
    // Rounding may have reached the next power of ten: 9.999 is 10.0, not 10.00.
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = usize::try_from(2 - magnitude).unwrap_or(0);
    format!("{rounded:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_unit_that_fits() {
        let rates = [0.0, 9.6, 9600.0, 936_000.0, 999_400.0, 999_600.0, 14.7e6, 16.7e9, 2.4e12];
        assert_eq!(
            rates.map(written_rate),
            [
                "0 b/s",
                "9.60 b/s",
                "9.60 kb/s",
                "936 kb/s",
                "999 kb/s",
                "1.00 Mb/s",
                "14.7 Mb/s",
                "16.7 Gb/s",
                "2400 Gb/s"
            ]
        );
    }

    #[test]
    fn three_digits_whatever_the_size() {
        let table = [
            (0.0, "0"),
            (1234.0, "1230"),
            (98_765.0, "98800"),
            (12.345, "12.3"),
            (1.0, "1.00"),
            (9.999, "10.0"),
            (99.96, "100"),
            (0.012_34, "0.0123"),
            (-0.5, "-0.500"),
            (9_999_999.0, "10000000"),
            (4.2e44, "4.20e44"),
            (0.000_012_3, "1.23e-5"),
        ];
        for (value, text) in table {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn a_unit_is_found_by_its_name() {
        let fitting = |name, value| unit_called(name).expect("a unit").fitting(value).name;
        assert_eq!((fitting("Mb/s", 2e9), fitting("us", 2.0)), ("Gb/s", "s"));
        assert!(unit_called("MB/s").is_none());
    }
}
