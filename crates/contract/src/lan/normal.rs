//! NORM.BAS: a normally distributed pause between transactions, never a negative one.

use btu_medium::Stream;
use btu_stats::{normal_density, normal_probability};
use btu_units::Span;

/// Pauses of NORM.BAS: max(0, M + SD Z), with Z standard normal by the polar method (Figure 2 of
/// the paper, lines 310 to 400). The program does not reject a pair at the very origin, where its
/// logarithm has no value; this one does.
#[derive(Debug, Clone)]
pub struct NormalPauses {
    mean: Span,
    deviation: Span,
    random: Stream,
    /// The second number of the last pair: the program's `Z2`, valid while `TOGGLE` is 1.
    spare: Option<f64>,
}

impl NormalPauses {
    /// Pauses with this mean and deviation before they are cut at zero, from a random stream of
    /// their own.
    pub const fn new(mean: Span, deviation: Span, random: Stream) -> Self {
        Self { mean, deviation, random, spare: None }
    }

    /// Draws the next pause; a negative number becomes a pause of zero.
    pub fn draw(&mut self) -> Span {
        let z = self.standard_normal();
        // Negative numbers become a span of zero.
        Span::from_seconds_f64((self.mean.seconds() + self.deviation.seconds() * z).max(0.0))
    }

    fn standard_normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let [first, second] = [(); 2].map(|()| 2.0 * self.random.share() - 1.0);
            if let Some((now, later)) = polar(first, second) {
                self.spare = Some(later);
                return now;
            }
        }
    }
}

/// Two standard normal numbers from a point drawn evenly from the square between -1 and 1; `None`
/// where the point is outside the unit circle or at its centre, and another must be drawn. On the
/// average 4/pi = 1.2732 points are needed.
///
/// Source: Marsaglia's polar method, as in NORM.BAS.
pub fn polar(first: f64, second: f64) -> Option<(f64, f64)> {
    let square = first * first + second * second;
    if square >= 1.0 || square <= 0.0 {
        return None;
    }
    let factor = (-2.0 * square.ln() / square).sqrt();
    Some((factor * first, factor * second))
}

/// The mean of max(0, normal), M Phi(M/SD) + SD phi(M/SD), in seconds: the mean wait of NORM.BAS
/// for a requested `mean`.
pub fn mean_pause_seconds(mean: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return mean.max(0.0);
    }
    let ratio = mean / deviation;
    mean * normal_probability(ratio) + deviation * normal_density(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_stats::Welford;

    /// By hand: for (0.5, 0) the factor is sqrt(-2 ln 0.25 / 0.25) = 3.330218.
    #[test]
    fn the_polar_method() {
        let (first, second) = polar(0.5, 0.0).unwrap();
        assert!((first - 1.665_109).abs() < 1e-6 && second.abs() < 1e-12, "{first} {second}");
        let (first, second) = polar(-0.3, 0.4).unwrap();
        assert!((first / second + 0.75).abs() < 1e-12);
        assert!(((first * first + second * second) - -2.0 * 0.25f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn points_outside_the_circle_and_at_its_centre_are_rejected() {
        assert_eq!(polar(0.0, 0.0), None);
        assert_eq!(polar(1.0, 0.0), None);
        assert_eq!(polar(0.8, 0.8), None);
    }

    /// 1 / (4/pi) of the points are taken: of 100,000 points 78,540, within 5 standard deviations
    /// (650).
    #[test]
    fn the_share_of_points_taken() {
        let mut random = Stream::new(11, "points");
        let taken = (0..100_000)
            .filter(|_| polar(2.0 * random.share() - 1.0, 2.0 * random.share() - 1.0).is_some());
        let taken = taken.count() as f64;
        assert!((taken - 78_539.8).abs() < 650.0, "{taken}");
    }

    #[test]
    fn means_of_cut_pauses() {
        let vectors = [
            (1.0, 0.25, 1.000_002),
            (1.0, 0.5, 1.004_245),
            (1.0, 1.0, 1.083_315),
            (2.0, 3.0, 2.453_359),
            (2.0, 0.0, 2.0),
            (-2.0, 0.0, 0.0),
        ];
        for (mean, deviation, expected) in vectors {
            let found = mean_pause_seconds(mean, deviation);
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
    }

    /// Drawn pauses have the mean of the closed form. A cut pause has a deviation below SD, so the
    /// mean of 40,000 has one below SD / 200; five of them are SD / 40.
    #[test]
    fn drawn_pauses_have_the_mean_of_the_closed_form() {
        for (mean, deviation) in [(1_000u64, 500u64), (1_000, 1_000), (2_000, 3_000)] {
            let [mean, deviation] = [mean, deviation].map(Span::from_milliseconds);
            let mut pauses = NormalPauses::new(mean, deviation, Stream::new(5, "pauses"));
            let mut drawn = Welford::default();
            (0..40_000).for_each(|_| drawn.push(pauses.draw().seconds()));
            let (found, expected) =
                (drawn.mean().unwrap(), mean_pause_seconds(mean.seconds(), deviation.seconds()));
            assert!(
                (found - expected).abs() < deviation.seconds() / 40.0,
                "{found}, not {expected}"
            );
            assert_eq!(drawn.extremes().map(|(least, _)| least), Some(0.0));
        }
    }

    #[test]
    fn one_seed_gives_the_same_pauses() {
        let draw = |seed| {
            let mut pauses = NormalPauses::new(
                Span::from_seconds(1),
                Span::from_milliseconds(250),
                Stream::new(seed, "station-1"),
            );
            (0..8).map(|_| pauses.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
