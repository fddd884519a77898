//! Queues before transmitters: one type over the disciplines, each in its own file.
//!
//! The caller passes the time of every decision to the queue, and decisions depend on nothing else:
//! so they do not depend on how late a caller polls. The owner of a queue calls [`Queue::enqueue`]
//! when a frame comes, [`Queue::dequeue`] when its transmitter or its turn is free, and after
//! either [`Queue::dropped`] until it answers `None`; times never go back. The frames received are
//! those taken out, those dropped and [`Queue::len`] together.

mod codel;
mod fifo;
mod flow_queue;
mod red;
mod tail_drop;
mod transmitter;

use std::collections::VecDeque;

use btu_network::Discipline;
use btu_units::{BitRate, Bytes, Time};

use crate::account::Cause;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::random::Stream;

use codel::Codel;
use flow_queue::FlowQueue;
use red::Red;
use tail_drop::TailDrop;
pub use transmitter::Transmitter;

/// Frames that a queue has dropped and not yet reported.
type Drops = VecDeque<(Frame, Cause)>;

/// A queue of any discipline.
#[derive(Debug)]
pub struct Queue {
    kind: QueueKind,
    drops: Drops,
}

#[derive(Debug)]
enum QueueKind {
    TailDrop(TailDrop),
    Red(Box<Red>),
    Codel(Box<Codel>),
    FlowQueue(Box<FlowQueue>),
}

/// Calls a method of the same name on the discipline, whichever it is.
macro_rules! each {
    ($kind:expr, $queue:ident => $call:expr) => {
        match $kind {
            QueueKind::TailDrop($queue) => $call,
            QueueKind::Red($queue) => $call,
            QueueKind::Codel($queue) => $call,
            QueueKind::FlowQueue($queue) => $call,
        }
    };
}

impl Queue {
    /// A queue before a transmitter of `rate`; chance comes from the stream of `name` and `seed`. A
    /// limit of less than one frame holds one, because a queue of this type also hands over what is
    /// sent at once.
    pub fn new(discipline: &Discipline, rate: BitRate, name: &str, seed: u64) -> Self {
        let stream = Stream::new(seed, name);
        let kind = match discipline {
            Discipline::TailDrop { limit } => {
                QueueKind::TailDrop(TailDrop::new(Limit::of(*limit, rate)))
            }
            Discipline::Red(red) => QueueKind::Red(Box::new(Red::new(red, rate, stream))),
            Discipline::Codel(codel) => QueueKind::Codel(Box::new(Codel::new(codel, rate))),
            Discipline::FqCodel(fair) => {
                QueueKind::FlowQueue(Box::new(FlowQueue::new(fair, rate, seed)))
            }
        };
        Self { kind, drops: Drops::new() }
    }

    /// Takes a frame that comes at `now`, or drops one.
    pub fn enqueue(&mut self, frame: Frame, now: Time) {
        each!(&mut self.kind, queue => queue.enqueue(frame, now, &mut self.drops));
    }

    /// Takes out the frame that is sent at `now`; `None` when the queue is empty, also because all
    /// were dropped.
    pub fn dequeue(&mut self, now: Time) -> Option<Frame> {
        each!(&mut self.kind, queue => queue.dequeue(now, &mut self.drops))
    }

    /// The next frame that was dropped, oldest first.
    pub fn dropped(&mut self) -> Option<(Frame, Cause)> {
        self.drops.pop_front()
    }

    /// How many frames wait.
    pub fn len(&self) -> usize {
        each!(&self.kind, queue => queue.len())
    }

    /// How many octets wait.
    pub fn bytes(&self) -> Bytes {
        each!(&self.kind, queue => queue.bytes())
    }

    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether a frame of `size` may be put where `frames` with `bytes` are; the first always may.
fn fits(limit: Limit, frames: usize, bytes: Bytes, size: Bytes) -> bool {
    frames == 0 || limit.admits(frames, bytes, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_network::{Codel, FairCodel, QueueLimit, Red};
    use btu_units::{Probability, Span};
    use proptest::prelude::*;

    fn disciplines(limit: QueueLimit) -> [Discipline; 4] {
        let codel = Codel {
            limit,
            target: Span::from_microseconds(500),
            interval: Span::from_milliseconds(2),
        };
        let probability = Probability::new(0.2).unwrap();
        let (minimum, maximum) = (Bytes::new(2000), Bytes::new(9000));
        [
            Discipline::TailDrop { limit },
            Discipline::Red(Red { limit, minimum, maximum, probability, weight: 0.1 }),
            Discipline::Codel(codel),
            Discipline::FqCodel(FairCodel { codel, queues: 4, quantum: Bytes::new(1514) }),
        ]
    }

    proptest! {
        /// After any sequence of calls, a queue knows how many frames and octets it holds, loses
        /// none, and keeps to its limit.
        #[test]
        fn accounts_balance(
            which in 0usize..4,
            frames in 1u32..30,
            script in prop::collection::vec((0u64..400_000, 40u64..1600, 0u32..6, any::<bool>()), 0..300),
        ) {
            let limit = QueueLimit::Frames(frames);
            let mut queue = Queue::new(&disciplines(limit)[which], BitRate::from_megabits_per_second(10), "queue", 3);
            let mut now = Time::ZERO;
            let (mut inside, mut bytes) = (0usize, 0u64);
            for (gap, length, flow, takes) in script {
                now += Span::from_nanoseconds(gap);
                if takes {
                    if let Some(frame) = queue.dequeue(now) {
                        (inside, bytes) = (inside - 1, bytes - frame.length().count());
                    }
                } else {
                    (inside, bytes) = (inside + 1, bytes + length);
                    queue.enqueue(Frame::new(0, Bytes::new(length)).in_flow(flow), now);
                }
                while let Some((frame, _)) = queue.dropped() {
                    (inside, bytes) = (inside - 1, bytes - frame.length().count());
                }
                prop_assert_eq!((queue.len(), queue.bytes().count()), (inside, bytes));
                prop_assert!(queue.len() <= frames as usize);
            }
        }
    }

    #[test]
    fn a_queue_is_small() {
        // Ten thousand stations have one each.
        assert!(size_of::<Queue>() <= 128, "{} octets", size_of::<Queue>());
    }
}
