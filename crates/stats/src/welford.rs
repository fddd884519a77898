//! Mean and variance of a stream, in one pass, and of parts put together.

/// Running mean and sum of squared deviations.
///
/// Source: Welford (1962), "Note on a method for calculating corrected sums of squares and
/// products"; merging by Chan, Golub and `LeVeque` (1983). Nothing cancels, unlike in the textbook
/// formula.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Welford {
    count: u64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Welford {
    /// Takes one more value.
    pub fn push(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.most) = (value, value);
        }
        self.count += 1;
        let step = value - self.mean;
        self.mean += step / self.count as f64;
        self.squares += step * (value - self.mean);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds the values of another accumulator.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let step = other.mean - self.mean;
        self.count += other.count;
        self.mean += step * theirs / (mine + theirs);
        self.squares += other.squares + step * step * mine * theirs / (mine + theirs);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// The number of values that were added so far.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Their unbiased sample variance; `None` below two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The root of [`Self::variance`].
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// The smallest and the largest; `None` without values.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        (self.count > 0).then_some((self.least, self.most))
    }
}

impl Extend<f64> for Welford {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl FromIterator<f64> for Welford {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut all = Self::default();
        all.extend(values);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Press (1988), CONST.BAS on 1, 2, 4, 8: mean 3.75, variance 9.583333.
    #[test]
    fn one_two_four_eight() {
        let all: Welford = [1.0, 2.0, 4.0, 8.0].into_iter().collect();
        assert_eq!((all.count(), all.mean(), all.extremes()), (4, Some(3.75), Some((1.0, 8.0))));
        assert!((all.variance().unwrap() - 9.583_333_333).abs() < 1e-8);
        assert_eq!(Welford::default().mean(), None);
        assert_eq!([5.0].into_iter().collect::<Welford>().variance(), None);
    }

    proptest! {
        #[test]
        fn parts_merged_are_the_whole(values in prop::collection::vec(-1e6f64..1e6, 0..60), cut in 0usize..60) {
            let cut = cut.min(values.len());
            let whole: Welford = values.iter().copied().collect();
            let mut parts: Welford = values[..cut].iter().copied().collect();
            parts.merge(&values[cut..].iter().copied().collect());
            prop_assert_eq!(parts.count(), whole.count());
            prop_assert_eq!(parts.extremes(), whole.extremes());
            if let (Some(a), Some(b)) = (parts.variance(), whole.variance()) {
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b));
            }
        }

        #[test]
        fn it_agrees_with_the_two_pass_form(values in prop::collection::vec(0.0f64..10.0, 2..60)) {
            let stream: Welford = values.iter().map(|value| value + 1e6).collect();
            let twice = crate::sample_variance(&values).unwrap();
            prop_assert!((stream.variance().unwrap() - twice).abs() < 1e-6 * (1.0 + twice));
        }
    }
}
