//! Two processes that move messages.

use std::thread::yield_now;

use crate::library::MpiError;
use crate::sys::{Channel, Failure};
use crate::world;

/// The number of polls before the thread yields the processor, perhaps to the peer.
const LOOKS_BEFORE_YIELDING: u32 = 64;

/// The number of polls before the owner is asked whether the peer is still there: about half a
/// millisecond.
const LOOKS_BEFORE_ASKING: u32 = 4096;

/// This process and a peer.
pub struct Link(Channel);

impl Link {
    /// A separate channel to the other process. Both processes open their channels in an equal
    /// order.
    ///
    /// # Errors
    /// MPI was not initialised, or not for several links.
    pub fn open() -> Result<Self, MpiError> {
        let tag = world::admit()?;
        Channel::open(tag).map(Self).ok_or(MpiError::Early)
    }

    /// Sends `message` and fills `room`, both at the same time; an empty one is not transferred.
    /// The function calls `is_gone` from time to time to find out whether the peer is gone.
    ///
    /// # Errors
    /// The peer is gone, a message has another size, or MPI fails. After that MPI cannot be used
    /// any more in this process.
    #[inline]
    pub fn exchange(
        &mut self,
        message: &[u8],
        room: &mut [u8],
        mut is_gone: impl FnMut() -> bool,
    ) -> Result<(), MpiError> {
        let mut looks = 0u32;
        let look = || {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_BEFORE_YIELDING) {
                yield_now();
                if looks.is_multiple_of(LOOKS_BEFORE_ASKING) && is_gone() {
                    return Err(());
                }
            }
            Ok(())
        };
        self.0.transfer(message, room, look).map_err(|failure| match failure {
            Failure::Mpi(code) => MpiError::refused("move a message", code),
            Failure::Short | Failure::Long => MpiError::Size,
            Failure::Over => MpiError::Over,
            Failure::Asked(()) => MpiError::Gone,
        })
    }

    /// Lets the library continue unfinished transfers, while its owner waits for other events.
    ///
    /// # Errors
    /// MPI fails.
    pub fn progress(&mut self) -> Result<(), MpiError> {
        self.0.progress().map_err(|code| MpiError::refused("move what is under way", code))
    }
}
