//! Frames in the order of their arrival, with their arrival times.

use std::collections::VecDeque;

use btu_units::{Bytes, Time};

use crate::frame::Frame;

/// First in, first out.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    frames: VecDeque<(Frame, Time)>,
    bytes: Bytes,
}

impl Fifo {
    pub(super) fn push(&mut self, frame: Frame, now: Time) {
        self.bytes += frame.length();
        self.frames.push_back((frame, now));
    }

    /// The oldest frame, and its arrival time.
    pub(super) fn pop(&mut self) -> Option<(Frame, Time)> {
        let oldest = self.frames.pop_front()?;
        self.bytes = self.bytes - oldest.0.length();
        Some(oldest)
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }
}
