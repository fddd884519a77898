//! Axes: their titles, and the values that they show.

/// An axis of a panel: its label, its scale and its range.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity with its unit: `mean delay (ms)`. An axis without a label has no numbers
    /// either.
    pub label: String,
    /// How values grow along it.
    pub growth: Growth,
    /// First and last value; by the data when absent. What lies outside is cut off.
    pub range: Option<(f64, f64)>,
}

/// How values grow along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios.
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

    /// Returns this axis with the range from `first` to `last`.
    #[must_use]
    pub fn within(self, first: f64, last: f64) -> Self {
        Self { range: Some((first, last)), ..self }
    }

    /// The range of an axis, given all values that should be visible.
    pub(crate) fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let by_data = match self.growth {
            Growth::Logarithmic => round_decades,
            Growth::Linear => round,
        };
        let (first, last) = self.fixed().unwrap_or_else(|| by_data(self.seen(values)));
        Scale { first, last, growth: self.growth }
    }

    /// The range of an axis next to rows of text, with its ticks: of a linear one each row is a step,
    /// so that its numbers are evenly spaced.
    pub(crate) fn in_rows(
        &self,
        values: impl Iterator<Item = f64>,
        rows: usize,
    ) -> (Scale, Vec<Tick>) {
        if self.growth == Growth::Logarithmic {
            let scale = self.scale(values);
            return (scale, ticks(&scale));
        }
        let (least, most) = self.fixed().unwrap_or_else(|| from_zero(self.seen(values)));
        let (first, step) = AxisStep::in_rows(least, most, rows - 1);
        let at = |row: usize| step.times(first + row as f64);
        let numbered = (0..rows).step_by(if rows > FEW_ROWS { 2 } else { 1 }).map(at).collect();
        let scale = Scale { first: at(0), last: at(rows - 1), growth: self.growth };
        (scale, numbered_ticks(numbered, step))
    }

    fn fixed(&self) -> Option<(f64, f64)> {
        let logarithmic = self.growth == Growth::Logarithmic;
        self.range.filter(|&(first, last)| {
            first < last && !is_flat(first, last) && (!logarithmic || first > 0.0)
        })
    }

    /// The least and the greatest of the values that have a place.
    fn seen(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let logarithmic = self.growth == Growth::Logarithmic;
        let values = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let (least, most) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if least <= most { (least, most) } else { (1.0, 10.0) }
    }
}

/// Of more rows of text every second one has a number.
const FEW_ROWS: usize = 7;

/// Values that differ by less than this share of their size are drawn as one: smaller differences
/// come from rounding of floating point (about 1e-16 for each operation), or are finer than the
/// numbers of an axis. A step is at least a seventh of the range, so a tick has six digits at most,
/// and `−1.23456e10` is as long as there is room for.
const FLAT: f64 = 1e-4;

/// Like `FLAT`, for sizes below 1e-9, with powers of ten that are a letter longer: `−1.2345e−10`.
const FLAT_OF_TINY: f64 = 1e-3;

/// Whether two values are so close that they count as one.
fn is_flat(least: f64, most: f64) -> bool {
    let size = least.abs().max(most.abs());
    most - least <= size * if size < 1e-9 { FLAT_OF_TINY } else { FLAT }
}

/// Room around a single value, so that its line lies well inside.
fn around(value: f64) -> (f64, f64) {
    let half = if value == 0.0 { 0.5 } else { value.abs() / 2.0 };
    (value - half, value + half)
}

/// The range out to whole steps; from zero where that is near.
fn round(seen: (f64, f64)) -> (f64, f64) {
    let (least, most) = from_zero(seen);
    let step = AxisStep::dividing(most - least);
    (step.times((least / step.times(1.0)).floor()), step.times((most / step.times(1.0)).ceil()))
}

/// The range from zero where that is near, and with room around where it is a single value.
fn from_zero((least, most): (f64, f64)) -> (f64, f64) {
    let (least, most) =
        if is_flat(least, most) { around(f64::midpoint(least, most)) } else { (least, most) };
    let least = if least > 0.0 && least < 0.4 * most { 0.0 } else { least };
    (least, if most < 0.0 && most > 0.4 * least { 0.0 } else { most })
}

/// The range out to 1, 2 or 5 times a power of ten.
fn round_decades((least, most): (f64, f64)) -> (f64, f64) {
    let down = [5.0, 2.0, 1.0]
        .map(|factor| factor * decade(least))
        .into_iter()
        .find(|value| *value <= least * 1.000_001);
    let up = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * decade(most))
        .into_iter()
        .find(|value| *value >= most * 0.999_999);
    let (down, up) = (down.unwrap_or(least), up.unwrap_or(most));
    if down < up { (down, up) } else { (down / 2.0, up * 2.0) }
}

/// The power of ten at or below `value`.
fn decade(value: f64) -> f64 {
    10f64.powi(value.log10().floor() as i32)
}

/// A step of one digit times a power of ten.
#[derive(Debug, Clone, Copy)]
struct AxisStep {
    factor: f64,
    exponent: i32,
}

