//! Confidence levels, intervals and the quantiles they are made of.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// A confidence level strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// 95 %: what every interval of a result has unless it says otherwise.
    pub const P95: Self = Self(0.95);
    /// 99 %: netperf's default.
    pub const P99: Self = Self(0.99);

    /// `share` as a level; `None` unless it lies strictly between 0 and 1.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// The level as a share of 1.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// The probability below the upper end of a two-sided interval: 0.975 for 95 %.
    fn upper_tail(self) -> f64 {
        f64::midpoint(1.0, self.0)
    }
}

impl TryFrom<f64> for Level {
    type Error = String;
    fn try_from(share: f64) -> Result<Self, String> {
        Self::new(share).ok_or_else(|| {
            format!("{share} is not a confidence level: give a share between 0 and 1")
        })
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> Self {
        level.0
    }
}

/// From `low` to `high`, both in the unit of the value they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end of the interval, in the unit of the value.
    pub low: f64,
    /// The upper end of the interval, in the unit of the value.
    pub high: f64,
}

impl Interval {
    /// `centre` plus and minus `half`.
    pub const fn around(centre: f64, half: f64) -> Self {
        Self { low: centre - half, high: centre + half }
    }

    /// The width of the interval, `high` minus `low`, in the unit of the value.
    pub const fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Each end through `change`, which must be increasing.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { low: change(self.low), high: change(self.high) }
    }
}

/// A value with its confidence interval, where there are enough repetitions to have one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best single number.
    pub value: f64,
    /// Its confidence interval; absent when the spread is unknown.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Half the interval's width over the value: 0.05 reads "plus or minus 5 %". `None` without an
    /// interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval.map(|interval| interval.width() / 2.0 / self.value.abs())
    }

    /// Value and interval times a positive `factor`: a change of unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            interval: self.interval.map(|interval| interval.map(|end| end * factor)),
        }
    }
}

/// Above this many degrees of freedom Student's t differs from the normal distribution by less than
/// 1e-5 at 95 %.
const AS_GOOD_AS_NORMAL: f64 = 1e5;

/// The two-sided quantile of Student's t: t with `level` of the mass between -t and t. `None` below
/// one degree of freedom; degrees of freedom may be fractional (Welch-Satterthwaite).
pub fn student_quantile(level: Level, degrees: f64) -> Option<f64> {
    if degrees.is_nan() || degrees < 1.0 {
        return None;
    }
    if degrees > AS_GOOD_AS_NORMAL {
        return Some(normal_quantile(level));
    }
    StudentsT::new(0.0, 1.0, degrees).ok().map(|student| student.inverse_cdf(level.upper_tail()))
}

/// The two-sided p value of Student's t: the chance that chance alone takes it at least as far from
/// zero as `t`. `None` below one degree of freedom.
pub fn student_p(t: f64, degrees: f64) -> Option<f64> {
    if t.is_nan() || degrees.is_nan() || degrees < 1.0 {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    StudentsT::new(0.0, 1.0, degrees.min(AS_GOOD_AS_NORMAL))
        .ok()
        .map(|student| 2.0 * student.sf(t.abs()))
}

/// The two-sided quantile of the normal distribution: 1.96 for 95 %.
pub fn normal_quantile(level: Level) -> f64 {
    Normal::standard().inverse_cdf(level.upper_tail())
}

/// The share of a standard normal distribution below `z`: Phi(z).
pub fn normal_probability(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The density of a standard normal distribution at `z`: phi(z).
pub fn normal_density(z: f64) -> f64 {
    Normal::standard().pdf(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 26.1: Phi(2) = 0.977 249 868, phi(1) = 0.241 970 725.
    #[test]
    fn the_normal_distribution_is_that_of_the_printed_tables() {
        assert!((normal_probability(2.0) - 0.977_249_868).abs() < 1e-9);
        assert!((normal_density(1.0) - 0.241_970_725).abs() < 1e-9);
        assert!((normal_probability(normal_quantile(Level::P95)) - 0.975).abs() < 1e-9);
    }

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        let table = [
            (Level::P99, 2.0, 9.925),
            (Level::P99, 9.0, 3.250),
            (Level::P95, 1.0, 12.706),
            (Level::P95, 2.0, 4.303),
            (Level::P95, 9.0, 2.262),
            (Level::P95, 120.0, 1.980),
            (Level::P95, 90_000.0, 1.960),
            (Level::P95, 1e9, 1.960),
        ];
        for (level, degrees, expected) in table {
            let found = student_quantile(level, degrees).unwrap();
            assert!(
                (found - expected).abs() < 5e-4,
                "t({level:?}, {degrees}) = {found}, not {expected}"
            );
        }
    }

    #[test]
    fn fractional_degrees_lie_between_whole_ones() {
        let [two, between, three] =
            [2.0, 2.5, 3.0].map(|degrees| student_quantile(Level::P95, degrees).unwrap());
        assert!(two > between && between > three);
        assert_eq!(student_quantile(Level::P95, 0.5), None);
        assert_eq!(student_quantile(Level::P95, f64::NAN), None);
    }

    #[test]
    fn p_values_belong_to_the_quantiles() {
        for degrees in [1.0, 2.5, 4.0, 30.0, 1e9] {
            for level in [Level::P95, Level::P99] {
                let p = student_p(-student_quantile(level, degrees).unwrap(), degrees).unwrap();
                assert!((p - (1.0 - level.share())).abs() < 1e-4, "{degrees} {level:?}: {p}");
            }
        }
        assert_eq!(student_p(0.0, 3.0), Some(1.0));
        assert_eq!(student_p(f64::INFINITY, 3.0), Some(0.0));
        assert_eq!((student_p(f64::NAN, 3.0), student_p(1.0, 0.0)), (None, None));
    }

    #[test]
    fn a_level_is_a_share() {
        assert_eq!(Level::new(1.0), None);
        assert_eq!(Level::new(95.0), None);
        assert_eq!(Level::new(f64::NAN), None);
        assert_eq!(Level::new(0.95), Some(Level::P95));
    }

    #[test]
    fn half_a_width_is_relative_to_the_value() {
        let estimate = Estimate { value: 10.0, interval: Some(Interval::around(10.0, 0.5)) };
        assert!((estimate.relative_half_width().unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(estimate.scaled(2.0).interval, Some(Interval { low: 19.0, high: 21.0 }));
    }
}
