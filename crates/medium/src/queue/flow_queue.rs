//! Flow queueing with controlled delay: a queue for each flow, served in turn, new ones first, each
//! under `CoDel`.
//!
//! Source: RFC 8290, section 4. Flows are distinguished by the driver's number ([`Frame::flow`],
//! made of addresses, protocol and ports), or by source and destination where it gives none; the
//! hash is seeded by the run. Deviations:
//! * When all queues together are full, frames are dropped at the head of the longest one until the
//!   limit holds, not half of its frames or 64 at once, which only saves work; the longest is
//!   looked for among the active.
//! * Each queue's control counts its own rest against the largest packet (Linux counts that of all
//!   queues).

use std::collections::VecDeque;

use btu_units::{BitRate, Bytes, Time};

use super::Drops;
use super::codel::{CodelParameters, CodelState};
use super::fifo::Fifo;
use crate::account::Cause;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::random::mix;

/// The most queues there may be.
const MOST_QUEUES: u32 = 65_536;

/// The queues of all flows.
#[derive(Debug)]
pub(super) struct FlowQueue {
    limit: Limit,
    settings: CodelParameters,
    quantum: i64,
    perturbation: u64,
    flows: Vec<QueuedFlow>,
    /// Places in `flows` of those that became active lately, and of the other active ones.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    frames: usize,
    bytes: Bytes,
}

#[derive(Debug, Default)]
struct QueuedFlow {
    fifo: Fifo,
    control: CodelState,
    /// Octets that the flow may still send in this round.
    deficit: i64,
    /// Whether it is in one of the lists.
    active: bool,
}

