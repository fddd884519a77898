//! A straight line through points whose errors grow with their values.

use crate::interval::{Estimate, Interval, Level, student_quantile};

/// The line y = intercept + slope x, with the errors of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The value of y at x = 0.
    pub intercept: f64,
    /// How much y grows with x.
    pub slope: f64,
    /// The largest distance of a point from the line, as a share of the point's y.
    pub worst: f64,
    /// Variance of the intercept, of the slope, and what they share.
    variance: (f64, f64, f64),
    /// Degrees of freedom of all three.
    degrees: f64,
}

impl Line {
    /// The line that makes the sum of squared relative errors least: weights 1/y². Times and the
    /// like are as uncertain as they are long; with equal weights the longest would decide alone.
    /// `None` below three points, where all x are the same, and where a y is not positive.
    ///
    /// Weighted least squares as in Draper and Smith, Applied Regression Analysis, 9.2; the errors
    /// come from what is left between points and line, so that a line which does not fit has wide
    /// ones.
    pub fn relative(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3
            || points.iter().any(|&(x, y)| !x.is_finite() || !y.is_finite() || y <= 0.0)
        {
            return None;
        }
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|&(x, y)| of(x, y) / (y * y)).sum::<f64>()
        };
        let weight = sum(&|_, _| 1.0);
        let (mean_x, mean_y) = (sum(&|x, _| x) / weight, sum(&|_, y| y) / weight);
        let spread = sum(&|x, _| (x - mean_x).powi(2));
        if spread <= 0.0 {
            return None;
        }
        let slope = sum(&|x, y| (x - mean_x) * (y - mean_y)) / spread;
        let intercept = mean_y - slope * mean_x;
        let degrees = (points.len() - 2) as f64;
        let residual = |x: f64, y: f64| y - intercept - slope * x;
        let variance = sum(&|x, y| residual(x, y).powi(2)) / degrees;
        let worst = points.iter().map(|&(x, y)| (residual(x, y) / y).abs()).fold(0.0, f64::max);
        Some(Self {
            intercept,
            slope,
            worst,
            variance: (
                variance * (1.0 / weight + mean_x * mean_x / spread),
                variance / spread,
                -mean_x * variance / spread,
            ),
            degrees,
        })
    }

    /// The y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// The intercept with its interval.
    pub fn intercept(&self, level: Level) -> Estimate {
        estimate(self.intercept, self.variance.0, self.degrees, level)
    }

    /// The slope with its interval.
    pub fn slope(&self, level: Level) -> Estimate {
        estimate(self.slope, self.variance.1, self.degrees, level)
    }

    /// The x that doubles the intercept: intercept over slope, its error carried on to first order.
    /// `None` where the slope is not positive.
    pub fn doubling(&self, level: Level) -> Option<Estimate> {
        let value = self.intercept / self.slope;
        let (intercept, slope, both) = self.variance;
        let variance =
            (intercept - 2.0 * value * both + value * value * slope) / (self.slope * self.slope);
        (self.slope > 0.0).then(|| estimate(value, variance, self.degrees, level))
    }

    /// How much more the intercept and the slope are than those of `base`, with intervals (Welch:
    /// the fewer degrees of freedom of the two, which is careful).
    pub fn more_than(&self, base: &Self, level: Level) -> (Estimate, Estimate) {
        let degrees = self.degrees.min(base.degrees);
        let intercept = estimate(
            self.intercept - base.intercept,
            self.variance.0 + base.variance.0,
            degrees,
            level,
        );
        let slope =
            estimate(self.slope - base.slope, self.variance.1 + base.variance.1, degrees, level);
        (intercept, slope)
    }
}

/// A value of that variance with its interval.
fn estimate(value: f64, variance: f64, degrees: f64, level: Level) -> Estimate {
    let interval = student_quantile(level, degrees)
        .map(|t| Interval::around(value, t * variance.max(0.0).sqrt()));
    Estimate { value, interval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::coverage;
    use rand_distr::{Distribution, Normal};

    fn points(noise: impl FnMut() -> f64) -> Vec<(f64, f64)> {
        let mut noise = noise;
        (0..20)
            .map(|power| f64::from(1 << power))
            .map(|x| (x, (0.7 + 0.002 * x) * (1.0 + noise())))
            .collect()
    }

    #[test]
    fn a_line_without_noise_is_found_again() {
        let line = Line::relative(&points(|| 0.0)).unwrap();
        assert!(
            (line.intercept - 0.7).abs() < 1e-9 && (line.slope - 0.002).abs() < 1e-12,
            "{line:?}"
        );
        assert!((line.at(100.0) - 0.9).abs() < 1e-9 && line.worst < 1e-9);
        assert!((line.doubling(Level::P95).unwrap().value - 350.0).abs() < 1e-6);
    }

    /// y = 1, 2, 4 at x = 0, 1, 2 have weights 1, 1/4, 1/16.
    #[test]
    fn three_points_by_hand() {
        // Σw = 21/16, Σwx = 6/16, Σwy = 28/16, Σwxx = 8/16, Σwxy = 16/16.
        let (w, x, y, xx, xy) = (21.0 / 16.0, 6.0 / 16.0, 28.0 / 16.0, 8.0 / 16.0, 1.0);
        let slope = (w * xy - x * y) / (w * xx - x * x);
        let line = Line::relative(&[(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]).unwrap();
        assert!(
            (line.slope - slope).abs() < 1e-12
                && (line.intercept - (y - slope * x) / w).abs() < 1e-12
        );
    }

    #[test]
    fn intervals_cover_as_they_say() {
        let noise = Normal::new(0.0, 0.03).unwrap();
        coverage("intercept", 0x11e1, |random| {
            let line = Line::relative(&points(|| noise.sample(random))).unwrap();
            line.intercept(Level::P95).interval.unwrap().contains(0.7)
        });
        coverage("doubling", 0x11e2, |random| {
            let line = Line::relative(&points(|| noise.sample(random))).unwrap();
            line.doubling(Level::P95).unwrap().interval.unwrap().contains(350.0)
        });
        coverage("difference of slopes", 0x11e3, |random| {
            let [a, b] =
                [(); 2].map(|()| Line::relative(&points(|| noise.sample(random))).unwrap());
            a.more_than(&b, Level::P95).1.interval.unwrap().contains(0.0)
        });
    }

    #[test]
    fn what_makes_no_line() {
        assert_eq!(Line::relative(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Line::relative(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::relative(&[(0.0, 1.0), (1.0, 0.0), (2.0, 3.0)]), None);
        let falling = Line::relative(&[(0.0, 3.0), (1.0, 2.0), (2.0, 1.0)]).unwrap();
        assert_eq!(falling.doubling(Level::P95), None);
    }
}
