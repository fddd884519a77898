//! A station on a ring: the queue before its transmitter.

use std::collections::VecDeque;

use btu_network::{Discipline, QueueLimit};
use btu_units::{BitRate, Bytes};

use crate::frame::Frame;
use crate::limit::Limit;

/// How much fits into each station's queue.
pub(crate) fn limit_of(discipline: &Discipline, rate: BitRate) -> Limit {
    let limit = match discipline {
        Discipline::TailDrop { limit } => limit,
        Discipline::Red(red) => &red.limit,
        Discipline::Codel(codel) => &codel.limit,
        Discipline::FqCodel(fair) => &fair.codel.limit,
    };
    match *limit {
        QueueLimit::Suited => Limit::for_rate(rate),
        QueueLimit::Frames(frames) => Limit::frames(frames as usize),
        QueueLimit::Bytes(bytes) => Limit::bytes(bytes),
    }
}

/// Frames of one station that wait for the token.
#[derive(Debug, Default)]
pub(crate) struct Station {
    /// The frame in the transmitter: it was next when the time to hold the token did not last for it. It is not in the
    /// queue any more, so a discipline that chooses only when a frame leaves needs no way to look ahead.
    head: Option<Frame>,
    queue: VecDeque<Frame>,
    bytes: Bytes,
}

impl Station {
    /// Queues a frame if there is room.
    pub(crate) fn enqueue(&mut self, frame: Frame, limit: &Limit) -> Result<(), Frame> {
        if !limit.admits(self.queue.len(), self.bytes, frame.length()) {
            return Err(frame);
        }
        self.bytes += frame.length();
        self.queue.push_back(frame);
        Ok(())
    }

    /// The next frame to be sent.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        self.head.take().or_else(|| {
            let frame = self.queue.pop_front()?;
            self.bytes = self.bytes - frame.length();
            Some(frame)
        })
    }

    /// Keeps a frame that could not be sent yet as the next one.
    pub(crate) fn keep(&mut self, frame: Frame) {
        self.head = Some(frame);
    }

    /// Frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.head.is_some())
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
