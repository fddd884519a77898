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

/// `a` - `b` for independent estimates, the interval by recovering each one's variance from the
/// ends of its own: MOVER (Zou and Donner, Statistics in Medicine 27, 2008). It holds for medians
/// and other estimates with asymmetric intervals. Absent if one of the two has none.
pub fn difference(a: &Estimate, b: &Estimate) -> Estimate {
    let value = a.value - b.value;
    let interval = a.interval.zip(b.interval).map(|(of_a, of_b)| Interval {
        low: value - (a.value - of_a.low).hypot(of_b.high - b.value),
        high: value + (of_a.high - a.value).hypot(b.value - of_b.low),
    });
    Estimate { value, interval }
}

/// `a` / `b` for independent positive estimates: [`difference`] of their logarithms. `None` where
/// one is not positive.
pub fn ratio(a: &Estimate, b: &Estimate) -> Option<Estimate> {
    let (a, b) = (logarithm(a)?, logarithm(b)?);
    let difference = difference(&a, &b);
    Some(Estimate {
        value: difference.value.exp(),
        interval: difference.interval.map(|ends| ends.map(f64::exp)),
    })
}

fn logarithm(of: &Estimate) -> Option<Estimate> {
    let interval = of.interval.filter(|ends| ends.low > 0.0).map(|ends| ends.map(f64::ln));
    (of.value > 0.0).then(|| Estimate { value: of.value.ln(), interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::{covered, log_normal};
    use crate::quantile;

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

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some(Interval { low, high }) }
    }

    #[test]
    fn half_widths_add_as_squares() {
        let found = difference(&estimate(10.0, 7.0, 14.0), &estimate(4.0, 1.0, 8.0));
        assert_eq!(found, estimate(6.0, 1.0, 11.0));
        assert_eq!(
            difference(&estimate(1.0, 0.5, 1.5), &Estimate { value: 3.0, interval: None }).interval,
            None
        );
    }

    #[test]
    fn a_ratio_of_nothing_is_none() {
        assert_eq!(ratio(&estimate(1.0, 0.5, 2.0), &estimate(0.0, -1.0, 1.0)), None);
        let found = ratio(&estimate(2.0, 1.0, 4.0), &estimate(1.0, 1.0, 1.0)).unwrap();
        let interval = found.interval.unwrap();
        assert!(
            (found.value - 2.0).abs() < 1e-12
                && (interval.low - 1.0).abs() < 1e-12
                && (interval.high - 4.0).abs() < 1e-12
        );
    }

    #[test]
    fn the_interval_covers_the_ratio_of_medians() {
        // 31 values: the interval of a median by ranks covers 97 % there, so the ratio's is careful
        // too.
        let share = covered("ratio of medians", 0x30e4, |random| {
            let [a, b] = [30.0, 10.0].map(|centre| {
                quantile(&log_normal(random, centre, 0.2, 31), 0.5, Level::P95).unwrap()
            });
            ratio(&a, &b).unwrap().interval.unwrap().contains(3.0)
        });
        assert!((0.94..0.995).contains(&share), "{share}");
    }
}
