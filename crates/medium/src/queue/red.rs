//! Random early detection: the longer the queue was in the mean, the more frames are dropped before
//! it is full.
//!
//! Source: Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance (1993),
//! figure 2, with the mean decayed over idle times. Choices that the paper leaves open, and
//! deviations:
//! * The queue is measured in octets, and drop probabilities do not depend on a frame's size (RFC
//!   7141, section 2.2).
//! * Idle time begins when the last frame leaves the queue for the transmitter, not when that has
//!   sent it. While idle, the mean decays once for each 500 octets the line could have sent (a
//!   typical packet; the mean size that ns-2 assumes).
//! * Frames are dropped, never marked.
//! * Above the maximum every frame is dropped, as in the paper; not "gently" with rising
//!   probability as later proposed.

use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use super::fifo::Fifo;
use super::{Drops, fits};
use crate::account::Cause;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::random::Stream;

/// The packet size that an idle line is assumed to send.
const TYPICAL_PACKET: Bytes = Bytes::new(500);

/// A queue that drops early.
#[derive(Debug)]
pub(super) struct Red {
    limit: Limit,
    minimum: f64,
    maximum: f64,
    probability: f64,
    weight: f64,
    /// How long a typical packet takes.
    step: Span,
    /// The mean queue in octets.
    mean: f64,
    /// Since when the queue is empty, if it is.
    idle_since: Option<Time>,
    /// Frames since the last drop, less one as long as the mean is below the minimum.
    count: i64,
    stream: Stream,
    fifo: Fifo,
}

impl Red {
    pub(super) fn new(red: &btu_network::Red, rate: BitRate, stream: Stream) -> Self {
        Self {
            limit: Limit::of(red.limit, rate),
            minimum: red.minimum.count() as f64,
            maximum: red.maximum.count() as f64,
            probability: red.probability.share(),
            weight: red.weight,
            step: Serializer::new(rate).transmit(TYPICAL_PACKET).max(Span::from_nanoseconds(1)),
            mean: 0.0,
            idle_since: Some(Time::ZERO),
            count: -1,
            stream,
            fifo: Fifo::default(),
        }
    }

