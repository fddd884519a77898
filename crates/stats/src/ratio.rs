//! The ratio of two arithmetic means.

use crate::interval::{Estimate, Interval, Level, student_quantile};
use crate::spread::standard_error;

/// The ratio of arithmetic means `of` / `base` with Fieller's interval, as Kalibera & Jones give it
/// (ISMM 2013; arXiv 2007.10899): `(ab ± √(a²b² − (a²−g²)(b²−h²))) / (a²−g²)`, where a is the mean
/// of `base`, b that of `of`, and g and h are half their intervals, t s/√n.
///
/// The interval is absent when the base is not told apart from zero (g ≥ |a|) or has no
/// repetitions.
pub fn fieller(of: &[f64], base: &[f64], level: Level) -> Option<Estimate> {
    let (a, b) = (crate::arithmetic_mean(base)?, crate::arithmetic_mean(of)?);
    (a != 0.0).then(|| Estimate {
        value: b / a,
        interval: ends(a, b, half(base, level), half(of, level)),
    })
}

/// Half the interval of a mean.
fn half(values: &[f64], level: Level) -> Option<f64> {
    let (error, degrees) = standard_error(values)?;
    Some(student_quantile(level, degrees)? * error)
}

/// The two roots, when the denominator is clear of zero.
fn ends(a: f64, b: f64, half_a: Option<f64>, half_b: Option<f64>) -> Option<Interval> {
    let (half_a, half_b) = (half_a?, half_b?);
    let denominator = a * a - half_a * half_a;
    // a²b² − (a²−g²)(b²−h²), written without the cancellation.
    let radicand = a * a * half_b * half_b + half_a * half_a * (b * b - half_b * half_b);
    (denominator > 0.0 && radicand >= 0.0)
        .then(|| Interval::around(a * b / denominator, radicand.sqrt() / denominator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::coverage;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn draw(random: &mut Pcg64, mean: f64, deviation: f64, count: usize) -> Vec<f64> {
        Normal::new(mean, deviation).unwrap().sample_iter(random).take(count).collect()
    }

    #[test]
    fn the_printed_formula() {
        // a = 10 ± h, b = 20 ± h_b with three values each, t = 4.3027, s = 1: h = 2.4842 for both.
        let found = fieller(&[19.0, 20.0, 21.0], &[9.0, 10.0, 11.0], Level::P95).unwrap();
        let h2: f64 = 4.302_652_73_f64.powi(2) / 3.0;
        let root = (40_000.0 - (100.0 - h2) * (400.0 - h2)).sqrt();
        let interval = found.interval.unwrap();
        assert!((found.value - 2.0).abs() < 1e-12);
        assert!((interval.low - (200.0 - root) / (100.0 - h2)).abs() < 1e-6);
        assert!((interval.high - (200.0 + root) / (100.0 - h2)).abs() < 1e-6);
    }

    #[test]
    fn a_base_near_zero_has_no_interval() {
        assert_eq!(fieller(&[1.0, 2.0], &[-1.0, 1.5], Level::P95).unwrap().interval, None);
        assert_eq!(fieller(&[1.0], &[0.0], Level::P95), None);
        assert_eq!(fieller(&[2.0], &[1.0], Level::P95).unwrap().interval, None);
    }

    #[test]
    fn the_interval_covers_as_it_says() {
        // The formula adds the two half widths in quadrature without Satterthwaite's correction:
        // slightly careful for few values, exact for many.
        coverage("Fieller, 15 values each", 0x00b1, |random| {
            let (of, base) = (draw(random, 30.0, 3.0, 15), draw(random, 10.0, 1.0, 15));
            fieller(&of, &base, Level::P95).unwrap().interval.unwrap().contains(3.0)
        });
    }
}
