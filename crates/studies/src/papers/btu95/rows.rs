//! The paper's rows.

use std::fmt;

use btu_stats::Means;
use serde::Serialize;

use super::Configuration;
use super::data::{ALONE, ConcurrentTimes, PUBLISHED, Published, Six, TABLES};
use super::means::{Half, MeanKind};

/// The message sizes of the paper.
pub const MESSAGE_BYTES: [u64; 5] = [100, 1024, 1250, 4096, 65_536];

/// The indices of [`MESSAGE_BYTES`].
pub(super) const SIZES: [usize; 5] = [0, 1, 2, 3, 4];

/// One of the paper's machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Machine {
    /// The SPARC station 10 of Sun.
    #[serde(rename = "SPARC 10")]
    Sparc10,
    /// A workstation with an Alpha, of Digital.
    #[serde(rename = "DEC")]
    Dec,
    /// Personal computer with an 80486.
    #[serde(rename = "PC")]
    Pc,
    /// The Indy of Silicon Graphics.
    #[serde(rename = "SGI")]
    Sgi,
}

impl Machine {
    /// All four machines of the 1995 paper.
    pub const ALL: [Self; 4] = [Self::Sparc10, Self::Dec, Self::Pc, Self::Sgi];

    /// Its name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sparc10 => "SPARC 10",
            Self::Dec => "DEC",
            Self::Pc => "PC",
            Self::Sgi => "SGI",
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A host activity of the 1995 paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Activity {
    /// Floating-point arithmetic.
    #[serde(rename = "CPU")]
    Cpu,
    /// Work on the local disk.
    #[serde(rename = "I/O")]
    Io,
    /// A file transfer by FTP.
    #[serde(rename = "FTP")]
    Ftp,
}

impl Activity {
    /// All of them, in the order of Table 2.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Io, Self::Ftp];

    /// Its name in the paper.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Io => "I/O",
            Self::Ftp => "FTP",
        }
    }
}

/// One of Tables A5 to A16.
pub(super) fn table(machine: Machine, activity: Activity) -> &'static ConcurrentTimes {
    &TABLES[machine as usize][activity as usize]
}

/// The times of the six components, or of the host activity while each of them ran, in the paper's
/// order. `size` is an index into [`MESSAGE_BYTES`].
pub(super) fn six(machine: Machine, activity: Activity, half: Half, size: usize) -> Six {
    let table = table(machine, activity);
    match half {
        Half::Network => table.network[size],
        Half::Host => table.host[size],
    }
}

/// The times of the six components alone. `size` is an index into [`MESSAGE_BYTES`].
pub(super) fn baseline(machine: Machine, size: usize) -> Six {
    ALONE[machine as usize].network[size]
}

/// The time of a host activity alone.
pub(super) fn host_baseline(machine: Machine, activity: Activity) -> f64 {
    ALONE[machine as usize].host[activity as usize]
}

/// A printed mean of Tables A5 to A16. `size` is an index into [`MESSAGE_BYTES`].
pub(super) fn printed(
    machine: Machine,
    activity: Activity,
    half: Half,
    kind: MeanKind,
    size: usize,
) -> f64 {
    let table = table(machine, activity);
    let means = match half {
        Half::Network => &table.network_means,
        Half::Host => &table.host_means,
    };
    means[kind as usize][size]
}

/// Tables 4, 5 and A17 of a machine.
pub(super) fn published(machine: Machine) -> (Means, Configuration) {
    let Published { means, specint92, price_usd, system, processor, network } =
        PUBLISHED[machine as usize];
    let [arithmetic, geometric, harmonic] = means;
    let means = Means { arithmetic, geometric, harmonic };
    (means, Configuration { specint92, price_usd, system, processor, network })
}
