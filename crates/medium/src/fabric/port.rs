//! The ports between a fabric and its driver.

use btu_units::Time;

use crate::account::Cause;
use crate::frame::Frame;

/// One of a fabric's ports: station `n` of the drawing is at port `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl Port {
    /// Its index in lists of ports.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a fabric's poll answers; see [`crate::Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The frame goes out at the port; it was due at this time.
    Deliver(Port, Frame, Time),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside.
    Duplicate(Frame),
    /// Nothing more before this time.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}
