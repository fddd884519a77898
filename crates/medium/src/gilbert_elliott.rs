//! Loss in bursts: a chain of two states, of which the bad one loses more.
//!
//! Sources: Gilbert, Capacity of a Burst-Noise Channel (1960); Elliott, Estimates of Error Rates
//! for Codes on Burst-Noise Channels (1963); the letters are those of `loss gemodel` of
//! tc-netem(8), with its 1-h and 1-k given directly. The chain is moved once before each frame, and
//! begins in the good state, both as in netem. In the long run it is bad for a share p / (p + r) of
//! frames, 1/r of them in a row.

use btu_units::Probability;

use crate::random::Stream;

/// The chain and the loss in each state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GilbertElliott {
    /// From good to bad.
    pub(crate) p: Probability,
    /// From bad to good.
    pub(crate) r: Probability,
    /// Lost in the bad state.
    pub(crate) bad: Probability,
    /// Lost in the good state.
    pub(crate) good: Probability,
    pub(crate) is_bad: bool,
}

impl GilbertElliott {
    /// Moves the chain and returns whether the next frame is lost.
    pub(crate) fn loses(&mut self, stream: &mut Stream) -> bool {
        let leaves = if self.is_bad { self.r } else { self.p };
        self.is_bad ^= stream.share() < leaves.share();
        let lost = if self.is_bad { self.bad } else { self.good };
        stream.share() < lost.share()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: usize = 400_000;

    fn losses(p: f64, r: f64, bad: f64, good: f64) -> Vec<bool> {
        let [p, r, bad, good] = [p, r, bad, good].map(|share| Probability::new(share).unwrap());
        let mut chain = GilbertElliott { p, r, bad, good, is_bad: false };
        let mut stream = Stream::new(1995, "gilbert-elliott");
        (0..FRAMES).map(|_| chain.loses(&mut stream)).collect()
    }

    /// Two-sided 99.9 % bounds. The variance of the share is that of a chain with correlation 1-p-r
    /// between neighbours: s(1-s)/n times (2-p-r)/(p+r).
    #[test]
    fn the_stationary_share_is_lost() {
        for (p, r) in [(0.01, 0.25), (0.02, 0.5), (0.1, 0.1)] {
            let lost = losses(p, r, 1.0, 0.0).into_iter().filter(|&lost| lost).count() as f64
                / FRAMES as f64;
            let share = p / (p + r);
            let deviation =
                (share * (1.0 - share) / FRAMES as f64 * (2.0 - p - r) / (p + r)).sqrt();
            assert!(
                (lost - share).abs() < 3.29 * deviation,
                "p {p}, r {r}: {lost}, not {share} +- {deviation}"
            );
        }
    }

    /// Bursts are geometric with mean 1/r and variance (1-r)/r^2; 99.9 % bounds.
    #[test]
    fn bursts_are_as_long_as_asked() {
        for r in [0.5, 0.25, 0.05] {
            let lost = losses(0.01, r, 1.0, 0.0);
            let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            let mean = lost.iter().filter(|&&lost| lost).count() as f64 / bursts;
            let deviation = ((1.0 - r) / (r * r) / bursts).sqrt();
            assert!((mean - 1.0 / r).abs() < 3.29 * deviation, "r {r}: {mean} +- {deviation}");
        }
    }

    #[test]
    fn each_state_loses_its_share() {
        let share = 0.2 * 0.5 + 0.8 * 0.01;
        let lost = losses(0.1, 0.4, 0.5, 0.01).into_iter().filter(|&lost| lost).count() as f64
            / FRAMES as f64;
        // Neighbours are correlated by at most 1-p-r = 1/2: the variance is at most threefold.
        let deviation = (3.0 * share * (1.0 - share) / FRAMES as f64).sqrt();
        assert!((lost - share).abs() < 3.29 * deviation, "{lost}, not {share} +- {deviation}");
    }
}
