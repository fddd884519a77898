//! `btu copy`, after CITI report 89-4: copies of large files under contention, the order of trials, and what a
//! copy's time consists of.

mod background;
mod breakdown;
mod cell;
mod chain;
mod effects;
mod modelled;
mod order;
mod packets;
mod paper;
mod plan;
mod storage;
mod summary;
mod verdict;
mod warning;

pub use background::{Background, BackgroundError, BackgroundUse};
pub use breakdown::CopyBreakdown;
pub use cell::{CopyCell, way};
pub use chain::{Chain, ChainFactor, Displacement};
pub use effects::{CopyChain, Fit, StorageEffect};
pub use modelled::Modelled;
pub use order::{Plot, plots};
pub use packets::{PacketChange, PacketSecond, Packets};
pub use paper::{PaperRow, PaperTime};
pub use plan::CopyPlan;
pub use storage::{TwoByTwo, overlap};
pub use summary::{SCATTERED, Summary};
pub use verdict::{CopyRow, CopyVerdict};

use crate::limits::DATAGRAM;
use btu_suite::copy::{
    Cache, Direction, FileEnd, FilePlace, Hold, MOST_OFFERED, Marks, Mode, PacketCount, Program,
    Servo, Storage,
};
