//! `btu hosts doctor`: the features of this host that work or not, their impact, and the command that
//! fixes them.
//!
//! [`look`] reads the machine's state, [`judge`] makes findings from it and needs no machine.

mod facts;
mod judge;

pub use facts::{Facts, look};
pub use judge::judge;

pub(crate) use facts::may_administer_networks;