    pub(super) fn enqueue(&mut self, frame: Frame, now: Time, drops: &mut Drops) {
        self.measure(now);
        if self.drops_early() {
            drops.push_back((frame, Cause::Early));
        } else if fits(self.limit, self.fifo.len(), self.fifo.bytes(), frame.length()) {
            self.idle_since = None;
            self.fifo.push(frame, now);
        } else {
            drops.push_back((frame, Cause::QueueFull));
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Frame> {
        let (frame, _) = self.fifo.pop()?;
        self.idle_since = (self.fifo.len() == 0).then_some(now);
        Some(frame)
    }

    pub(super) fn len(&self) -> usize {
        self.fifo.len()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.fifo.bytes()
    }

    /// Moves the mean towards the queue as it is, or decays it over the time that the queue was
    /// empty.
    fn measure(&mut self, now: Time) {
        match &mut self.idle_since {
            Some(since) => {
                let packets =
                    now.since(*since).nanoseconds() as f64 / self.step.nanoseconds() as f64;
                self.mean *= (1.0 - self.weight).powf(packets);
                // If this frame is dropped, the next one does not count this idle time again.
                *since = now;
            }
            None => self.mean += self.weight * (self.fifo.bytes().count() as f64 - self.mean),
        }
    }

    /// Whether chance takes the frame that has just come.
    fn drops_early(&mut self) -> bool {
        if self.mean < self.minimum {
            self.count = -1;
            return false;
        }
        self.count += 1;
        let drops = self.mean >= self.maximum || self.stream.share() < self.share();
        if drops {
            self.count = 0;
        }
        drops
    }

    /// The probability `p_a` of the paper: it makes the frames between two drops evenly
    /// distributed, not geometrically.
    fn share(&self) -> f64 {
        let base = self.probability * (self.mean - self.minimum) / (self.maximum - self.minimum);
        let left = 1.0 - self.count as f64 * base;
        if left > 0.0 { base / left } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_network::QueueLimit;
    use btu_units::Probability;

    const RATE: BitRate = BitRate::from_megabits_per_second(10);

    fn red(weight: f64) -> Red {
        let red = btu_network::Red {
            limit: QueueLimit::Frames(1000),
            minimum: Bytes::new(5000),
            maximum: Bytes::new(15_000),
            probability: Probability::new(0.1).unwrap(),
            weight,
        };
        Red::new(&red, RATE, Stream::new(1995, "red"))
    }

    /// Drops of frames that arrive at a mean held at `mean` octets.
    fn drops_at(mean: f64, frames: u32) -> Vec<u32> {
        let mut red = red(0.0);
        red.mean = mean;
        let mut drops = Drops::new();
        for tag in 0..frames {
            red.enqueue(Frame::new(tag, Bytes::new(100)), Time::ZERO, &mut drops);
            red.dequeue(Time::ZERO, &mut drops);
        }
        drops.iter().map(|(frame, _)| frame.tag).collect()
    }

    /// At a fifth of the way the base probability p is 0.02. By the formula the gaps between drops
    /// are even over 1 to 1/p - 1 = 49: mean 25, variance (49^2 - 1) / 12. Bounds of 99.9 %.
    #[test]
    fn gaps_between_drops_are_even() {
        let drops = drops_at(7000.0, 100_000);
        let gaps: Vec<f64> = drops.windows(2).map(|pair| f64::from(pair[1] - pair[0])).collect();
        let (count, mean) = (gaps.len() as f64, gaps.iter().sum::<f64>() / gaps.len() as f64);
        let deviation = ((49.0f64 * 49.0 - 1.0) / 12.0 / count).sqrt();
        assert!((mean - 25.0).abs() < 3.29 * deviation, "{mean}, not 25 +- {deviation}");
        assert!(gaps.iter().all(|&gap| (1.0..=49.0).contains(&gap)));
        for fifth in 0..4 {
            let tens = f64::from(fifth) * 10.0;
            let share =
                gaps.iter().filter(|&&gap| gap > tens && gap <= tens + 10.0).count() as f64 / count;
            let expected = 10.0 / 49.0;
            assert!(
                (share - expected).abs() < 4.0 * (expected * (1.0 - expected) / count).sqrt(),
                "{share} from {tens}"
            );
        }
    }

    #[test]
    fn below_the_minimum_none_and_above_the_maximum_all_are_dropped() {
        assert!(drops_at(4999.0, 1000).is_empty());
        assert_eq!(drops_at(15_000.0, 1000).len(), 1000);
    }

    #[test]
    fn the_mean_follows_the_queue() {
        let (mut red, mut drops) = (red(0.25), Drops::new());
        let means: Vec<f64> = (0..4)
            .map(|tag| {
                red.enqueue(Frame::new(tag, Bytes::new(1000)), Time::ZERO, &mut drops);
                red.mean
            })
            .collect();
        // 0, then a quarter of the way to 1000, 2000, 3000.
        assert_eq!(means, [0.0, 250.0, 687.5, 1265.625]);
    }

    /// 500 octets take 0.4 ms at 10 Mb/s, so 4 ms of nothing are ten samples of an empty queue.
    #[test]
    fn an_idle_line_lets_the_mean_decay() {
        let (mut red, mut drops) = (red(0.1), Drops::new());
        red.enqueue(Frame::new(0, Bytes::new(1000)), Time::ZERO, &mut drops);
        red.dequeue(Time::ZERO, &mut drops);
        red.mean = 10_000.0;
        red.enqueue(Frame::new(1, Bytes::new(1000)), Time::from_nanoseconds(4_000_000), &mut drops);
        assert!((red.mean - 10_000.0 * 0.9f64.powi(10)).abs() < 1e-6, "{}", red.mean);
    }

    #[test]
    fn what_does_not_fit_is_dropped_as_such() {
        let (mut red, mut drops) = (red(0.0), Drops::new());
        (0..1001)
            .for_each(|tag| red.enqueue(Frame::new(tag, Bytes::new(100)), Time::ZERO, &mut drops));
        assert!(matches!(drops.make_contiguous(), [(Frame { tag: 1000, .. }, Cause::QueueFull)]));
    }
}
