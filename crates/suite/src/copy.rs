//! Copying large files under contention (CITI report 89-4): the order of trials, what a copy's time
//! consists of, and the background held at a level. Pure: no file, no socket, no clock.

#[macro_use]
mod names;

mod file;
mod nfs_writes;
mod packets;
mod servo;

pub use file::{Cache, Direction, FileCopied, FileEnd, FilePlace, Marks, Program, Storage};
pub use names::ProgramError;
pub use nfs_writes::NfsWrites;
pub use packets::PacketCount;
pub use servo::{Held, Hold, MOST_OFFERED, Mode, READING_INTERVAL, Servo, State};
