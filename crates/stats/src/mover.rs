//! Differences and ratios of two estimates that are known with intervals only.

use crate::interval::{Estimate, Interval};

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
    use crate::{Level, quantile};

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
