//! Table 2, printed and recomputed.

use serde::Serialize;

use super::data::{PENALTIES, Six};
use super::means::Half;
use super::rows::{self, Activity, MESSAGE_BYTES, Machine, SIZES};

/// As for the means: two decimals, sometimes cut.
const TOLERANCE_SECONDS: f64 = 0.0101;

/// The activity that takes longer because the other one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The network activity, because the host activity runs.
    Network,
    /// The host activity, because the network activity runs.
    Host,
}

/// A cell of Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PenaltyCheck {
    /// The message size, in bytes.
    pub message_bytes: u64,
    /// The host activity that ran at the same time.
    pub activity: Activity,
    /// The activity that takes longer.
    pub side: Side,
    /// The penalty as Table 2 prints it, in seconds.
    pub printed_seconds: f64,
    /// The mean over the six components of how much longer it took than alone, gains counted as
    /// nothing.
    pub recomputed_seconds: f64,
    /// Like `recomputed_seconds`, with gains counted: the plain difference that the paper's text
    /// describes.
    pub signed_seconds: f64,
    /// Whether printed and recomputed agree within 0.01 s.
    pub follows: bool,
}

/// Every cell of `machine`.
pub(super) fn check(machine: Machine) -> Vec<PenaltyCheck> {
    let cells = SIZES.into_iter().flat_map(|index| {
        Activity::ALL.into_iter().flat_map(move |activity| {
            let [network, host] = PENALTIES[machine as usize][index][activity as usize];
            [(Side::Network, network), (Side::Host, host)]
                .map(|(side, printed)| cell(machine, index, activity, side, printed))
        })
    });
    cells.collect()
}

fn cell(
    machine: Machine,
    index: usize,
    activity: Activity,
    side: Side,
    printed: f64,
) -> PenaltyCheck {
    let differences = differences(machine, index, activity, side);
    let recomputed = differences.map(|seconds| seconds.max(0.0)).iter().sum::<f64>() / 6.0;
    PenaltyCheck {
        message_bytes: MESSAGE_BYTES[index],
        activity,
        side,
        printed_seconds: printed,
        recomputed_seconds: recomputed,
        signed_seconds: differences.iter().sum::<f64>() / 6.0,
        follows: (printed - recomputed).abs() <= TOLERANCE_SECONDS,
    }
}

/// The additional time of each of the six, compared with alone.
fn differences(machine: Machine, index: usize, activity: Activity, side: Side) -> Six {
    let (half, alone) = match side {
        Side::Network => (Half::Network, rows::baseline(machine, index)),
        Side::Host => (Half::Host, [rows::host_baseline(machine, activity); 6]),
    };
    let together = rows::six(machine, activity, half, index);
    std::array::from_fn(|at| together[at] - alone[at])
}

/// The sum of the six recomputed penalties of each message size.
pub(super) fn totals(machine: Machine) -> [f64; 5] {
    SIZES.map(|index| {
        let cells = Activity::ALL
            .into_iter()
            .flat_map(|activity| [Side::Network, Side::Host].map(|side| (activity, side)));
        cells
            .map(|(activity, side)| cell(machine, index, activity, side, 0.0).recomputed_seconds)
            .sum()
    })
}
