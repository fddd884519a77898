//! Computes the places of values along an axis.

use crate::axis::Growth;

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
    use super::*;

    #[test]
    fn ratios_are_equal_on_a_logarithmic_scale() {
        let scale = Scale { first: 1.0, last: 100.0, growth: Growth::Logarithmic };
        assert!((scale.share(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(scale.share(0.0), None);
        assert_eq!(scale.place(1e30), Some(2.0));
    }
}
