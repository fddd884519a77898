//! What waits in a station behind the frame whose turn it is: first in, first out, tail drop.

use std::collections::VecDeque;

use btu_network::QueueLimit;
use btu_units::{BitRate, Bytes};

use crate::frame::Frame;
use crate::limit::Limit;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    frames: VecDeque<Frame>,
    bytes: Bytes,
}

impl Backlog {
    /// Puts a frame behind the others, or gives it back where it does not fit.
    pub(super) fn enqueue(&mut self, frame: Frame, limit: &Limit) -> Result<(), Frame> {
        if !limit.admits(self.frames.len(), self.bytes, frame.length()) {
            return Err(frame);
        }
        self.bytes += frame.length();
        self.frames.push_back(frame);
        Ok(())
    }

    /// Takes the frame out whose turn it is.
    pub(super) fn dequeue(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.bytes = self.bytes - frame.length();
        Some(frame)
    }
}

/// How much fits into a queue before a transmitter of `rate`.
pub(super) fn limit(limit: QueueLimit, rate: BitRate) -> Limit {
    match limit {
        QueueLimit::Suited => Limit::for_rate(rate),
        QueueLimit::Frames(frames) => Limit::frames(frames as usize),
        QueueLimit::Bytes(bytes) => Limit::bytes(bytes),
    }
}
