//! The mean delay on a shared Ethernet.
//!
//! Source: a model of the kind of Lam, "A carrier sense multiple access protocol for local
//! networks", Computer Networks 4 (1980), derived again: Poisson arrivals; after each success time
//! is slotted (two propagation delays); one frame that waits is sent at once; two or more collide
//! in one slot and then succeed with probability 1/e in each; a success lasts the frame and a
//! propagation delay; on an idle cable the slot with arrivals decides. It is an embedded chain at
//! departures with generating function Q, and the delay is Q'(1) over the arrival rate. The form in
//! Bux (1981) has other small terms and does not give the figures of the CITI study, which this one
//! does (see the tests).
//!
//! Assumptions: infinitely many stations, backoff that always knows how many contend, and all
//! frames pass the whole cable. Range: 802.3's own backoff has slots of 512 bits, however short the
//! cable, so it is slower, the more so the shorter the frames; and on a cable that is long against
//! them the formula's propagation is too long. [`SharedCable::error`] says by how much.

use std::f64::consts::E;

use crate::answer::{Answer, Warning, sensible};
use crate::frame_times::FrameTimes;

/// The formula is in its range while its delay is within this share of a real cable's.
const WITHIN: f64 = 0.05;

/// [`SharedCable::error`]: the weight of the backoff's slots, the exponent of the spread of frame
/// times, and the weight of the propagation.
const SLOTS: f64 = 1.6;
const SPREAD: f64 = 2.0 / 3.0;
const PROPAGATION: f64 = 1.6;

/// A shared Ethernet under Poisson load.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedCable {
    /// Frames per second of all stations together.
    pub rate: f64,
    /// How long frames take.
    pub times: FrameTimes,
    /// Propagation delay of the whole cable, one way, in seconds.
    pub propagation: f64,
}

impl SharedCable {
    /// Share of time in frames' bits.
    pub fn data(&self) -> f64 {
        self.rate * self.times.mean()
    }

    /// Share of time in frames, propagation and contention: stable below one.
    pub fn data_and_collisions(&self) -> f64 {
        self.rate * (self.times.mean() + self.propagation * (1.0 + 2.0 * E))
    }

    /// The largest possible share of data: 1 / (1 + 6.44 a).
    pub fn capacity(&self) -> Answer {
        let mean = self.times.mean();
        Answer::of(mean / (mean + self.propagation * (1.0 + 2.0 * E)))
    }

    /// Mean time in seconds from a frame's arrival until its last bit has passed the whole cable.
    pub fn delay(&self) -> Answer {
        if !sensible(&[self.rate, self.propagation]) || !self.times.is_sensible() {
            return Answer::OUT_OF_RANGE;
        }
        let used = self.data_and_collisions();
        if used >= 1.0 {
            return Answer::SATURATED;
        }
        let (mean, tau) = (self.times.mean(), self.propagation);
        let second = self.times.second_moment()
            + (4.0 * E + 2.0) * tau * mean
            + (1.0 + 4.0 * E) * tau * tau
            + 4.0 * E * (2.0 * E - 1.0) * tau * tau;
        let queueing = self.rate * second / (2.0 * (1.0 - used));
        Answer::of(mean + tau + (2.0 * E + 1.0) * tau + queueing - self.saved_when_idle())
    }

    /// Like `delay`, with a warning where a cable with 802.3's own backoff, in slots of `slot`
    /// seconds, differs by more than 5 %.
    pub(crate) fn delay_with_backoff(&self, slot: f64) -> Answer {
        let (answer, error) = (self.delay(), self.error(slot));
        if error > WITHIN {
            answer.but(Warning::Optimistic)
        } else if error < -WITHIN {
            answer.but(Warning::OutOfRange)
        } else {
            answer
        }
    }

    /// The share of a real delay by which the formula's is shorter (negative where it is longer):
    /// 1.6 (slot / E\[X\]) (E\[X^2\] / E\[X\]^2)^(2/3) (rho / (1 - rho))^2 - 1.6 a, with rho the load
    /// of frames, preambles and gaps and a the propagation over E\[X\].
    ///
    /// Fitted to the simulator of [`btu_medium`](../btu_medium/index.html): 24 stations, cables of
    /// 20 to 2000 m, frames of 64 to 1518 octets and a mix. Up to the load at which it is 5 %, the
    /// formula is within 6 %.
    fn error(&self, slot: f64) -> f64 {
        let (mean, load) = (self.times.mean(), self.data().min(0.999));
        let spread = self.times.second_moment() / (mean * mean);
        let queued = (load / (1.0 - load)).powi(2);
        SLOTS * slot / mean * spread.powf(SPREAD) * queued - PROPAGATION * self.propagation / mean
    }

