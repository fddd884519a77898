//! Shares of a count, such as lost of sent datagrams.

use serde::{Deserialize, Serialize};

use crate::interval::{Interval, Level, normal_quantile};

/// A number of events in a number of trials, as a share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// The number of events.
    pub events: u64,
    /// The number of trials.
    pub trials: u64,
    /// Events over trials: 0 to 1.
    pub share: f64,
    /// Wilson's interval of the share.
    pub interval: Interval,
}

/// Wilson's score interval (1927): unlike the textbook one it works near 0 and 1 and for few
/// trials. It takes trials to be independent; losses that come in bursts spread wider. `None`
/// without trials or with more events than trials.
pub fn wilson(events: u64, trials: u64, level: Level) -> Option<Proportion> {
    if trials == 0 || events > trials {
        return None;
    }
    let (count, z2) = (trials as f64, normal_quantile(level).powi(2));
    let share = events as f64 / count;
    let centre = (share + z2 / (2.0 * count)) / (1.0 + z2 / count);
    let half = (z2 * (share * (1.0 - share) / count + z2 / (4.0 * count * count))).sqrt()
        / (1.0 + z2 / count);
    let wide = Interval::around(centre, half);
    // At the borders the ends are 0 and 1 exactly; rounding must not make them miss the share
    // itself.
    let interval = Interval { low: wide.low.clamp(0.0, share), high: wide.high.clamp(share, 1.0) };
    Some(Proportion { events, trials, share, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::coverage;
    use proptest::prelude::*;
    use rand_distr::{Binomial, Distribution};

    #[test]
    fn known_values() {
        // 10 of 100: 0.0552 to 0.1744 (Newcombe, Statistics in Medicine 1998, method 3,
        // recomputed).
        let found = wilson(10, 100, Level::P95).unwrap();
        assert!(
            (found.interval.low - 0.0552).abs() < 1e-4
                && (found.interval.high - 0.1744).abs() < 1e-4
        );
        let never = wilson(0, 20, Level::P95).unwrap();
        assert!(never.interval.low.abs() < 1e-12 && (never.interval.high - 0.1611).abs() < 1e-4);
    }

    #[test]
    fn nonsense_has_no_share() {
        assert_eq!(wilson(0, 0, Level::P95), None);
        assert_eq!(wilson(3, 2, Level::P95), None);
    }

    #[test]
    fn the_interval_covers_as_it_says() {
        for (share, trials, seed) in
            [(0.01, 5000, 0x00c1), (0.05, 2000, 0x00c2), (0.20, 500, 0x00c3)]
        {
            let losses = Binomial::new(trials, share).unwrap();
            coverage(&format!("Wilson, {share} of {trials}"), seed, |random| {
                wilson(losses.sample(random), trials, Level::P95).unwrap().interval.contains(share)
            });
        }
    }

    proptest! {
        #[test]
        fn the_share_lies_inside(trials in 1u64..1_000_000, part in 0.0f64..=1.0) {
            let events = (trials as f64 * part) as u64;
            let found = wilson(events, trials, Level::P95).unwrap();
            prop_assert!(found.interval.contains(found.share), "{found:?}");
            prop_assert!(found.interval.low >= 0.0 && found.interval.high <= 1.0);
        }
    }
}
