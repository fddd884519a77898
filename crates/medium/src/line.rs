//! A line with a tail-drop queue: frames leave it one after the other at its rate; those that find
//! it busy wait.
//!
//! A frame is delivered when its last bit is through; the line is free when all that it occupies
//! ([`occupied_bits`]) is through. Because nothing but the frames before it decides when a frame
//! leaves, its time is fixed when it comes in. Deviation from IEEE 802.3: a full-duplex line has no
//! collisions, so none are modelled here.

use std::collections::VecDeque;

use btu_network::Framing;
use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::element::Step;
use crate::frame::Frame;
use crate::framing::{gap_bits, occupied_bits};
use crate::limit::Limit;
use crate::schedule::TimedQueue;

/// A line of a fixed rate with a tail-drop queue before it, without propagation.
#[derive(Debug)]
pub struct Line {
    serializer: Serializer,
    framing: Framing,
    gap: Span,
    limit: Limit,
    longest: Bytes,
    /// The time at which the frame in transmission and all waiting frames have left, gap included.
    free: Time,
    /// Frames that had not begun at the last update: the times at which they begin, and their
    /// sizes.
    waiting: VecDeque<(Time, Bytes)>,
    waiting_bytes: Bytes,
    /// The latest time that a caller passed.
    latest: Time,
    rates: TimedQueue<BitRate>,
    out: Departures,
}