    /// The time in seconds that a frame saves when no other station contends.
    fn saved_when_idle(&self) -> f64 {
        let (rate, tau) = (self.rate, self.propagation);
        // 1 - exp(-2 lambda tau) is the probability that a frame arrives within a slot.
        let arrives = -(-2.0 * rate * tau).exp_m1();
        // (1 - exp(-2 lambda tau)) / lambda, which tends to a slot without load.
        let slot = if rate == 0.0 { 2.0 * tau } else { arrives / rate };
        (slot - 2.0 * tau * arrives)
            / (self.times.laplace(rate) * (-rate * tau - 1.0).exp() - arrives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;

    fn cable(rate: f64, times: FrameTimes, propagation: f64) -> SharedCable {
        SharedCable { rate, times, propagation }
    }

    /// Checked by simulation of the same model: 1.066709 +- .00005, 17.117 +- .047, 1.220302 +-
    /// .0005, 1.544583 +- .0016 ms.
    #[test]
    fn reference_delays() {
        for (rate, times, propagation, milliseconds, tolerance) in [
            (70.0, FrameTimes::fixed(1.016_914e-3), 5.12e-6, 1.066_716, 1e-6),
            (1104.0, FrameTimes::fixed(0.848_97e-3), 5.12e-6, 17.112, 2e-3),
            (500.0, FrameTimes::fixed(0.8e-3), 25.6e-6, 1.220_098, 1e-6),
            (500.0, FrameTimes::exponential(0.8e-3), 25.6e-6, 1.544_605, 1e-6),
        ] {
            is(
                cable(rate, times, propagation).delay().map(|delay| delay * 1e3),
                milliseconds,
                tolerance,
            );
        }
    }

    /// Octets and weights.
    type Frames = &'static [(f64, f64)];

    /// 10 Mb/s: slots of 51.2 us. The loads at which a simulated cable with 802.3's backoff is 5 %
    /// slower than the formula are read between points 5 % of load apart (24 stations, 4 or 8
    /// replications), so they are known to some 2 points. Octets, metres, share of data there.
    const FIVE_PER_CENT: [(Frames, f64, f64); 9] = [
        (&[(64.0, 1.0)], 20.0, 0.125),
        (&[(256.0, 1.0)], 20.0, 0.26),
        (&[(512.0, 1.0)], 20.0, 0.335),
        (&[(1000.0, 1.0)], 20.0, 0.405),
        (&[(1518.0, 1.0)], 20.0, 0.435),
        (&[(64.0, 3.0), (594.0, 2.0), (1518.0, 1.0)], 20.0, 0.27),
        (&[(64.0, 3.0), (594.0, 2.0), (1518.0, 1.0)], 500.0, 0.29),
        (&[(256.0, 1.0)], 500.0, 0.30),
        (&[(1000.0, 1.0)], 500.0, 0.42),
    ];

    /// The last load of the range follows the frames' length: within 2 points of the data's own and 1
    /// of the step.
    #[test]
    fn the_range_ends_where_real_backoff_is_five_per_cent_slower() {
        const SLOT: f64 = 51.2e-6;
        for (frames, metres, wanted) in FIVE_PER_CENT {
            let octets: f64 = frames.iter().map(|(octets, weight)| octets * weight).sum();
            let mean = octets / frames.iter().map(|(_, weight)| weight).sum::<f64>();
            let time = |(octets, weight): &(f64, f64)| {
                (*weight, FrameTimes::fixed((octets + 20.0) * 8.0 / 10e6))
            };
            let times = FrameTimes::mix(frames.iter().map(time));
            let propagation = metres / (0.77 * 299_792_458.0);
            let warning = |load: f64| {
                let rate = load * 10e6 / (mean * 8.0);
                cable(rate, times.clone(), propagation).delay_with_backoff(SLOT).warning
            };
            let last = (1..60).map(|load| f64::from(load) / 100.0);
            let last = last.take_while(|load| warning(*load).is_none()).last().unwrap();
            assert!((last - wanted).abs() < 0.035, "{frames:?} {metres}: {last}, not {wanted}");
        }
    }

    /// 2 km and frames of 64 octets: the formula was 20 % too slow in the simulator up to 20 %.
    #[test]
    fn a_long_cable_with_short_frames_is_out_of_range() {
        let short = cable(1000.0, FrameTimes::fixed(67.2e-6), 8.66e-6);
        assert_eq!(short.delay_with_backoff(51.2e-6).warning, Some(Warning::OutOfRange));
    }

    #[test]
    fn delays_in_frame_times() {
        let loads = [0.1, 0.3, 0.5, 0.7];
        for (a, times, delays) in [
            (0.01, FrameTimes::fixed(1.0), [1.0775, 1.2498, 1.5879, 2.5153]),
            (0.005, FrameTimes::fixed(1.0), [1.0665, 1.2318, 1.5422, 2.3251]),
            (0.01, FrameTimes::exponential(1.0), [1.1338, 1.4730, 2.1310, 3.9076]),
        ] {
            loads
                .into_iter()
                .zip(delays)
                .for_each(|(load, delay)| is(cable(load, times.clone(), a).delay(), delay, 5e-5));
        }
    }

    /// 20 stations with frames of 1000 octets on a kilometre; the printed propagation has three
    /// digits only.
    #[test]
    fn delays_agree_with_a_simulated_ethernet() {
        let loads = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9];
        for (load, milliseconds) in loads.into_iter().zip([0.854, 0.987, 1.237, 1.872, 2.77, 6.39])
        {
            let delay = cable(load / 0.8e-3, FrameTimes::fixed(0.8e-3), 4.33e-6).delay();
            is(delay.map(|delay| delay * 1e3), milliseconds, milliseconds * 2e-3);
        }
    }

    #[test]
    fn without_load_a_frame_takes_itself_and_two_propagation_delays() {
        for rate in [0.0, 1e-6] {
            is(cable(rate, FrameTimes::fixed(1.0), 0.01).delay(), 1.02, 1e-6);
        }
    }

    #[test]
    fn without_propagation_it_is_a_queue() {
        let times =
            FrameTimes::mix([(1.0, FrameTimes::fixed(1.0)), (3.0, FrameTimes::exponential(0.5))]);
        let queue = crate::single_queue::waiting(0.9, &times).value.unwrap() + times.mean();
        is(cable(0.9, times, 0.0).delay(), queue, 1e-9);
    }

    #[test]
    fn a_heavy_load_saturates() {
        assert!(cable(0.94, FrameTimes::fixed(1.0), 0.01).delay().is_saturated());
        assert_eq!(cable(-1.0, FrameTimes::fixed(1.0), 0.01).delay(), Answer::OUT_OF_RANGE);
    }
}
