//! First in, first out; what does not fit is dropped.

use std::collections::VecDeque;

use btu_units::{Bytes, Time};

use super::{Drops, fits};
use crate::account::Cause;
use crate::frame::Frame;
use crate::limit::Limit;

/// A queue that drops at its tail.
#[derive(Debug)]
pub(super) struct TailDrop {
    limit: Limit,
    frames: VecDeque<Frame>,
    bytes: Bytes,
}

impl TailDrop {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, frames: VecDeque::new(), bytes: Bytes::ZERO }
    }

    pub(super) fn enqueue(&mut self, frame: Frame, _now: Time, drops: &mut Drops) {
        if fits(self.limit, self.frames.len(), self.bytes, frame.length()) {
            self.bytes += frame.length();
            self.frames.push_back(frame);
        } else {
            drops.push_back((frame, Cause::QueueFull));
        }
    }

    pub(super) fn dequeue(&mut self, _now: Time, _drops: &mut Drops) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.bytes = self.bytes - frame.length();
        Some(frame)
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }
}
