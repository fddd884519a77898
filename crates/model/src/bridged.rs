//! Segments joined by store-and-forward bridges.
//!
//! Sources: Jackson, "Networks of waiting lines", Operations Research 5 (1957), for the traffic
//! equations; Kleinrock's independence assumption (1964) for adding the delays up: each segment and
//! bridge is treated by itself, as if frames arrived there as an independent Poisson stream.

use btu_units::{BitRate, Bytes, Span};

use crate::answer::{Answer, sensible};

/// One segment on a frame's path, and the wait before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// The line rate of the segment.
    pub rate: BitRate,
    /// The propagation delay on the segment.
    pub propagation: Span,
    /// Mean wait before it, in seconds: for a turn on the segment, or in the bridge.
    pub waiting: Answer,
}

/// Mean seconds of a frame of `frame` octets over these segments, with a bridge between each two
/// that takes `lookup` from the last bit on. Octets count from destination address to check
/// sequence. One saturated hop saturates the path.
pub fn store_and_forward(frame: Bytes, hops: &[Hop], lookup: Span) -> Answer {
    let bridges = hops.len().saturating_sub(1);
    let lookups = Answer::of(lookup.seconds() * bridges as f64);
    hops.iter()
        .fold(lookups, |total, hop| add(total, hop.waiting.map(|wait| wait + hop.time(frame))))
}

impl Hop {
    fn time(&self, frame: Bytes) -> f64 {
        frame.bits() / self.rate.bits_per_second() as f64 + self.propagation.seconds()
    }
}

/// Both, with the more severe warning of the two.
fn add(total: Answer, more: Answer) -> Answer {
    match (total.value, more.value) {
        (None, _) => total,
        (_, None) => more,
        (Some(total_value), Some(value)) => {
            let warning = total.warning.or(more.warning);
            Answer { warning, ..Answer::of(total_value + value) }
        }
    }
}

/// Frames per second on each segment, where `own[i]` come from outside onto segment i, and of those
/// on segment j a share `onward[j][i]` goes on to segment i: the traffic equations. `None` if
/// frames could circulate for ever, or for impossible shares.
pub fn traffic(own: &[f64], onward: &[Vec<f64>]) -> Option<Vec<f64>> {
    // Traffic that circulates with a share below one has become negligible after this number of
    // rounds.
    const ROUNDS: usize = 100_000;
    const SETTLED: f64 = 1e-12;
    let fits = onward.len() == own.len()
        && onward.iter().all(|row| row.len() == own.len() && sensible(row));
    if !fits || !sensible(own) {
        return None;
    }
    let (mut rates, mut moving) = (own.to_vec(), own.to_vec());
    for _ in 0..ROUNDS {
        moving = (0..own.len())
            .map(|to| moving.iter().zip(onward).map(|(rate, row)| rate * row[to]).sum())
            .collect();
        rates.iter_mut().zip(&moving).for_each(|(rate, more)| *rate += more);
        let (left, total): (f64, f64) = (moving.iter().sum(), rates.iter().sum());
        if !total.is_finite() {
            return None;
        }
        if left <= total * SETTLED {
            return Some(rates);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Warning;
    use crate::answer::testing::is;

    fn hop(waiting: Answer) -> Hop {
        Hop { rate: BitRate::from_megabits_per_second(10), propagation: Span::ZERO, waiting }
    }

    #[test]
    fn a_full_frame_over_two_empty_segments() {
        let hops = [hop(Answer::of(0.0)); 2];
        is(
            store_and_forward(Bytes::new(1518), &hops, Span::ZERO).map(|time| time * 1e6),
            2428.8,
            1e-6,
        );
        let lookup = Span::from_microseconds(20);
        is(store_and_forward(Bytes::new(1518), &hops, lookup).map(|time| time * 1e6), 2448.8, 1e-6);
    }

    #[test]
    fn warning_is_handed_on() {
        let way = |waiting| {
            store_and_forward(Bytes::new(64), &[hop(Answer::of(1.0)), hop(waiting)], Span::ZERO)
        };
        assert!(way(Answer::SATURATED).is_saturated());
        assert_eq!(
            way(Answer::of(1.0).but(Warning::Optimistic)).warning,
            Some(Warning::Optimistic)
        );
    }

    #[test]
    fn traffic_goes_on() {
        // Two segments exchange a fifth and a tenth of their own frames over a backbone.
        let onward = vec![vec![0.0, 0.0, 0.2], vec![0.0, 0.0, 0.1], vec![0.0; 3]];
        assert_eq!(traffic(&[100.0, 50.0, 0.0], &onward), Some(vec![100.0, 50.0, 25.0]));
        // Half of what is on a segment comes back onto it: 1 / (1 - 1/2).
        let rates = traffic(&[1.0], &[vec![0.5]]).unwrap();
        assert!((rates[0] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_goes_round_for_ever_has_no_rate() {
        assert_eq!(traffic(&[1.0], &[vec![1.0]]), None);
        assert_eq!(traffic(&[1.0], &[vec![2.0]]), None);
        assert_eq!(traffic(&[1.0], &[]), None);
    }
}