impl AxisStep {
    /// The step that divides `length`, above zero, into four to seven.
    fn dividing(length: f64) -> Self {
        Self::of_at_least(length / 7.0, &[1.0, 2.0, 5.0])
    }

    /// The first step's number and the smallest step so that `steps` of them hold a range.
    fn in_rows(least: f64, most: f64, steps: usize) -> (f64, Self) {
        let mut step = Self::of_at_least((most - least) / steps as f64, &[1.0]);
        step.exponent -= 1;
        loop {
            let first = (least / step.times(1.0)).floor();
            if step.times(first + steps as f64) >= most {
                return (first, step);
            }
            step = Self::of_at_least(step.times(1.1), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]);
        }
    }

    /// The smallest step of these digits that is not below `rough`.
    fn of_at_least(rough: f64, digits: &[f64]) -> Self {
        let exponent = rough.log10().floor() as i32;
        let mut all = digits.iter().map(|&factor| Self { factor, exponent });
        let next = Self { factor: 1.0, exponent: exponent + 1 };
        all.find(|step| step.times(1.0) >= rough).unwrap_or(next)
    }

    /// A number of steps, rounded once.
    fn times(self, count: f64) -> f64 {
        let steps = count * self.factor;
        if self.exponent < 0 {
            steps / 10f64.powi(-self.exponent)
        } else {
            steps * 10f64.powi(self.exponent)
        }
    }
}

/// The ticks of a scale.
pub(crate) fn ticks(scale: &Scale) -> Vec<Tick> {
    match scale.growth {
        Growth::Linear => linear_ticks(scale),
        Growth::Logarithmic => decade_ticks(scale),
    }
}

fn linear_ticks(scale: &Scale) -> Vec<Tick> {
    let step = AxisStep::dividing(scale.last - scale.first);
    let first = (scale.first / step.times(1.0) - 1e-9).ceil() as i64;
    let last = (scale.last / step.times(1.0) + 1e-9).floor() as i64;
    numbered_ticks((first..=last).map(|place| step.times(place as f64)).collect(), step)
}

fn numbered_ticks(values: Vec<f64>, step: AxisStep) -> Vec<Tick> {
    let numbers = linear_numbers(&values, step);
    values
        .into_iter()
        .zip(numbers)
        .map(|(value, number)| Tick { value, number: Some(number) })
        .collect()
}

/// How many characters of a number fit next to an axis, at 7 pixels each.
const ROOM: usize = 7;

/// Numbers that distinguish all ticks of an axis: in plain notation, or with powers of ten if that
/// is too long.
fn linear_numbers(values: &[f64], step: AxisStep) -> Vec<String> {
    let longest =
        |numbers: &[String]| numbers.iter().map(|number| number.chars().count()).max().unwrap_or(0);
    let decimals = usize::try_from(-step.exponent).unwrap_or(0);
    let plain: Vec<String> = values.iter().map(|value| number(*value, decimals)).collect();
    if longest(&plain) <= ROOM {
        return plain;
    }
    let powers: Vec<String> = values.iter().map(|value| power(*value, step.exponent)).collect();
    if longest(&powers) < longest(&plain) { powers } else { plain }
}

/// Every decade has nine ticks; 1 has a number, and 2 and 5 have where there are few decades.
fn decade_ticks(scale: &Scale) -> Vec<Tick> {
    let decades = (scale.last / scale.first).log10();
    let numbered = |digit: u32| digit == 1 || (decades < 4.0 && (digit == 2 || digit == 5));
    let (first, last) = (scale.first.log10().floor() as i32, scale.last.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| (1..10).map(move |digit| (power, digit)));
    let inside = |value: f64| value >= scale.first * 0.999_999 && value <= scale.last * 1.000_001;
    all.filter_map(|(exponent, digit)| {
        let value = AxisStep { factor: f64::from(digit), exponent }.times(1.0);
        inside(value).then(|| Tick {
            value,
            number: numbered(digit).then(|| decade_number(value, exponent)),
        })
    })
    .collect()
}

/// The number of a digit times a power of ten.
fn decade_number(value: f64, exponent: i32) -> String {
    let plain = number(value, usize::try_from(-exponent).unwrap_or(0));
    if plain.chars().count() <= ROOM + 1 { plain } else { power(value, exponent) }
}

/// A number with a true minus sign, and never a negative zero.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.chars().all(|digit| matches!(digit, '0' | '.'));
    if value < 0.0 && !is_zero { format!("\u{2212}{text}") } else { text }
}

/// Like `number`, with a power of ten, as exact as 10 to the `last` is: `1.5e12`.
fn power(value: f64, last: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let digits = usize::try_from(size.log10().floor() as i32 - last).unwrap_or(0);
    let sign = if value < 0.0 { "\u{2212}" } else { "" };
    format!("{sign}{size:.digits$e}").replace("e-", "e\u{2212}")
}

/// Which values an axis shows, and how they grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) growth: Growth,
}

