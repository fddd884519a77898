//! A line: frames leave it one after the other at its rate; those that find it busy wait in a queue.
//!
//! Source: IEEE 802.3 clause 4 for what a frame occupies (preamble and start delimiter 8 octets, padding to 64 with
//! the check sequence, gap 12). A frame is delivered when its last bit is through; the line is free one gap later.
//! Deviation: a full-duplex line has no collisions, so none are modelled here.

use std::collections::VecDeque;

use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use crate::account::{Account, Cause};
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::limit::Limit;
use crate::outbox::Outbox;

const PREAMBLE: u64 = 8;
const CHECK_SEQUENCE: u64 = 4;
const GAP: u64 = 12;
const SHORTEST: u64 = 64;

/// A line of a fixed rate with a tail-drop queue before it; propagation is not its business.
#[derive(Debug)]
pub struct Line {
    serializer: Serializer,
    gap: Span,
    limit: Limit,
    /// When the frame in transmission and all that wait are through, gap included.
    free: Time,
    /// Frames that had not begun when last looked: when they begin, and their sizes.
    waiting: VecDeque<(Time, Bytes)>,
    waiting_bytes: Bytes,
    out: Outbox,
}

impl Line {
    /// A line of `rate` whose queue holds `limit`, the frame in transmission not counted.
    pub fn new(rate: BitRate, limit: Limit) -> Self {
        Self {
            gap: Serializer::new(rate).transmit(Bytes::new(GAP)),
            serializer: Serializer::new(rate),
            limit,
            free: Time::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            out: Outbox::default(),
        }
    }

    /// What a frame of `length` occupies on the line, from preamble to the end of the gap.
    pub fn occupied_by(length: Bytes) -> Bytes {
        Bytes::new(PREAMBLE + (length.count() + CHECK_SEQUENCE).max(SHORTEST) + GAP)
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

    fn transmit(&mut self, frame: Frame, start: Time) {
        self.free = start + self.serializer.transmit(Self::occupied_by(frame.length()));
        let through = self.free.since(start).saturating_sub(self.gap);
        self.out.send(frame, start + through);
    }
}

impl Element for Line {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.out.receive();
        self.begin(now);
        if self.free <= now {
            self.transmit(frame, now);
        } else if self.limit.admits(self.waiting.len(), self.waiting_bytes, frame.length()) {
            self.waiting.push_back((self.free, frame.length()));
            self.waiting_bytes += frame.length();
            self.transmit(frame, self.free);
        } else {
            self.out.drop(frame, Cause::QueueFull);
        }
    }

    fn poll(&mut self, now: Time) -> Step {
        self.out.poll(now)
    }

    fn account(&self) -> Account {
        self.out.account(0)
    }

    fn reset(&mut self) {
        self.out.reset(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::{Arrival, drive};

    fn frame(tag: u32, length: u64) -> Frame {
        Frame::new(tag, Bytes::new(length))
    }

    #[test]
    fn a_lone_full_frame_takes_its_bits_without_the_gap() {
        let mut line = Line::new(BitRate::from_megabits_per_second(10), Limit::frames(10));
        // 1526 octets with preamble and check sequence: 1220.8 us at 10 Mb/s.
        let arrivals = drive(&mut line, &[(Time::ZERO, frame(0, 1514))]).arrivals;
        assert_eq!(arrivals, [Arrival { tag: 0, at: Time::from_nanoseconds(1_220_800), damaged: false }]);
    }

    #[test]
    fn the_queue_does_not_count_the_frame_in_transmission() {
        let mut line = Line::new(BitRate::from_megabits_per_second(10), Limit::frames(2));
        let script: Vec<_> = (0..5).map(|tag| (Time::ZERO, frame(tag, 1514))).collect();
        let journey = drive(&mut line, &script);
        assert_eq!(journey.arrivals.iter().map(|arrival| arrival.tag).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(journey.drops, [(3, Cause::QueueFull), (4, Cause::QueueFull)]);
    }

    #[test]
    fn room_is_made_when_a_frame_begins_even_if_nobody_polled() {
        let mut line = Line::new(BitRate::from_megabits_per_second(10), Limit::frames(1));
        line.accept(frame(0, 1514), Time::ZERO);
        line.accept(frame(1, 1514), Time::ZERO);
        line.accept(frame(2, 1514), Time::from_nanoseconds(1_230_400));
        assert_eq!(line.account().dropped() + line.account().held, 3);
        assert_eq!(line.poll(Time::from_nanoseconds(1)), Step::Wake(Time::from_nanoseconds(1_220_800)));
    }

    #[test]
    fn a_byte_limit_counts_bytes() {
        let mut line = Line::new(BitRate::from_megabits_per_second(10), Limit::bytes(Bytes::new(3000)));
        let script: Vec<_> = (0..4).map(|tag| (Time::ZERO, frame(tag, 1500))).collect();
        assert_eq!(drive(&mut line, &script).drops, [(3, Cause::QueueFull)]);
    }
}
