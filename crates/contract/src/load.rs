//! The load of a machine under test.

use serde::{Deserialize, Serialize};

btu_units::named! {
    /// The other work of the test machine at the same time.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Load {
        /// No load: the baseline.
        Idle = "idle",
        /// Arithmetic and memory (the paper's CPU).
        Cpu = "cpu",
        /// Reading a large file and copying it to another (the paper's I/O).
        Disk = "disk",
        /// An FTP transfer from active (the paper's FTP).
        Transfer = "transfer",
    }
}

impl Load {
    /// The loads that are host activities, without idle.
    pub const HOST: [Self; 3] = [Self::Cpu, Self::Disk, Self::Transfer];
}
