//! Mean waits on a token ring: symmetric polling.
//!
//! Source: Takagi, Analysis of Polling Systems (1986); Bux, "Local-area subnetworks: a performance
//! comparison", IEEE Transactions on Communications (1981), for the ring. Assumptions: N stations
//! with equal Poisson traffic and queues without a limit; the token's walk round the empty ring
//! always takes the ring's latency. Range: below saturation, which with one frame a turn comes
//! earlier, because the token has to walk a hop for every frame.

use crate::answer::{Answer, sensible};
use crate::frame_times::FrameTimes;

/// The frames that a station may send when the token arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceDiscipline {
    /// All frames, until its queue is empty.
    Exhaustive,
    /// The frames that waited when the token arrived.
    Gated,
    /// A station sends one frame for each token.
    One,
}

/// A ring with symmetric traffic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ring {
    /// The number of stations on the ring.
    pub(crate) stations: u32,
    /// Seconds that a bit takes to go round: the walk of a token that no station takes.
    pub(crate) latency: f64,
    /// Frames per second of all stations together.
    pub(crate) rate: f64,
    /// How long frames take.
    pub(crate) times: FrameTimes,
}

impl Ring {
    /// Mean wait in seconds from a frame's arrival to its first bit, if the station frees the token
    /// behind the last bit.
    pub(crate) fn waiting(&self, turn: ServiceDiscipline) -> Answer {
        self.waiting_with(turn, self.times.mean(), self.times.second_moment())
    }

    /// Like `waiting`, where a station frees the token only when its frame has come back (802.5
    /// without early release): a frame shorter than the ring serves as long as the ring. Exact for
    /// one frame a turn; with more the station sends them back to back, so this is too long for
    /// short frames.
    pub(crate) fn waiting_without_early_release(&self, turn: ServiceDiscipline) -> Answer {
        let (mean, second_moment) = self.times.moments_of_at_least(self.latency);
        self.waiting_with(turn, mean, second_moment)
    }

    fn waiting_with(&self, turn: ServiceDiscipline, mean: f64, second_moment: f64) -> Answer {
        if self.stations == 0 || !sensible(&[self.latency, self.rate]) || !self.times.is_sensible()
        {
            return Answer::OUT_OF_RANGE;
        }
        let load = self.rate * mean;
        let each = load / f64::from(self.stations);
        let (share, hop) = match turn {
            ServiceDiscipline::Exhaustive => (1.0 - each, 0.0),
            ServiceDiscipline::Gated => (1.0 + each, 0.0),
            ServiceDiscipline::One => {
                (1.0 + each, self.rate * self.latency / f64::from(self.stations))
            }
        };
        let free = 1.0 - load - hop;
        if free <= 0.0 {
            return Answer::SATURATED;
        }
        Answer::of((self.rate * second_moment + self.latency * share) / (2.0 * free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;

    const TURNS: [ServiceDiscipline; 3] =
        [ServiceDiscipline::Exhaustive, ServiceDiscipline::Gated, ServiceDiscipline::One];

    fn ring(stations: u32, latency: f64, load: f64, times: FrameTimes) -> Ring {
        Ring { stations, latency, rate: load / times.mean(), times }
    }

    #[test]
    fn reference_waits() {
        let rings = [
            (ring(10, 50.0, 0.5, FrameTimes::fixed(100.0)), [97.5, 102.5, 107.895]),
            (ring(10, 50.0, 0.8, FrameTimes::exponential(100.0)), [515.0, 535.0, 668.75]),
            (ring(50, 28.5, 0.7, FrameTimes::exponential(250.0)), [630.17, 631.50, 634.88]),
        ];
        for (ring, waits) in rings {
            TURNS
                .into_iter()
                .zip(waits)
                .for_each(|(turn, wait)| is(ring.waiting(turn), wait, 0.005));
        }
    }

    #[test]
    fn one_frame_a_turn_saturates_first() {
        let ring = ring(10, 50.0, 0.96, FrameTimes::fixed(100.0));
        assert!(ring.waiting(ServiceDiscipline::One).is_saturated());
        assert!(ring.waiting(ServiceDiscipline::Gated).value.is_some());
    }

    #[test]
    fn a_short_frame_serves_a_lap_without_early_release() {
        let short = ring(10, 100.0, 0.25, FrameTimes::fixed(50.0));
        let as_long = ring(10, 100.0, 0.5, FrameTimes::fixed(100.0));
        assert_eq!(
            short.waiting_without_early_release(ServiceDiscipline::One),
            as_long.waiting(ServiceDiscipline::One)
        );
        assert_eq!(
            as_long.waiting_without_early_release(ServiceDiscipline::One),
            as_long.waiting(ServiceDiscipline::One)
        );
    }

    #[test]
    fn no_stations_no_answer() {
        assert_eq!(
            ring(0, 50.0, 0.5, FrameTimes::fixed(100.0)).waiting(ServiceDiscipline::One),
            Answer::OUT_OF_RANGE
        );
    }
}
