//! Steps of the far clock. Where it is set, all later packets seem to take so much longer there, and so
//! much less back; their round trips stay what they were.

/// Both clocks may run so much faster or slower than they should: crystals differ by up to 100 parts per
/// million.
const DRIFT: f64 = 2.0 * 100e-6;

/// A clock that changes more often is no clock by which delays can be compared: one that counts in
/// long ticks, say.
pub(crate) const MOST_STEPS: usize = 20;

/// Below it no difference of clocks is a step, in seconds.
const RESOLUTION: f64 = 1e-6;

/// A moment at which the far clock was set, or ran much faster or slower for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockStep {
    /// When the first packet after it was sent, since the first one of all.
    pub at_seconds: f64,
    /// By how much.
    pub seconds: f64,
}

/// A packet: when it was sent, and how long its ways took by both clocks, each less an unknown constant. In
/// seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways {
    pub(crate) at: f64,
    pub(crate) there: f64,
    pub(crate) back: f64,
}

impl Ways {
    pub(crate) fn round_trip(&self) -> f64 {
        self.there + self.back
    }

    fn offset(&self) -> f64 {
        (self.there - self.back) / 2.0
    }
}

/// The steps between these packets in the order of sending, each with the place of the first packet
/// after it; its size is the difference between the packets with the shortest round trips before and after.
pub(crate) fn steps(ways: &[Ways]) -> Vec<(usize, ClockStep)> {
    let starts = starts(ways);
    let ends = starts.iter().copied().chain([ways.len()]);
    let parts = [0].into_iter().chain(starts.iter().copied()).zip(ends);
    let offset = |(from, to): (usize, usize)| {
        let best = ways[from..to].iter().min_by(|a, b| a.round_trip().total_cmp(&b.round_trip()));
        best.map_or(0.0, Ways::offset)
    };
    let offsets: Vec<f64> = parts.map(offset).collect();
    let step = |(place, offsets): (usize, &[f64])| {
        let at_seconds = ways[place].at - ways[0].at;
        (place, ClockStep { at_seconds, seconds: offsets[1] - offsets[0] })
    };
    starts.iter().copied().zip(offsets.windows(2)).map(step).collect()
}

/// The first packets after a step.
///
/// Half the difference of both ways is the offset of the clocks, wrong by at most half of what the round
/// trip is longer than the shortest (as in the clock filter of NTP, RFC 5905, section 10): a queue delays
/// a packet on one way, and its round trip with it. So each packet bounds the offset. Where its bounds
/// exclude those of the packets before, drift included, the clock was set. A step within these bounds is
/// not seen, and one way that becomes shorter while the other becomes longer by the same looks like one.
fn starts(ways: &[Ways]) -> Vec<usize> {
    let mut sorted: Vec<f64> = ways.iter().map(Ways::round_trip).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(median)) = (sorted.first(), sorted.get(sorted.len() / 2)) else {
        return Vec::new();
    };
    // No packet may have had the shortest way there and the shortest way back.
    let more = median - least + RESOLUTION;
    let mut found = Vec::new();
    let mut known = [f64::NEG_INFINITY, f64::INFINITY];
    let mut before = 0.0;
    for (place, one) in ways.iter().enumerate() {
        let drift = DRIFT * (one.at - before).max(0.0);
        let error = (one.round_trip() - least) / 2.0 + more;
        let [low, high] = [one.offset() - error, one.offset() + error];
        known = [known[0] - drift, known[1] + drift];
        if low > known[1] || high < known[0] {
            found.push(place);
            known = [low, high];
        } else {
            known = [known[0].max(low), known[1].min(high)];
        }
        before = one.at;
    }
    found
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// 1500 packets in 15 s, with what each way takes beyond its shortest time, and the far clock's
    /// offset at each moment.
    fn packets(
        seed: u64,
        mut queues: impl FnMut(&mut Pcg64Mcg, f64) -> [f64; 2],
        offset: impl Fn(f64) -> f64,
    ) -> Vec<Ways> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut one = |number: u32| {
            let at = f64::from(number) * 0.01;
            let [there, back] = queues(&mut random, at);
            Ways { at, there: 0.010 + there + offset(at), back: 0.012 + back - offset(at) }
        };
        (0..1500).map(&mut one).collect()
    }

    /// Exponential, with a queue of 100 ms on the way there for three seconds.
    fn queues(random: &mut Pcg64Mcg, at: f64) -> [f64; 2] {
        let mut exponential = || -0.000_1 * (1.0 - random.random::<f64>()).ln();
        let queue = if (5.0..8.0).contains(&at) { 0.1 } else { 0.0 };
        [queue + exponential(), exponential()]
    }

    /// Of a radio: up to 8 ms, each way by itself.
    fn radio(random: &mut Pcg64Mcg, _: f64) -> [f64; 2] {
        [random.random::<f64>() * 0.008, random.random::<f64>() * 0.008]
    }

    #[test]
    fn no_queue_no_jitter_and_no_crystal_is_a_step() {
        for seed in 0..200 {
            let drift = |at: f64| at * 190e-6;
            assert_eq!(steps(&packets(seed, queues, drift)), [], "seed {seed}");
            assert_eq!(steps(&packets(seed, radio, drift)), [], "seed {seed}");
            // A few packets only.
            assert_eq!(steps(&packets(seed, radio, drift)[..20]), [], "seed {seed}");
        }
        assert_eq!(steps(&[]), []);
    }

    #[test]
    fn steps_are_found_where_they_are() {
        for (seed, step) in (0..).zip([0.5, -30.0, 0.05, -0.02, 1e5]) {
            let set = move |at: f64| if at < 4.0 { 0.0 } else { step };
            let found = steps(&packets(seed, queues, set));
            let &[(place, one)] = &found[..] else { panic!("{step}: {found:?}") };
            assert_eq!(place, 400, "{step}");
            assert!((one.at_seconds - 4.0).abs() < 1e-9 && (one.seconds / step - 1.0).abs() < 0.05);
        }
        let twice = |at: f64| if (4.0..9.0).contains(&at) { 0.5 } else { 0.0 };
        let found: Vec<usize> =
            steps(&packets(1, radio, twice)).into_iter().map(|(place, _)| place).collect();
        assert_eq!(found, [400, 900]);
    }

    /// A clock that is slewed by 20 ms in two seconds leaves no delay variation of 20 ms unsaid: its
    /// steps add up to it but for what a part may hide.
    #[test]
    fn a_slew_is_found_in_pieces() {
        let slewed = |at: f64| ((at - 4.0) / 2.0).clamp(0.0, 1.0) * 0.02;
        let found = steps(&packets(3, queues, slewed));
        let sum: f64 = found.iter().map(|(_, step)| step.seconds).sum();
        assert!(!found.is_empty() && (sum - 0.02).abs() < 0.004, "{found:?}");
    }
}
