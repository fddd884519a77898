//! Which background program the stations run.

use std::fmt;

use btu_medium::Stream;
use btu_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::{Background, NormalPauses, Schedule, mean_pause_seconds};

/// The background program, as a plan has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationProgram {
    /// CONST.BAS: writes a record and reads it back, again and again.
    Constant,
    /// NORM.BAS: pauses, opens the file, writes a record and reads it back.
    Normal {
        /// Mean pause, before pauses are cut at zero.
        #[serde(rename = "mean_ns")]
        mean: Span,
        /// Standard deviation of pauses, before they are cut.
        #[serde(rename = "deviation_ns")]
        deviation: Span,
        /// Whether pauses follow the time at which the last transaction was due, not the one at which it ended.
        open_loop: bool,
    },
}

impl StationProgram {
    /// Operations of one transaction.
    pub const fn operations(self) -> u64 {
        match self {
            Self::Constant => 2,
            Self::Normal { .. } => 3,
        }
    }

    /// The mean pause between transactions, in seconds.
    pub fn pause_seconds(self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Normal { mean, deviation, .. } => mean_pause_seconds(mean.seconds(), deviation.seconds()),
        }
    }

    /// Whether a slow server thins its own load, as the closed form has it.
    pub const fn is_closed(self) -> bool {
        !matches!(self, Self::Normal { open_loop: true, .. })
    }

    /// The program as station `number` runs it from `start` on; every station draws its own pauses.
    pub fn start(self, seed: u64, number: u32, start: Time) -> Background {
        match self {
            Self::Constant => Background::Constant,
            Self::Normal { mean, deviation, open_loop } => Background::Normal {
                pauses: NormalPauses::new(mean, deviation, Stream::new(seed, &format!("station-{number}"))),
                schedule: if open_loop { Schedule::Open { due: start } } else { Schedule::Closed },
            },
        }
    }
}

impl fmt::Display for StationProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Normal { mean, deviation, open_loop } => {
                let open = if *open_loop { ", open loop" } else { "" };
                write!(f, "normal ({mean}, {deviation}{open})")
            }
        }
    }
}
