//! Axes: what they say and which values they show.

use crate::scale::Scale;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it counts, with the unit: `mean delay (ms)`. Without a label the axis has no numbers either.
    pub label: String,
    /// How values grow along it.
    pub growth: Growth,
    /// First and last value; by the data when absent. What lies outside is cut off.
    pub range: Option<(f64, f64)>,
}

/// How values grow along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By equal differences.
    Linear,
    /// By equal ratios.
    Logarithmic,
}

/// A value at which an axis has a line, and its number where there is room for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) number: Option<String>,
}

impl Axis {
    /// A linear axis as long as its data.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), growth: Growth::Linear, range: None }
    }

    /// A logarithmic axis as long as its data.
    pub fn logarithmic(label: &str) -> Self {
        Self { growth: Growth::Logarithmic, ..Self::linear(label) }
    }

    /// The same axis from `first` to `last`.
    #[must_use]
    pub fn within(self, first: f64, last: f64) -> Self {
        Self { range: Some((first, last)), ..self }
    }

    /// Where values lie, given all that should be seen.
    pub(crate) fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let logarithmic = self.growth == Growth::Logarithmic;
        let fixed = self.range.filter(|&(first, last)| first < last && (!logarithmic || first > 0.0));
        let values = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let (least, most) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        let seen = if least <= most { (least, most) } else { (1.0, 10.0) };
        let ends = fixed.unwrap_or_else(|| if logarithmic { round_decades(seen) } else { round(seen) });
        Scale { first: ends.0, last: ends.1, growth: self.growth }
    }
}

/// The range out to whole steps; from zero where that is near.
fn round((least, most): (f64, f64)) -> (f64, f64) {
    let least = if least > 0.0 && least < 0.4 * most { 0.0 } else { least };
    let most = if most < 0.0 && most > 0.4 * least { 0.0 } else { most };
    let (least, most) = if least < most { (least, most) } else { (least - 0.5, most + 0.5) };
    let step = step(most - least);
    ((least / step).floor() * step, (most / step).ceil() * step)
}

/// The range out to 1, 2 or 5 times a power of ten.
fn round_decades((least, most): (f64, f64)) -> (f64, f64) {
    let down =
        [5.0, 2.0, 1.0].map(|factor| factor * decade(least)).into_iter().find(|value| *value <= least * 1.000_001);
    let up =
        [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade(most)).into_iter().find(|value| *value >= most * 0.999_999);
    let (down, up) = (down.unwrap_or(least), up.unwrap_or(most));
    if down < up { (down, up) } else { (down / 2.0, up * 2.0) }
}

/// The power of ten at or below `value`.
fn decade(value: f64) -> f64 {
    10f64.powi(value.log10().floor() as i32)
}

/// A step of 1, 2 or 5 times a power of ten that divides `length` into about six.
fn step(length: f64) -> f64 {
    let rough = length / 7.0;
    let decade = decade(rough);
    [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade).into_iter().find(|step| *step >= rough).unwrap_or(rough)
}

/// The ticks of a scale.
pub(crate) fn ticks(scale: &Scale) -> Vec<Tick> {
    match scale.growth {
        Growth::Linear => linear_ticks(scale),
        Growth::Logarithmic => decade_ticks(scale),
    }
}

fn linear_ticks(scale: &Scale) -> Vec<Tick> {
    let step = step(scale.last - scale.first);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let first = (scale.first / step - 1e-9).ceil() as i64;
    let last = (scale.last / step + 1e-9).floor() as i64;
    let tick = |place: i64| {
        let value = place as f64 * step;
        Tick { value, number: Some(number(value, decimals)) }
    };
    (first..=last).map(tick).collect()
}

/// Every decade has nine ticks; 1 has a number, and 2 and 5 have where there are few decades.
fn decade_ticks(scale: &Scale) -> Vec<Tick> {
    let decades = (scale.last / scale.first).log10();
    let numbered = |digit: u32| digit == 1 || (decades < 4.0 && (digit == 2 || digit == 5));
    let (first, last) = (scale.first.log10().floor() as i32, scale.last.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| (1..10).map(move |digit| (power, digit)));
    let inside = |value: f64| value >= scale.first * 0.999_999 && value <= scale.last * 1.000_001;
    all.filter_map(|(power, digit)| {
        let value = f64::from(digit) * 10f64.powi(power);
        let number = numbered(digit).then(|| number(value, usize::try_from(-power).unwrap_or(0)));
        inside(value).then_some(Tick { value, number })
    })
    .collect()
}

/// A number with a true minus sign, and never a negative zero.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.chars().all(|digit| matches!(digit, '0' | '.'));
    if value < 0.0 && !is_zero { format!("\u{2212}{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(scale: &Scale) -> Vec<String> {
        ticks(scale).into_iter().filter_map(|tick| tick.number).collect()
    }

    #[test]
    fn linear_axes_have_round_numbers() {
        let scale = Axis::linear("x").scale([5.0, 95.0].into_iter());
        assert_eq!((scale.first, scale.last), (0.0, 100.0));
        assert_eq!(numbers(&scale), ["0", "20", "40", "60", "80", "100"]);
        let residuals = Axis::linear("x").scale([-0.021, 0.013].into_iter());
        assert_eq!(numbers(&residuals).first().map(String::as_str), Some("\u{2212}0.02"));
    }

    #[test]
    fn logarithmic_axes_number_decades() {
        let scale = Axis::logarithmic("x").scale([0.85, 84.0, -1.0, f64::NAN].into_iter());
        assert_eq!((scale.first, scale.last), (0.5, 100.0));
        assert_eq!(numbers(&scale), ["0.5", "1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn no_data_and_equal_data_have_a_range_too() {
        for values in [vec![], vec![3.0], vec![f64::INFINITY]] {
            for axis in [Axis::linear("x"), Axis::logarithmic("x")] {
                let scale = axis.scale(values.iter().copied());
                assert!(scale.first < scale.last && scale.first.is_finite() && scale.last.is_finite(), "{scale:?}");
            }
        }
    }

    #[test]
    fn a_senseless_range_is_not_taken() {
        let scale = Axis::logarithmic("x").within(0.0, 10.0).scale([1.0, 9.0].into_iter());
        assert_eq!((scale.first, scale.last), (1.0, 10.0));
    }
}
