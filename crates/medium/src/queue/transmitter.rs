//! A line of a fixed rate behind a queue of any discipline.
//!
//! It takes the next frame out of the queue when it becomes free, at that very time, however late
//! the poll is: so the decisions of active queue management depend only on the times of frames. For
//! tail drop [`crate::Line`] has equal results with less work.

use btu_network::{Discipline, Framing};
use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use super::Queue;
use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::element::Step;
use crate::frame::Frame;
use crate::framing::occupied_bits;
use crate::line::gap;
use crate::schedule::TimedQueue;

/// A queue and its transmitter.
#[derive(Debug)]
pub struct Transmitter {
    queue: Queue,
    serializer: Serializer,
    framing: Framing,
    gap: Span,
    longest: Bytes,
    /// When the frame in transmission is through, gap included.
    free: Time,
    rates: TimedQueue<BitRate>,
    out: Departures,
}

impl Transmitter {
    /// An Ethernet line of `rate` behind a queue; the queue's chance comes from the stream of
    /// `name` and `seed`.
    pub fn new(rate: BitRate, discipline: &Discipline, name: &str, seed: u64) -> Self {
        Self {
            queue: Queue::new(discipline, rate, name, seed),
            serializer: Serializer::new(rate),
            framing: Framing::Ethernet,
            gap: gap(rate, Framing::Ethernet),
            longest: Bytes::new(u64::MAX),
            free: Time::ZERO,
            rates: TimedQueue::default(),
            out: Departures::default(),
        }
    }

    /// This line, but with another framing.
    #[must_use]
    pub fn framed(self, framing: Framing) -> Self {
        Self { gap: gap(self.serializer.rate(), framing), framing, ..self }
    }

    /// This line, but dropping frames longer than `longest`.
    #[must_use]
    pub fn up_to(self, longest: Bytes) -> Self {
        Self { longest, ..self }
    }

    /// Changes the rate for frames that begin from `at` on.
    pub(crate) fn change_rate(&mut self, at: Time, rate: BitRate) {
        self.rates.note(at, rate);
    }

    /// Sends the frames that begin by `now`.
    fn catch_up(&mut self, now: Time) {
        while self.free <= now && !self.queue.is_empty() {
            self.send_next(self.free);
        }
    }

    fn send_next(&mut self, start: Time) {
        let frame = self.queue.dequeue(start);
        self.tell_drops();
        let Some(frame) = frame else { return };
        while let Some((_, rate)) = self.rates.next_by(start) {
            self.serializer = Serializer::new(rate);
            self.gap = gap(rate, self.framing);
        }
        self.free =
            start + self.serializer.transmit_bits(occupied_bits(self.framing, frame.length()));
        self.out.send(frame, start + self.free.since(start).saturating_sub(self.gap));
    }

    fn tell_drops(&mut self) {
        while let Some((frame, cause)) = self.queue.dropped() {
            self.out.drop(frame, cause);
        }
    }
}

impl Departing for Transmitter {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        self.catch_up(now);
        if frame.length() > self.longest {
            self.out.drop(frame, Cause::TooLong);
            return;
        }
        self.queue.enqueue(frame, now);
        self.tell_drops();
        if self.free <= now {
            self.send_next(now);
        }
    }

    fn advance(&mut self, now: Time) -> Step {
        self.catch_up(now);
        if self.queue.is_empty() { Step::Idle } else { Step::Wake(self.free) }
    }

    fn held_elsewhere(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::drive;
    use crate::limit::Limit;
    use crate::line::Line;
    use btu_network::QueueLimit;
    use proptest::prelude::*;

    proptest! {
        /// With tail drop it equals a line to the nanosecond, changes of the rate included.
        #[test]
        fn with_tail_drop_it_is_a_line(
            gaps in prop::collection::vec((0u64..2_000_000, 40u64..1600), 0..150),
            limit in 1u32..20,
            changes in prop::collection::vec((0u64..100_000_000, 1u64..1000), 0..4),
        ) {
            let rate = BitRate::from_megabits_per_second(10);
            let mut now = Time::ZERO;
            let script: Vec<_> = (0u32..).zip(gaps).map(|(tag, (gap, length))| {
                now += Span::from_nanoseconds(gap);
                (now, Frame::new(tag, Bytes::new(length)))
            }).collect();
            let mut line = Line::new(rate, Limit::frames(limit as usize)).up_to(Bytes::new(1514));
            let queue = Discipline::TailDrop { limit: QueueLimit::Frames(limit) };
            let mut transmitter = Transmitter::new(rate, &queue, "line", 1).up_to(Bytes::new(1514));
            for (at, rate) in changes {
                let (at, rate) = (Time::from_nanoseconds(at), BitRate::from_megabits_per_second(rate));
                line.change_rate(at, rate);
                transmitter.change_rate(at, rate);
            }
            prop_assert_eq!(drive(&mut line, &script), drive(&mut transmitter, &script));
        }
    }
}
