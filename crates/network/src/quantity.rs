//! The quantities in a network file, and how each is written.

use btu_units::{BitRate, Bytes, Length, Span};

/// The quantity of a value in a network file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Bits per second: `10 Mb/s`.
    Rate,
    /// A time, such as `1 ms`.
    Time,
    /// A size, such as `1518 B`.
    Size,
    /// A length, such as `500 m`.
    Length,
    /// A share up to one: `1 %`.
    Share,
    /// A share that may be above one: `120 %`.
    Load,
    /// A whole number, at least one: `24`.
    Count,
    /// Frames per second: `60`.
    Frames,
    /// Of the speed of light: `0.77`.
    Velocity,
    /// Bit times: `2 bits`.
    Bits,
    /// No single quantity: a mix of sizes, a word.
    Words,
}

/// Units in which values are written, ascending, each with its value in the base unit.
const RATES: &[(&str, f64)] =
    &[("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12)];
const TIMES: &[(&str, f64)] = &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
const SIZES: &[(&str, f64)] = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const LENGTHS: &[(&str, f64)] = &[("mm", 1e-3), ("m", 1.0), ("km", 1e3)];
const SHARES: &[(&str, f64)] = &[("%", 0.01)];
const BITS: &[(&str, f64)] = &[("bits", 1.0)];

impl Quantity {
    /// The number that `text` means: bits per second, seconds, octets, metres, one for 100 %, or
    /// itself.
    pub fn value(self, text: &str) -> Option<f64> {
        let text = text.trim();
        match self {
            Self::Rate => text.parse::<BitRate>().ok().map(|rate| rate.bits_per_second() as f64),
            Self::Time => text.parse::<Span>().ok().map(Span::seconds),
            Self::Size => text.parse::<Bytes>().ok().map(|size| size.count() as f64),
            Self::Length => text.parse::<Length>().ok().map(Length::metres),
            Self::Share | Self::Load => {
                number(text.strip_suffix('%')?).map(|percent| percent / 100.0)
            }
            Self::Count => text.parse::<u32>().ok().map(f64::from),
            Self::Frames | Self::Velocity => number(text),
            Self::Bits => number(text.trim_end_matches('s').strip_suffix("bit")?),
            Self::Words => None,
        }
    }

    /// `value` as a network file writes it, in the largest unit that leaves a whole part, with nine
    /// digits at most.
    pub fn written(self, value: f64) -> String {
        if self == Self::Count {
            return format!("{:.0}", value.max(1.0));
        }
        let units = self.units();
        // Network engineers write a full Ethernet frame as 1518 B, so kB begin at 10 kB.
        let large = |unit: &str, scale: f64| if unit == "kB" { scale * 10.0 } else { scale };
        let fits = |&&(unit, scale): &&(&str, f64)| value >= large(unit, scale) * (1.0 - 1e-9);
        let zero = units.iter().find(|(unit, _)| matches!(*unit, "m" | "ms"));
        let (first, found) = (units.first(), units.iter().rev().find(fits));
        match if value == 0.0 { zero.or(first) } else { found.or(first) } {
            Some((unit, scale)) => format!("{} {unit}", rounded(value / scale)),
            // The value is smaller than every unit.
            None if value > 0.0 && value < 1e-4 => format!("{:e}", rounded(value)),
            None => rounded(value).to_string(),
        }
    }

    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Rate => RATES,
            Self::Time => TIMES,
            Self::Size => SIZES,
            Self::Length => LENGTHS,
            Self::Share | Self::Load => SHARES,
            Self::Bits => BITS,
            Self::Count | Self::Frames | Self::Velocity | Self::Words => &[],
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// `value` with nine significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let scale = 10f64.powi(8 - value.abs().log10().floor() as i32);
    if scale.is_finite() { (value * scale).round() / scale } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_written_as_people_write_them() {
        for (kind, value, text) in [
            (Quantity::Rate, 1e7, "10 Mb/s"),
            (Quantity::Rate, 149.76e6, "149.76 Mb/s"),
            (Quantity::Rate, 999.0, "999 b/s"),
            (Quantity::Time, 0.0, "0 ms"),
            (Quantity::Time, 5e-5, "50 us"),
            (Quantity::Time, 2.0, "2 s"),
            (Quantity::Size, 1518.0, "1518 B"),
            (Quantity::Size, 2e4, "20 kB"),
            (Quantity::Size, 1e6, "1 MB"),
            (Quantity::Length, 1181.902, "1.181902 km"),
            (Quantity::Length, 0.0, "0 m"),
            (Quantity::Share, 0.001, "0.1 %"),
            (Quantity::Load, 1.2, "120 %"),
            (Quantity::Count, 24.0, "24"),
            (Quantity::Frames, 1e-9, "1e-9"),
            (Quantity::Frames, 0.5, "0.5"),
            (Quantity::Velocity, 0.77, "0.77"),
            (Quantity::Bits, 2.0, "2 bits"),
        ] {
            assert_eq!(kind.written(value), text);
            assert!((kind.value(text).unwrap() - value).abs() <= value * 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_something_else_has_no_value() {
        for (kind, text) in [
            (Quantity::Rate, "10"),
            (Quantity::Count, "2.5"),
            (Quantity::Load, "30"),
            (Quantity::Frames, "nan"),
            (Quantity::Frames, "-1"),
            (Quantity::Bits, "bits"),
            (Quantity::Words, "5"),
        ] {
            assert_eq!(kind.value(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(exponent in -6.0f64..9.0) {
            let value = 10f64.powf(exponent);
            for kind in [Quantity::Frames, Quantity::Velocity, Quantity::Load, Quantity::Bits] {
                let back = kind.value(&kind.written(value)).unwrap();
                prop_assert!((back - value).abs() <= value * 1e-8, "{:?} {}", kind, value);
            }
            // Rates and sizes are whole bits and octets, times whole nanoseconds, lengths whole
            // millimetres.
            for (kind, grain) in
                [(Quantity::Rate, 1.0), (Quantity::Size, 1.0), (Quantity::Time, 1e-9), (Quantity::Length, 1e-3)]
            {
                let back = kind.value(&kind.written(value)).unwrap();
                prop_assert!((back - value).abs() <= value * 1e-8 + grain, "{:?} {}", kind, value);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            for kind in [Quantity::Rate, Quantity::Load, Quantity::Bits, Quantity::Count, Quantity::Frames] {
                kind.value(&text);
            }
        }
    }
}
