//! The settings that identify a cell of `btu copy`.

use std::fmt;

use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::{Background, Cache, Direction, Program, Storage};

/// A file, copied in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CopyCell {
    /// The program that copies the file.
    pub program: Program,
    /// The size of the file.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The end that connects and measures the time.
    #[serde(default)]
    pub direction: Direction,
    /// Its storage, at both ends.
    pub storage: Storage,
    /// Whether the source is in the page cache.
    #[serde(default)]
    pub cache: Cache,
    /// The other traffic on the network.
    #[serde(rename = "background_thousandths")]
    pub background: Background,
}

impl fmt::Display for CopyCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, background, .. } = self;
        write!(f, "{} {} B {} {background}", self.program_name(), size.count(), self.storage_name())
    }
}

/// A program, and that it gets the file where it does.
pub fn way(program: Program, direction: Direction) -> String {
    match direction {
        Direction::Put => program.to_string(),
        Direction::Get => format!("{program} get"),
    }
}

impl CopyCell {
    /// The program, and that it gets the file where it does.
    pub fn program_name(&self) -> String {
        way(self.program, self.direction)
    }

    /// The storage of the file, and whether it is in the page cache.
    pub fn storage_name(&self) -> String {
        match self.cache {
            Cache::Cold => self.storage.to_string(),
            Cache::Warm => format!("{} warm", self.storage),
        }
    }
}
