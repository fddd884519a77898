//! Shares of a count, such as lost of sent datagrams.

use serde::{Deserialize, Serialize};

use crate::interval::{Interval, Level, normal_quantile, student_quantile};
use crate::spread::sample_variance;

/// A number of events in a number of trials, as a share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// The number of events.
    pub events: u64,
    /// The number of trials.
    pub trials: u64,
    /// Events over trials: 0 to 1.
    pub share: f64,
    /// The interval of the share.
    pub interval: Interval,
}

/// Wilson's score interval (1927): unlike the textbook one it works near 0 and 1 and for few
/// trials. It takes trials to be independent; where events come in bursts [`wilson_by_batches`] is
/// the one that holds. `None` without trials or with more events than trials.
pub fn wilson(events: u64, trials: u64, level: Level) -> Option<Proportion> {
    if trials == 0 || events > trials {
        return None;
    }
    let share = events as f64 / trials as f64;
    let interval = score(share, trials as f64, normal_quantile(level));
    Some(Proportion { events, trials, share, interval })
}

/// The score interval of a share of so many independent trials.
fn score(share: f64, trials: f64, quantile: f64) -> Interval {
    let z2 = quantile.powi(2);
    let centre = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let half = (z2 * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials))).sqrt()
        / (1.0 + z2 / trials);
    let wide = Interval::around(centre, half);
    // At the borders the ends are 0 and 1 exactly; rounding must not make them miss the share
    // itself.
    Interval { low: wide.low.clamp(0.0, share), high: wide.high.clamp(share, 1.0) }
}

/// Parts of a sequence of trials, in which events are counted: many enough for a spread, and long
/// enough to hold a burst whole.
const BATCHES: u64 = 20;

/// How many events lie in each of the equal parts of so many trials, by the places of these events.
pub fn batches(places: impl Iterator<Item = u64>, trials: u64) -> Vec<u64> {
    let number = BATCHES.min(trials);
    let mut batches = vec![0; number as usize];
    for place in places.filter(|place| *place < trials) {
        batches[(u128::from(place) * u128::from(number) / u128::from(trials)) as usize] += 1;
    }
    batches
}

/// The score interval where events may come in bursts, by batch means (Law and Kelton, Simulation
/// Modeling and Analysis, section 9.5): as many trials say as much as independent ones whose counts
/// would spread as those of the batches do. Of few batches with events the spread itself is
/// uncertain, so the quantile is Student's. It holds for bursts that are shorter than a batch, and
/// of which there are some five or more. Where there is no event, or nothing else, nothing
/// tells how they come: the interval is Wilson's then.
pub fn wilson_by_batches(
    events: u64,
    trials: u64,
    batches: &[u64],
    level: Level,
) -> Option<Proportion> {
    let plain = wilson(events, trials, level)?;
    let counts: Vec<f64> = batches.iter().map(|count| *count as f64).collect();
    let tells = events > 0 && events < trials;
    let Some(variance) = sample_variance(&counts).filter(|_| tells) else {
        return Some(plain);
    };
    let (share, trials) = (plain.share, trials as f64);
    let independent = trials / counts.len() as f64 * share * (1.0 - share);
    let dispersion = (variance / independent).max(1.0);
    let hit = batches.iter().filter(|count| **count > 0).count();
    // Fewer than two degrees make no interval that says anything.
    let quantile = student_quantile(level, hit.saturating_sub(1).max(2) as f64)?;
    Some(Proportion { interval: score(share, trials / dispersion, quantile), ..plain })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::{coverage, covered};
    use proptest::prelude::*;
    use rand::{Rng, RngExt};
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

    /// Losses of so many packets by Gilbert's model: in a bad state, which begins with probability
    /// `begins` and ends with `ends`, the share `bad` is lost. The share that is lost in the long run,
    /// and the places of the losses.
    fn gilbert(
        random: &mut impl Rng,
        packets: u64,
        [begins, ends, bad]: [f64; 3],
    ) -> (f64, Vec<u64>) {
        let mut chance = |share: f64| random.random::<f64>() < share;
        let mut is_bad = chance(begins / (begins + ends));
        let lost = (0..packets).filter(|_| {
            let is_lost = is_bad && chance(bad);
            is_bad = if is_bad { !chance(ends) } else { chance(begins) };
            is_lost
        });
        (bad * begins / (begins + ends), lost.collect())
    }

    /// Independent losses, bursts of 2, 4 and 10, and bursts of which a part comes through; of the
    /// packets of a quick run, of a long one, and of the requests of a phase.
    #[test]
    fn the_interval_covers_losses_in_bursts() {
        for (packets, model, seed) in [
            (2000, [0.02, 0.98, 1.0], 0x00d1),
            (2000, [0.01, 0.5, 1.0], 0x00d2),
            (2000, [0.01, 0.25, 1.0], 0x00d3),
            (2000, [0.005, 0.1, 1.0], 0x00d4),
            (10_000, [0.002, 0.1, 1.0], 0x00d5),
            (2000, [0.005, 0.3, 0.6], 0x00d6),
            (2000, [0.005, 0.1, 0.5], 0x00d7),
            (150, [0.02, 0.98, 1.0], 0x00d8),
            (200, [0.02, 0.25, 1.0], 0x00d9),
        ] {
            let what = format!("batches, {model:?} of {packets}");
            let share = covered(&what, seed, |random| {
                let (share, lost) = gilbert(random, packets, model);
                let (events, by_batch) = (lost.len() as u64, batches(lost.into_iter(), packets));
                let found = wilson_by_batches(events, packets, &by_batch, Level::P95);
                found.unwrap().interval.contains(share)
            });
            assert!(share >= 0.94, "{what}: covered {share}, seed {seed:#x}");
        }
    }

    #[test]
    fn events_lie_in_the_batch_of_their_place() {
        let found = batches([0, 99, 100, 1999, 2000].into_iter(), 2000);
        assert_eq!((found.len(), found[0], found[1], found[19]), (20, 2, 1, 1));
        assert_eq!(batches([0, 2].into_iter(), 3), [1, 0, 1]);
        assert!(batches(std::iter::empty(), 0).is_empty());
    }

    /// One loss of fifty may be one in a thousand or one in four; no loss has Wilson's interval; all lost
    /// is no nonsense.
    #[test]
    fn few_events_say_little() {
        let one = wilson_by_batches(1, 50, &batches([7].into_iter(), 50), Level::P95).unwrap();
        assert!(one.interval.low < 0.002 && one.interval.high > 0.2, "{one:?}");
        let none = batches(std::iter::empty(), 50);
        assert_eq!(wilson_by_batches(0, 50, &none, Level::P95), wilson(0, 50, Level::P95));
        let all = wilson_by_batches(50, 50, &batches(0..50, 50), Level::P95).unwrap();
        assert!(all.interval.high > 0.999 && all.interval.low > 0.8, "{all:?}");
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
