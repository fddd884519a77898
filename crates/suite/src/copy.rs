//! Copying large files under contention (CITI report 89-4): the order of trials, what a copy's time
//! consists of, and the background held at a level. Pure: no file, no socket, no clock.

#[macro_use]
mod names;

mod background;
mod cell;
mod chain;
mod effects;
mod file;
mod modelled;
mod nfs_writes;
mod order;
mod packets;
mod paper;
mod plan;
mod servo;
mod storage;
mod summary;
mod verdict;
mod warning;

pub use background::{Background, BackgroundError, BackgroundUse, DATAGRAM};
pub use cell::{CopyCell, way};
pub use chain::{Chain, Displacement, Link, wire_seconds};
pub use effects::{CopyChain, Fit, StorageEffect};
pub use file::{Cache, Direction, FileCopied, FileEnd, FilePlace, Marks, Program, Storage};
pub use modelled::Modelled;
pub use names::ProgramError;
pub use nfs_writes::NfsWrites;
pub use order::{Plot, plots};
pub use packets::{PacketChange, PacketCount, PacketSecond, Packets};
pub use paper::{PaperRow, PaperTime};
pub use plan::CopyPlan;
pub use servo::{Held, Hold, MOST_OFFERED, Mode, READING_INTERVAL, Servo, State};
pub use storage::{TwoByTwo, overlap};
pub use summary::{SCATTERED, Summary};
pub use verdict::{CopyRow, CopyVerdict, Wire};
