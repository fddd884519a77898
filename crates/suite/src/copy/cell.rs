//! What tells one cell of `btu copy` from another.

use std::fmt;

use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::{Background, Program, Storage};

/// A file, copied in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CopyCell {
    /// What copies.
    pub program: Program,
    /// How large the file is.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// What it stands on, at both ends.
    pub storage: Storage,
    /// What else is on the network.
    #[serde(rename = "background_thousandths")]
    pub background: Background,
}

impl fmt::Display for CopyCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, size, storage, background } = self;
        write!(f, "{program} {} B {storage} {background}", size.count())
    }
}