impl Scale {
    /// The place of `value`: 0 at the first, 1 at the last. `None` if it has no place.
    pub(crate) fn share(&self, value: f64) -> Option<f64> {
        let share = match self.growth {
            Growth::Linear => (value - self.first) / (self.last - self.first),
            Growth::Logarithmic if value <= 0.0 => return None,
            Growth::Logarithmic => (value / self.first).ln() / (self.last / self.first).ln(),
        };
        share.is_finite().then_some(share)
    }

    /// As [`Self::share`], but values outside the range are just outside it, so that lines lead
    /// there and coordinates stay small.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        self.share(value).map(|share| share.clamp(-1.0, 2.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
                assert!(
                    scale.first < scale.last && scale.first.is_finite() && scale.last.is_finite(),
                    "{scale:?}"
                );
            }
        }
    }

    #[test]
    fn a_senseless_range_is_not_taken() {
        let scale = Axis::logarithmic("x").within(0.0, 10.0).scale([1.0, 9.0].into_iter());
        assert_eq!((scale.first, scale.last), (1.0, 10.0));
    }

    /// A sweep with a constant figure is a straight line, whatever its last digits are.
    #[test]
    fn b6_rounding_noise_is_no_shape() {
        let noisy = [60.000_000_000_000_01, 59.999_999_999_999_99, 60.0, 60.000_000_000_000_014];
        let scale = Axis::linear("x").scale(noisy.into_iter());
        assert_eq!((scale.first, scale.last), (0.0, 100.0));
        assert_eq!(numbers(&scale), ["0", "20", "40", "60", "80", "100"]);
        let narrow =
            Axis::linear("x").within(60.0, 60.000_000_000_000_01).scale([60.0].into_iter());
        assert_eq!((narrow.first, narrow.last), (0.0, 100.0));
    }

    #[test]
    fn large_and_small_values_have_powers_of_ten() {
        let scale = Axis::linear("x").scale([0.0, 1.4e12].into_iter());
        assert_eq!(numbers(&scale)[..3], ["0", "2e11", "4e11"]);
        let scale = Axis::linear("x").scale([-3e-9, 4e-9].into_iter());
        assert_eq!(
            numbers(&scale)[..4],
            ["\u{2212}3e\u{2212}9", "\u{2212}2e\u{2212}9", "\u{2212}1e\u{2212}9", "0"]
        );
        let scale = Axis::logarithmic("x").scale([1e-9, 1e12].into_iter());
        assert_eq!(numbers(&scale)[..2], ["1e\u{2212}9", "1e\u{2212}8"]);
    }

    proptest! {
        /// Numbers have at most eleven letters: more would cross the edge of a picture, at 77
        /// pixels.
        #[test]
        fn linear_ticks_are_few_short_distinct_and_inside(
            middle in -1e9f64..1e9, exponent in -25i32..12, spread in -13f64..3.0,
        ) {
            let middle = middle * 10f64.powi(exponent);
            let half = (middle.abs() * 10f64.powf(spread)).max(f64::MIN_POSITIVE);
            let scale = Axis::linear("x").scale([middle - half, middle, middle + half].into_iter());
            let ticks = ticks(&scale);
            prop_assert!((3..=12).contains(&ticks.len()), "{} ticks of {scale:?}", ticks.len());
            let numbers: Vec<String> = ticks.iter().filter_map(|tick| tick.number.clone()).collect();
            prop_assert!(numbers.iter().all(|number| number.chars().count() <= 11), "{numbers:?}");
            let distinct: std::collections::BTreeSet<&String> = numbers.iter().collect();
            prop_assert_eq!(distinct.len(), ticks.len(), "{:?}", numbers);
            let slack = 1e-9 * (scale.last - scale.first);
            let inside = |value: f64| value >= scale.first - slack && value <= scale.last + slack;
            prop_assert!(ticks.iter().all(|tick| inside(tick.value)), "{ticks:?} of {scale:?}");
            prop_assert!(inside(middle - half) && inside(middle + half));
        }

        /// All of a series that differs by rounding alone lies within a hundredth of a pixel of a
        /// panel 1000 pixels high.
        #[test]
        fn relative_noise_is_flat(value in prop_oneof![-1e12f64..-1e-12, 1e-12f64..1e12], noise in prop::collection::vec(-1e-12f64..1e-12, 1..30)) {
            let values: Vec<f64> = noise.iter().map(|noise| value * (1.0 + noise)).collect();
            for axis in [Axis::linear("x"), Axis::logarithmic("x")] {
                let scale = axis.scale(values.iter().copied());
                let shares: Vec<f64> = values.iter().filter_map(|value| scale.share(*value)).collect();
                let wide = |shares: &[f64]| shares.iter().fold(0f64, |wide, share| wide.max((share - shares[0]).abs()));
                prop_assert!(shares.is_empty() || wide(&shares) < 1e-5, "{shares:?}");
            }
        }
    }

    #[test]
    fn ratios_are_equal_on_a_logarithmic_scale() {
        let scale = Scale { first: 1.0, last: 100.0, growth: Growth::Logarithmic };
        assert!((scale.share(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(scale.share(0.0), None);
        assert_eq!(scale.place(1e30), Some(2.0));
    }
}
