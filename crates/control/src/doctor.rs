//! `btu doctor`: what of this host will and will not work, why that matters, and the command that
//! fixes it.
//!
//! [`look`] asks the machine, [`judge`] makes findings of the answers and needs no machine.

mod facts;
mod judge;

pub use facts::{Facts, look};
pub use judge::judge;

pub(crate) use facts::may_administer_networks;
