//! A station on a ring: the queue before its transmitter.

use btu_units::Time;

use crate::account::Cause;
use crate::frame::Frame;
use crate::queue::Queue;

/// Frames of one station that wait for the token.
#[derive(Debug)]
pub(crate) struct RingStation {
    /// The frame in the transmitter: it was next when too little token holding time was left for
    /// it. It has left the queue, because a queue chooses only when a frame leaves.
    head: Option<Frame>,
    queue: Queue,
}

impl RingStation {
    pub(crate) fn new(queue: Queue) -> Self {
        Self { head: None, queue }
    }

    /// Queues a frame, or drops one.
    pub(crate) fn enqueue(&mut self, frame: Frame, now: Time) {
        self.queue.enqueue(frame, now);
    }

    /// The next frame to be sent.
    pub(crate) fn take(&mut self, now: Time) -> Option<Frame> {
        self.head.take().or_else(|| self.queue.dequeue(now))
    }

    /// Keeps a frame that could not be sent yet as the next one.
    pub(crate) fn keep(&mut self, frame: Frame) {
        self.head = Some(frame);
    }

    /// The next frame that its queue dropped.
    pub(crate) fn dropped(&mut self) -> Option<(Frame, Cause)> {
        self.queue.dropped()
    }

    /// The number of frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.head.is_some())
    }

    /// Whether no frame waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
