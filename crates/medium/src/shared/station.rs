//! A station on a shared Ethernet: the frame that it sends next, and the frames behind it.

use btu_units::Span;

use super::backoff::Backoff;
use crate::frame::Frame;
use crate::queue::Queue;

/// The type that the module describes.
#[derive(Debug)]
pub(super) struct Station {
    /// How long a signal takes from the cable's beginning to here.
    pub(super) place: Span,
    /// The frame that is sent or waits for its turn at the cable.
    pub(super) frame: Option<Frame>,
    /// How often that frame has collided.
    pub(super) collisions: u8,
    /// Fractions of nanoseconds its frames have taken beyond whole ones.
    pub(super) remainder: u64,
    pub(super) backoff: Backoff,
    pub(super) queue: Queue,
}
