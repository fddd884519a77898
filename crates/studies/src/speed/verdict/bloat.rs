//! The verdict in a word: do requests wait in queues while the network is full?

use serde::Serialize;

use super::SpeedRow;
use crate::speed::Phase;

/// A wait from which calls suffer, in seconds. Audio is sent in packets of 20 ms by default (RFC
/// 3551, section 4.2): a receiver that has to make up for longer waits holds back more than one
/// packet. The queues that cure it keep their wait below: targets are 5 ms (`CoDel`, RFC 8289, section
/// 4.4; cake the same) and 15 ms (PIE, RFC 8033, section 5.1).
const CALLS_SUFFER: f64 = 0.020;

/// How long requests wait in queues while TCP fills the network, in one word.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bloat {
    /// The word.
    pub word: BloatWord,
    /// The wait from which calls suffer, in seconds.
    pub bound_seconds: f64,
    /// The wait in each phase with TCP, in the plan's order.
    pub waits: Vec<Wait>,
}

/// The word of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BloatWord {
    /// In every phase requests wait less than the bound.
    Fine,
    /// The uncertainty of a wait includes the bound, and none is certainly above it.
    Borderline,
    /// In a phase requests wait longer than the bound.
    Bloated,
}

/// How much longer requests take in a phase than on the idle network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wait {
    /// The phase.
    pub phase: Phase,
    /// The difference of the medians, in seconds; below zero where no request waits and busy
    /// processors are quicker.
    pub seconds: f64,
    /// Half the 95 % interval of the difference, in seconds.
    pub uncertainty_seconds: f64,
}

impl Wait {
    /// Whether it is above its uncertainty.
    pub fn is_seen(&self) -> bool {
        self.seconds > self.uncertainty_seconds
    }
}

impl Bloat {
    /// The word for these waits; `None` if there are none.
    pub fn of(waits: Vec<Wait>) -> Option<Self> {
        let least = waits.iter().map(|wait| wait.seconds - wait.uncertainty_seconds);
        let most = waits.iter().map(|wait| wait.seconds + wait.uncertainty_seconds);
        let word = if least.reduce(f64::max)? > CALLS_SUFFER {
            BloatWord::Bloated
        } else if most.reduce(f64::max)? > CALLS_SUFFER {
            BloatWord::Borderline
        } else {
            BloatWord::Fine
        };
        Some(Self { word, bound_seconds: CALLS_SUFFER, waits })
    }
}

/// The verdict over the phases with TCP; `None` if none of them, or not the idle network, was
/// measured.
pub(super) fn bloat(rows: &[SpeedRow]) -> Option<Bloat> {
    let is_of_tcp =
        |row: &&SpeedRow| matches!(row.cell.phase, Phase::Up | Phase::Down | Phase::Both);
    let wait = |row: &SpeedRow| {
        let uncertainty_seconds = row.queue_uncertainty_seconds.unwrap_or(0.0);
        Some(Wait { phase: row.cell.phase, seconds: row.queue_seconds?, uncertainty_seconds })
    };
    Bloat::of(rows.iter().filter(is_of_tcp).filter_map(wait).collect())
}
