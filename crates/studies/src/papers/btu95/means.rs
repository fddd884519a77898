//! The means of tables A5 to A16, printed and recomputed.

use btu_stats::Means;
use serde::Serialize;

use super::rows::{self, Activity, MESSAGE_BYTES, Machine, SIZES};

/// Printed with two decimals; a last digit that was truncated instead of rounded is no misprint.
const TOLERANCE_SECONDS: f64 = 0.0101;

/// Which half of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Half {
    /// The network activity's times.
    Network,
    /// The host activity's times.
    Host,
}

impl Half {
    /// Both, in the order of the paper.
    pub(super) const ALL: [Self; 2] = [Self::Network, Self::Host];
}

/// The kind of mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeanKind {
    /// The sum over the count.
    Arithmetic,
    /// Root of the product.
    Geometric,
    /// Count over the sum of reciprocals.
    Harmonic,
}

impl MeanKind {
    /// All three, in the paper's order.
    pub const ALL: [Self; 3] = [Self::Arithmetic, Self::Geometric, Self::Harmonic];

    /// Its name in the paper.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Arithmetic => "AM",
            Self::Geometric => "GM",
            Self::Harmonic => "HM",
        }
    }

    /// The value of this kind, of all three.
    pub const fn of(self, means: &Means) -> f64 {
        match self {
            Self::Arithmetic => means.arithmetic,
            Self::Geometric => means.geometric,
            Self::Harmonic => means.harmonic,
        }
    }
}

/// A printed mean next to the one that its rows give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanCheck {
    /// The name of the table in the paper.
    pub table: &'static str,
    /// The host activity that ran at the same time.
    pub activity: Activity,
    /// The half of the table: the times of the network or of the host activity.
    pub half: Half,
    /// The kind of mean that is checked.
    pub kind: MeanKind,
    /// The message size, in bytes.
    pub message_bytes: u64,
    /// The mean as the paper prints it, in seconds.
    pub printed_seconds: f64,
    /// The mean of the six rows above it.
    pub recomputed_seconds: f64,
    /// Whether they agree within 0.01 s.
    pub follows: bool,
}

/// Every printed mean of `machine`.
pub(super) fn check(machine: Machine) -> Vec<MeanCheck> {
    let halves =
        Activity::ALL.into_iter().flat_map(|activity| Half::ALL.map(|half| (activity, half)));
    let means = halves.flat_map(|(activity, half)| {
        MeanKind::ALL
            .into_iter()
            .flat_map(move |kind| SIZES.map(|size| check_one(machine, activity, half, kind, size)))
    });
    means.collect()
}

fn check_one(
    machine: Machine,
    activity: Activity,
    half: Half,
    kind: MeanKind,
    size: usize,
) -> MeanCheck {
    let printed_seconds = rows::printed(machine, activity, half, kind, size);
    let recomputed_seconds = kind.of(&three(&rows::six(machine, activity, half, size)));
    MeanCheck {
        table: rows::table(machine, activity).name,
        activity,
        half,
        kind,
        message_bytes: MESSAGE_BYTES[size],
        printed_seconds,
        recomputed_seconds,
        follows: (printed_seconds - recomputed_seconds).abs() <= TOLERANCE_SECONDS,
    }
}

/// The means of times, which are positive in every table.
pub(super) fn three(seconds: &[f64]) -> Means {
    Means::of(seconds).unwrap_or_else(|| panic!("{seconds:?} are no times"))
}
