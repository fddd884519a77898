//! The program of the background stations: their operations and times.

use std::fmt;

use btu_medium::Stream;
use btu_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{Background, OperationTrace, Pattern, Pauses, Schedule};

/// When a station begins its transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationProgram {
    /// CONST.BAS: one after the other.
    Constant,
    /// NORM.BAS, and other distributions: with pauses between them.
    Paced {
        /// The pauses of the station.
        pauses: Pauses,
        /// Whether pauses follow the time at which the last transaction was due, not the one at
        /// which it ended.
        open_loop: bool,
    },
}

/// The work of a background station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationWork {
    /// Transactions of one pattern.
    Transactions {
        /// The pattern of each transaction.
        pattern: Pattern,
        /// When each transaction begins.
        program: StationProgram,
        /// Octets of a record.
        #[serde(rename = "record_bytes")]
        record: Bytes,
    },
    /// The operations of a trace at their times, again and again.
    Replay {
        /// The trace that is replayed.
        trace: OperationTrace,
    },
}

impl StationProgram {
    /// Whether the file of a record is opened before each transaction.
    pub const fn opens(self) -> bool {
        matches!(self, Self::Paced { .. })
    }

    /// Whether a slow server thins its own load, as the closed form assumes.
    pub const fn is_closed(self) -> bool {
        !matches!(self, Self::Paced { open_loop: true, .. })
    }

    /// The mean pause between transactions, in seconds.
    pub fn pause_seconds(self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Paced { pauses, .. } => pauses.mean_seconds(),
        }
    }

    /// The program as station `number` runs it from `start` on; every station draws its own pauses.
    pub fn start(self, seed: u64, number: u32, start: Time) -> Background {
        match self {
            Self::Constant => Background::Constant,
            Self::Paced { pauses, open_loop } => Background::Paced {
                pauses: pauses.stream(Stream::new(seed, &format!("station-{number}"))),
                schedule: if open_loop { Schedule::Open { due: start } } else { Schedule::Closed },
            },
        }
    }
}

impl StationWork {
    /// Operations of one transaction, each of which has its own time in a station's account; of a
    /// trace each operation has.
    pub const fn operations(&self) -> u64 {
        match self {
            Self::Transactions { pattern, program, .. } => pattern.operations(program.opens()),
            Self::Replay { .. } => 1,
        }
    }

    /// The program of transactions, if it has a closed form.
    pub const fn closed_program(&self) -> Option<StationProgram> {
        match self {
            Self::Transactions { program, .. } if program.is_closed() => Some(*program),
            _ => None,
        }
    }

    /// Octets of files that a transaction reads and writes on the average.
    pub fn octets(&self) -> [f64; 2] {
        match self {
            Self::Transactions { pattern, record, .. } => pattern.octets(*record),
            Self::Replay { trace } => trace.octets(),
        }
    }

    /// The size of a record; none of a trace.
    pub const fn record(&self) -> Option<Bytes> {
        match self {
            Self::Transactions { record, .. } => Some(*record),
            Self::Replay { .. } => None,
        }
    }

    /// Most octets that the files of one station hold.
    pub fn room(&self) -> Bytes {
        match self {
            Self::Transactions { pattern, record, .. } => pattern.room(*record),
            Self::Replay { trace } => trace.room(),
        }
    }

    /// Most files that one station has at a time.
    pub fn files(&self) -> usize {
        match self {
            Self::Transactions { .. } => 1,
            Self::Replay { trace } => trace.most_files(),
        }
    }
}

impl fmt::Display for StationProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Paced { pauses, open_loop } => {
                write!(f, "{pauses}{}", if *open_loop { ", open loop" } else { "" })
            }
        }
    }
}

impl fmt::Display for StationWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transactions { pattern, program, record } => {
                write!(f, "{pattern} of {record}, {program}")
            }
            Self::Replay { trace } => trace.fmt(f),
        }
    }
}
