//! The difference of two sides, and its certainty.

use btu_stats::{Estimate, Interval, Level, sample_variance, student_p, student_quantile};

use super::logs::Logs;
use super::row::ComparedRow;

/// Below this number of degrees of freedom a spread is useless: with one, the interval is nearly
/// thirteen times as wide as the deviation it comes from.
const FEWEST_DEGREES: f64 = 2.0;

/// Squared deviations from their group's mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Scatter {
    squares: f64,
    degrees: f64,
}

impl Scatter {
    fn of(values: &[f64]) -> Self {
        let degrees = values.len().saturating_sub(1) as f64;
        let squares = sample_variance(values).unwrap_or(0.0) * degrees;
        Self { squares, degrees }
    }

    fn and(self, other: Self) -> Self {
        Self { squares: self.squares + other.squares, degrees: self.degrees + other.degrees }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), Self::and)
    }

    /// Zero when nothing was repeated; check the degrees of freedom first.
    fn variance(self) -> f64 {
        if self.degrees > 0.0 { self.squares / self.degrees } else { 0.0 }
    }

    /// The error of a mean with this share of the variance.
    fn error(self, share: f64) -> Error {
        Error { variance: self.variance() * share, degrees: self.degrees }
    }
}

/// One side in logarithms, over certain rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SideMean {
    mean: f64,
    runs: f64,
    between_runs: Scatter,
}

impl SideMean {
    /// `None` unless every run has every row.
    pub(super) fn of<R: ComparedRow>(runs: &[Logs<R>], rows: &[R]) -> Option<Self> {
        let means: Vec<f64> = runs.iter().map(|run| run.mean(rows)).collect::<Option<_>>()?;
        Some(Self {
            mean: btu_stats::arithmetic_mean(&means)?,
            runs: means.len() as f64,
            between_runs: Scatter::of(&means),
        })
    }
}

/// The difference of `other` from `base`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Mean logarithm of the base.
    pub(super) base: f64,
    /// Mean logarithm of the other.
    pub(super) other: f64,
    /// The ratio of the other side over the base.
    pub(super) ratio: Estimate,
    pub(super) p: Option<f64>,
    pub(super) degrees: Option<f64>,
}

/// The error of a mean, or of a difference of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Error {
    pub(super) variance: f64,
    /// The degrees of freedom.
    pub(super) degrees: f64,
}

impl Error {
    /// Together with an independent error (Satterthwaite 1946); one of both varies.
    fn and(self, other: Self) -> Self {
        let variance = self.variance + other.variance;
        let curvature: f64 =
            [self, other].iter().map(|part| part.variance.powi(2) / part.degrees).sum();
        Self { variance, degrees: variance.powi(2) / curvature }
    }

    /// Half of the width of the interval.
    fn half_width(self, level: Level) -> f64 {
        // Rounding may give slightly less than 1, the lower limit of Student's t.
        student_quantile(level, self.degrees.max(1.0)).unwrap_or(f64::INFINITY)
            * self.variance.sqrt()
    }
}

/// The difference of `other` from `base`, with its interval where the runs show their spread.
pub(super) fn difference(base: &SideMean, other: &SideMean, level: Level) -> Option<Difference> {
    let error = error(base, other, level);
    let distance = other.mean - base.mean;
    let ends = error.map(|error| Interval::around(distance, error.half_width(level)).map(f64::exp));
    // An interval from zero to infinity is useless, and JSON cannot represent it.
    let interval = ends.filter(|ends| ends.low > 0.0 && ends.high.is_finite());
    let ratio = Estimate { value: distance.exp(), interval };
    let p = error
        .and_then(|error| student_p(students_t(distance, error.variance), error.degrees.max(1.0)));
    let degrees = error.map(|error| error.degrees);
    ratio.value.is_finite().then_some(Difference {
        base: base.mean,
        other: other.mean,
        ratio,
        p,
        degrees,
    })
}

/// Distance over error; a distance of 0 gives 0 for any error.
fn students_t(distance: f64, variance: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / variance.sqrt() }
}

/// The error of the difference. `None` where both sides together were not repeated often enough.
///
/// Two forms, of which the wider is taken: Student's, as if both sides scattered alike, and Welch's
/// (1947; degrees of freedom by Satterthwaite 1946), each in its own way. The first is too narrow
/// when the side with fewer repetitions scatters more; the second when it has very few and scatters
/// little by chance. A side that was not repeated borrows the other's spread.
fn error(base: &SideMean, other: &SideMean, level: Level) -> Option<Error> {
    let sides = [base, other];
    let pool = Scatter::sum(sides.iter().map(|side| side.between_runs));
    if pool.degrees < FEWEST_DEGREES {
        return None;
    }
    let alike = pool.error(sides.iter().map(|side| 1.0 / side.runs).sum());
    let apart = welch(sides).filter(|apart| apart.half_width(level) > alike.half_width(level));
    Some(apart.unwrap_or(alike))
}

/// `None` where a side was not repeated, or nothing varies.
fn welch(sides: [&SideMean; 2]) -> Option<Error> {
    let repeated = sides.iter().all(|side| side.between_runs.degrees > 0.0);
    let [base, other] = sides.map(|side| side.between_runs.error(1.0 / side.runs));
    (repeated && base.variance + other.variance > 0.0).then(|| base.and(other))
}