impl FlowQueue {
    pub(super) fn new(fair: &btu_network::FairCodel, rate: BitRate, seed: u64) -> Self {
        let queues = fair.queues.clamp(1, MOST_QUEUES);
        Self {
            limit: Limit::of(fair.codel.limit, rate),
            settings: CodelParameters::new(&fair.codel),
            quantum: i64::try_from(fair.quantum.count()).unwrap_or(i64::MAX).max(1),
            perturbation: mix(seed),
            flows: (0..queues).map(|_| QueuedFlow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            frames: 0,
            bytes: Bytes::ZERO,
        }
    }

    pub(super) fn enqueue(&mut self, frame: Frame, now: Time, drops: &mut Drops) {
        self.settings.note(&frame);
        let place = self.place(&frame);
        let flow = &mut self.flows[place as usize];
        flow.fifo.push(frame, now);
        self.frames += 1;
        self.bytes += frame.length();
        if !flow.active {
            (flow.active, flow.deficit) = (true, self.quantum);
            self.new.push_back(place);
        }
        while self.frames > 1 && (self.frames > self.limit.frames || self.bytes > self.limit.bytes)
        {
            self.drop_from_longest(drops);
        }
    }

    /// Takes the next frame out (RFC 8290, section 4.2).
    pub(super) fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Frame> {
        loop {
            let (from_new, place) = match (self.new.front(), self.old.front()) {
                (Some(&place), _) => (true, place),
                (None, Some(&place)) => (false, place),
                (None, None) => return None,
            };
            let flow = &mut self.flows[place as usize];
            if flow.deficit <= 0 {
                flow.deficit = flow.deficit.saturating_add(self.quantum);
                self.leave(from_new);
                self.old.push_back(place);
                continue;
            }
            let told = drops.len();
            let frame = flow.control.dequeue(&mut flow.fifo, self.settings, now, drops);
            for (frame, _) in drops.iter().skip(told) {
                self.frames -= 1;
                self.bytes = self.bytes - frame.length();
            }
            let Some(frame) = frame else {
                self.leave(from_new);
                // A new flow that has sent all goes through the old ones once, or it could stay new
                // for ever.
                if from_new {
                    self.old.push_back(place);
                } else {
                    self.flows[place as usize].active = false;
                }
                continue;
            };
            flow.deficit = flow.deficit.saturating_sub_unsigned(frame.length().count());
            self.frames -= 1;
            self.bytes = self.bytes - frame.length();
            return Some(frame);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.frames
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn leave(&mut self, from_new: bool) {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }

    /// Which queue a frame goes to.
    fn place(&self, frame: &Frame) -> u32 {
        let flow = match frame.flow {
            0 => mix(number(frame.source)) ^ number(frame.destination),
            flow => u64::from(flow),
        };
        (mix(flow ^ self.perturbation) % self.flows.len() as u64) as u32
    }

    fn drop_from_longest(&mut self, drops: &mut Drops) {
        let active = self.new.iter().chain(&self.old).copied();
        let longest = active.max_by_key(|&place| self.flows[place as usize].fifo.bytes());
        let Some((frame, _)) = longest.and_then(|place| self.flows[place as usize].fifo.pop())
        else {
            return;
        };
        self.frames -= 1;
        self.bytes = self.bytes - frame.length();
        drops.push_back((frame, Cause::QueueFull));
    }
}

/// An address as a number.
fn number(address: crate::frame::Address) -> u64 {
    address.octets().into_iter().fold(0, |number, octet| number << 8 | u64::from(octet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_network::{Codel, FairCodel, QueueLimit};
    use btu_units::Span;

    use crate::frame::Address;

    fn fair(limit: u32) -> FlowQueue {
        let codel = Codel {
            limit: QueueLimit::Frames(limit),
            target: Span::from_milliseconds(5),
            interval: Span::from_milliseconds(100),
        };
        let fair = FairCodel { codel, queues: 1024, quantum: Bytes::new(1514) };
        FlowQueue::new(&fair, BitRate::from_megabits_per_second(10), 1995)
    }

    fn frame(flow: u32, length: u64) -> Frame {
        Frame::new(flow, Bytes::new(length)).in_flow(flow)
    }

    fn milliseconds(count: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(1) * count
    }

    /// Flow 1 sends as much as it can, flow 2 a small frame every 20 ms: it never waits for more
    /// than the frame that is being sent, though the other's queue is long.
    #[test]
    fn a_sparse_flow_passes_a_greedy_one() {
        let (mut queue, mut drops) = (fair(1000), Drops::new());
        for now in 0..2000 {
            (0..2).for_each(|_| queue.enqueue(frame(1, 1514), milliseconds(now), &mut drops));
            if now % 20 == 10 {
                queue.enqueue(frame(2, 100), milliseconds(now), &mut drops);
                assert_eq!(
                    queue.dequeue(milliseconds(now), &mut drops).map(|frame| frame.flow),
                    Some(2)
                );
            } else {
                assert_eq!(
                    queue.dequeue(milliseconds(now), &mut drops).map(|frame| frame.flow),
                    Some(1)
                );
            }
        }
        assert!(!drops.is_empty() && drops.iter().all(|(frame, _)| frame.flow == 1));
    }

    /// Three greedy flows with frames of different sizes get the same octets, to within a quantum
    /// and a frame for each.
    #[test]
    fn greedy_flows_share_octets_evenly() {
        let (mut queue, mut drops) = (fair(10_000), Drops::new());
        let sizes = [(1, 1514), (2, 600), (3, 100)];
        for (flow, size) in sizes {
            (0..1_000_000 / size)
                .for_each(|_| queue.enqueue(frame(flow, size), Time::ZERO, &mut drops));
        }
        let mut sent = [0u64; 4];
        while sent.iter().sum::<u64>() < 900_000 {
            let frame = queue.dequeue(Time::ZERO, &mut drops).expect("plenty");
            sent[frame.flow as usize] += frame.length().count();
        }
        let (least, most) = (sent[1..].iter().min().unwrap(), sent[1..].iter().max().unwrap());
        assert!(most - least <= 2 * 1514, "{sent:?}");
    }

    #[test]
    fn an_overflow_takes_from_the_head_of_the_longest() {
        let (mut queue, mut drops) = (fair(10), Drops::new());
        (0..3).for_each(|_| queue.enqueue(frame(2, 100), Time::ZERO, &mut drops));
        for tag in 0..8 {
            queue.enqueue(Frame::new(tag, Bytes::new(1514)).in_flow(1), Time::ZERO, &mut drops);
        }
        assert_eq!(queue.len(), 10);
        assert_eq!(queue.bytes(), Bytes::new(3 * 100 + 7 * 1514));
        assert!(matches!(
            drops.make_contiguous(),
            [(Frame { tag: 0, flow: 1, .. }, Cause::QueueFull)]
        ));
    }

    #[test]
    fn addresses_tell_flows_apart_where_nobody_else_does() {
        let queue = fair(10);
        let between = |from, to| {
            let frame = Frame::new(0, Bytes::new(100))
                .between(Address::of_station(from), Address::of_station(to));
            queue.place(&frame)
        };
        assert_eq!(between(1, 2), between(1, 2));
        assert!(between(1, 2) != between(2, 1) && between(1, 2) != between(1, 3));
    }
}
