//! A line with a recorded rate: frames leave at the recorded opportunities.
//!
//! Source: the link emulation of Mahimahi (Netravali and others, 2015; mm-link(1) and its
//! `link_queue`). An opportunity of 1504 octets on a whole millisecond sends from the frame that
//! was begun before and from those that wait, until it is used up; the rest of an opportunity is
//! lost when no frame waits. A frame is delivered with its last octet's opportunity. A frame that
//! arrives at the time of an opportunity is too late for it. Frames count as their IP packet and 4
//! octets, whatever the line's framing says, because the recorders of traces counted them so. The
//! trace begins at time 0 and starts again after its last opportunity. Deviation: any queue may
//! stand before it.

use btu_network::{Discipline, Trace};
use btu_units::{Bytes, Span, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::element::Step;
use crate::frame::Frame;
use crate::framing::packet;
use crate::queue::Queue;

/// The header that Mahimahi's tunnel puts before each packet, in octets.
const TUNNEL_HEADER: u64 = 4;
const MILLISECOND: Span = Span::from_milliseconds(1);

/// A queue before a recorded line.
#[derive(Debug)]
pub struct TraceLine {
    trace: Trace,
    queue: Queue,
    longest: Bytes,
    /// The time at which the trace last began, and the index of its next opportunity.
    lap: Time,
    place: usize,
    /// A frame that was begun, and how many octets of it are left.
    begun: Option<(Frame, u64)>,
    out: Departures,
}

impl TraceLine {
    /// A line with this trace behind a queue; the queue's chance comes from the stream of `name`
    /// and `seed`. A trace without opportunities, or that ends at 0, is taken for one of one
    /// opportunity each millisecond.
    pub fn new(trace: &Trace, discipline: &Discipline, name: &str, seed: u64) -> Self {
        let usable = trace.opportunities_ms.last().is_some_and(|&last| last > 0);
        let trace = if usable { trace.clone() } else { Trace { opportunities_ms: vec![1] } };
        let queue = Queue::new(discipline, trace.mean_rate(), name, seed);
        let longest = Bytes::new(u64::MAX);
        Self {
            trace,
            queue,
            longest,
            lap: Time::ZERO,
            place: 0,
            begun: None,
            out: Departures::default(),
        }
    }

    /// This line, but dropping frames longer than `longest`.
    #[must_use]
    pub fn up_to(self, longest: Bytes) -> Self {
        Self { longest, ..self }
    }

    fn is_idle(&self) -> bool {
        self.begun.is_none() && self.queue.is_empty()
    }

    /// Uses the opportunities by `now`.
    fn catch_up(&mut self, now: Time) {
        while !self.is_idle() && self.next() <= now {
            self.send(self.next());
            self.place += 1;
            if self.place == self.trace.opportunities_ms.len() {
                self.lap += self.trace.lap();
                self.place = 0;
            }
        }
    }

    /// When the next opportunity is.
    fn next(&self) -> Time {
        self.lap + MILLISECOND * u64::from(self.trace.opportunities_ms[self.place])
    }

    /// Skips the opportunities by `now` at which no frame waited.
    fn skip(&mut self, now: Time) {
        if self.next() > now {
            return;
        }
        let lap = self.trace.lap().nanoseconds();
        let laps = now.since(Time::ZERO).nanoseconds() / lap;
        self.lap = Time::from_nanoseconds(laps * lap);
        let passed = now.since(self.lap).nanoseconds() / MILLISECOND.nanoseconds();
        // The last opportunity of a lap is later than `now`, which is within the lap.
        self.place = self.trace.opportunities_ms.partition_point(|&at| u64::from(at) <= passed);
    }

    /// Sends one opportunity's worth at `now`.
    fn send(&mut self, now: Time) {
        let mut room = Trace::OPPORTUNITY.count();
        while room > 0 {
            let Some((frame, left)) = self.begun.take().or_else(|| self.begin(now)) else { return };
            let sent = left.min(room);
            room -= sent;
            if left == sent {
                self.out.send(frame, now);
            } else {
                self.begun = Some((frame, left - sent));
            }
        }
    }

    fn begin(&mut self, now: Time) -> Option<(Frame, u64)> {
        let frame = self.queue.dequeue(now);
        self.tell_drops();
        frame.map(|frame| (frame, packet(frame.length()).count() + TUNNEL_HEADER))
    }

    fn tell_drops(&mut self) {
        while let Some((frame, cause)) = self.queue.dropped() {
            self.out.drop(frame, cause);
        }
    }
}

impl Departing for TraceLine {
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
        if self.is_idle() {
            self.skip(now);
        }
        self.queue.enqueue(frame, now);
        self.tell_drops();
    }

    fn advance(&mut self, now: Time) -> Step {
        self.catch_up(now);
        if self.is_idle() { Step::Idle } else { Step::Wake(self.next()) }
    }

    fn held_elsewhere(&self) -> usize {
        self.queue.len() + usize::from(self.begun.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::drive;
    use crate::element::Element;

    fn line(opportunities_ms: &[u32]) -> TraceLine {
        let trace = Trace { opportunities_ms: opportunities_ms.to_vec() };
        TraceLine::new(&trace, &Discipline::default(), "line", 1)
    }

    /// Arrivals in milliseconds of frames that carry packets of so many octets, sent at so many
    /// microseconds.
    fn arrivals(opportunities_ms: &[u32], packets: &[(u64, u64)]) -> Vec<u64> {
        let frame = |tag, packet| Frame::new(tag, Bytes::new(packet + 14));
        let script: Vec<_> = (0u32..)
            .zip(packets)
            .map(|(tag, &(at, packet))| (Time::from_nanoseconds(at * 1000), frame(tag, packet)))
            .collect();
        let arrivals = drive(&mut line(opportunities_ms), &script).arrivals;
        arrivals
            .iter()
            .map(|arrival| arrival.at.since(Time::ZERO).nanoseconds() / 1_000_000)
            .collect()
    }

    #[test]
    fn a_full_packet_uses_one_opportunity() {
        assert_eq!(arrivals(&[2, 5, 5, 10], &[(0, 1500); 4]), [2, 5, 5, 10]);
    }

    #[test]
    fn the_trace_begins_again_after_its_last_opportunity() {
        assert_eq!(arrivals(&[3, 10], &[(0, 1500); 5]), [3, 10, 13, 20, 23]);
        assert_eq!(
            arrivals(&[0, 4], &[(100, 1500); 4]),
            [4, 4, 8, 8],
            "the one at 0 has passed at first"
        );
    }

    /// 372 + 4 octets are a quarter of an opportunity.
    #[test]
    fn small_packets_share_an_opportunity() {
        assert_eq!(arrivals(&[1], &[(0, 372); 9]), [1, 1, 1, 1, 2, 2, 2, 2, 3]);
    }

    /// 2000 + 4 octets: 1504 in the first, 500 in the second; the next one begins in the rest of
    /// it.
    #[test]
    fn large_packets_use_several_and_leave_the_rest_to_the_next() {
        assert_eq!(arrivals(&[1], &[(0, 2000), (0, 1000), (0, 1500)]), [2, 2, 3]);
        assert_eq!(arrivals(&[1], &[(0, 2000), (0, 1001), (0, 1500)]), [2, 3, 4]);
    }

    #[test]
    fn what_nobody_uses_is_lost() {
        // The opportunities at 1 to 4 ms are lost, and what 100 octets leave of the one at 5 as
        // well.
        assert_eq!(arrivals(&[1], &[(4500, 96), (5500, 1500), (5500, 1500)]), [5, 6, 7]);
        assert_eq!(arrivals(&[1], &[(7000, 1500)]), [8], "too late for the one at 7 ms");
        assert_eq!(arrivals(&[3, 10], &[(95_000, 1500), (95_000, 1500)]), [100, 103]);
    }

    /// Kept busy for ten laps of 40 ms with 7 opportunities each, it delivers all 70 full packets
    /// and no more.
    #[test]
    fn a_busy_line_keeps_the_traces_mean_rate() {
        let trace = [1, 1, 2, 17, 30, 39, 40];
        let arrivals = arrivals(&trace, &[(0, 1500); 100]);
        assert_eq!(arrivals.iter().filter(|&&at| at <= 400).count(), 70);
        let bits = Trace { opportunities_ms: trace.to_vec() }.mean_rate().bits_per_second();
        assert_eq!(bits, 70 * 1504 * 8 * 1000 / 400);
    }

    #[test]
    fn a_line_far_from_its_beginning_is_as_quick() {
        let mut line = line(&[3, 10]);
        let now = Time::from_nanoseconds(1 << 62);
        line.accept(Frame::new(0, Bytes::new(1514)), now);
        let Step::Wake(wake) = line.poll(now) else { panic!("nothing to wait for") };
        assert!(wake.since(now) <= Span::from_milliseconds(7));
    }
}