impl Line {
    /// An Ethernet line of `rate` with a queue of `limit`, the frame in transmission not counted.
    pub fn new(rate: BitRate, limit: Limit) -> Self {
        Self {
            gap: gap(rate, Framing::Ethernet),
            framing: Framing::Ethernet,
            serializer: Serializer::new(rate),
            limit,
            longest: Bytes::new(u64::MAX),
            free: Time::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            latest: Time::ZERO,
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

    /// Changes the rate from `at` on, or from now on when `at` is over: the frame in transmission
    /// keeps its time, the ones that wait leave at the new rate. The queue's limit stays as it was.
    pub(crate) fn change_rate(&mut self, at: Time, rate: BitRate) {
        self.rates.note(at.max(self.latest), rate);
    }

    /// Applies changes of the rate by `now`, and takes out frames that have begun.
    fn catch_up(&mut self, now: Time) {
        while let Some((at, rate)) = self.rates.next_by(now) {
            self.begin(at);
            self.switch_to(rate);
        }
        self.begin(now);
        self.latest = self.latest.max(now);
    }

    /// Takes frames out of the queue that have begun by `now`.
    fn begin(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes = self.waiting_bytes - size;
        }
    }

    /// Lets the frames that wait leave at `rate`, the first when it would have begun anyway.
    fn switch_to(&mut self, rate: BitRate) {
        self.serializer = Serializer::new(rate);
        self.gap = gap(rate, self.framing);
        let Some(&(first, _)) = self.waiting.front() else { return };
        self.free = first;
        let (serializer, free, gap, framing) =
            (&mut self.serializer, &mut self.free, self.gap, self.framing);
        let mut waiting = self.waiting.iter_mut();
        self.out.reschedule(waiting.len(), |frame| {
            let start = *free;
            if let Some(entry) = waiting.next() {
                entry.0 = start;
            }
            *free = start + serializer.transmit_bits(occupied_bits(framing, frame.length()));
            start + free.since(start).saturating_sub(gap)
        });
    }

    fn transmit(&mut self, frame: Frame, start: Time) {
        self.free =
            start + self.serializer.transmit_bits(occupied_bits(self.framing, frame.length()));
        let through = self.free.since(start).saturating_sub(self.gap);
        self.out.send(frame, start + through);
    }
}

/// How long the gap after a frame takes.
pub(crate) fn gap(rate: BitRate, framing: Framing) -> Span {
    Serializer::new(rate).transmit_bits(gap_bits(framing))
}

impl Departing for Line {
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
        } else if self.free <= now {
            self.transmit(frame, now);
        } else if self.limit.admits(self.waiting.len(), self.waiting_bytes, frame.length()) {
            self.waiting.push_back((self.free, frame.length()));
            self.waiting_bytes += frame.length();
            self.transmit(frame, self.free);
        } else {
            self.out.drop(frame, Cause::QueueFull);
        }
    }

    fn advance(&mut self, now: Time) -> Step {
        self.latest = self.latest.max(now);
        let Some(change) = self.rates.next_at() else { return Step::Idle };
        self.catch_up(now);
        // The frame that leaves next may leave sooner after the change.
        if change > now && self.out.later_than(now) > 0 { Step::Wake(change) } else { Step::Idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::{Arrival, drive};
    use crate::element::Element;

    const TEN: BitRate = BitRate::from_megabits_per_second(10);

    fn frame(tag: u32, length: u64) -> Frame {
        Frame::new(tag, Bytes::new(length))
    }

    #[test]
    fn a_lone_full_frame_takes_its_bits_without_the_gap() {
        let mut line = Line::new(TEN, Limit::frames(10));
        // 1526 octets with preamble and check sequence: 1220.8 us at 10 Mb/s.
        let arrivals = drive(&mut line, &[(Time::ZERO, frame(0, 1514))]).arrivals;
        assert_eq!(
            arrivals,
            [Arrival { tag: 0, at: Time::from_nanoseconds(1_220_800), damaged: false }]
        );
    }

    #[test]
    fn the_queue_does_not_count_the_frame_in_transmission() {
        let mut line = Line::new(TEN, Limit::frames(2));
        let script: Vec<_> = (0..5).map(|tag| (Time::ZERO, frame(tag, 1514))).collect();
        let journey = drive(&mut line, &script);
        assert_eq!(
            journey.arrivals.iter().map(|arrival| arrival.tag).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(journey.drops, [(3, Cause::QueueFull), (4, Cause::QueueFull)]);
    }

    #[test]
    fn room_is_made_when_a_frame_begins_even_if_nobody_polled() {
        let mut line = Line::new(TEN, Limit::frames(1));
        line.accept(frame(0, 1514), Time::ZERO);
        line.accept(frame(1, 1514), Time::ZERO);
        line.accept(frame(2, 1514), Time::from_nanoseconds(1_230_400));
        assert_eq!(line.account().dropped() + line.account().held, 3);
        assert_eq!(
            line.poll(Time::from_nanoseconds(1)),
            Step::Wake(Time::from_nanoseconds(1_220_800))
        );
    }

    #[test]
    fn a_byte_limit_counts_bytes() {
        let mut line = Line::new(TEN, Limit::bytes(Bytes::new(3000)));
        let script: Vec<_> = (0..4).map(|tag| (Time::ZERO, frame(tag, 1500))).collect();
        assert_eq!(drive(&mut line, &script).drops, [(3, Cause::QueueFull)]);
    }

    #[test]
    fn a_frame_that_is_too_long_is_dropped_as_such() {
        let mut line = Line::new(TEN, Limit::frames(10)).up_to(Bytes::new(590));
        let journey = drive(&mut line, &[(Time::ZERO, frame(0, 591)), (Time::ZERO, frame(1, 590))]);
        assert_eq!(journey.drops, [(0, Cause::TooLong)]);
        assert_eq!(journey.arrivals[0].tag, 1);
    }

    /// Five frames of 1250 octets as they are: 1 ms each at 10 Mb/s, 0.1 ms at 100, 10 ms at 1.
    fn burst_with_a_change(rate: u64, at: u64) -> Vec<u64> {
        let mut line = Line::new(TEN, Limit::frames(10)).framed(Framing::Bare);
        line.change_rate(Time::from_nanoseconds(at), BitRate::from_megabits_per_second(rate));
        let script: Vec<_> = (0..5).map(|tag| (Time::ZERO, frame(tag, 1250))).collect();
        drive(&mut line, &script)
            .arrivals
            .iter()
            .map(|arrival| arrival.at.since(Time::ZERO).nanoseconds())
            .collect()
    }

    #[test]
    fn what_waits_leaves_at_the_new_rate_and_what_has_begun_at_the_old() {
        assert_eq!(
            burst_with_a_change(100, 1_500_000),
            [1_000_000, 2_000_000, 2_100_000, 2_200_000, 2_300_000]
        );
        assert_eq!(
            burst_with_a_change(1, 1_500_000),
            [1_000_000, 2_000_000, 12_000_000, 22_000_000, 32_000_000]
        );
        assert_eq!(
            burst_with_a_change(1, 9_000_000),
            [1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]
        );
    }

    #[test]
    fn a_change_that_comes_late_holds_from_now_on() {
        let mut line = Line::new(TEN, Limit::frames(10)).framed(Framing::Bare);
        (0..3).for_each(|tag| line.accept(frame(tag, 1250), Time::ZERO));
        let now = Time::from_nanoseconds(2_000_000);
        while matches!(line.poll(now), Step::Deliver(..)) {}
        line.change_rate(Time::ZERO, BitRate::from_megabits_per_second(100));
        // The third has begun.
        assert_eq!(line.poll(now), Step::Wake(Time::from_nanoseconds(3_000_000)));
    }
}
