//! The means of tables A5 to A16, printed and recomputed.

use btu_stats::Means;
use serde::Serialize;

use super::rows::{Activity, Machine, Rows};

/// Printed with two decimals; a last digit that was cut instead of rounded is no misprint.
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
    pub(super) fn read(field: &str) -> Self {
        if field == "COMM" { Self::Network } else { Self::Host }
    }
}

/// The kind of mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeanKind {
    /// Sum over count.
    Arithmetic,
    /// Root of the product.
    Geometric,
    /// Count over the sum of reciprocals.
    Harmonic,
}

impl MeanKind {
    /// All three, in the paper's order.
    pub const ALL: [Self; 3] = [Self::Arithmetic, Self::Geometric, Self::Harmonic];

    /// As the paper writes it.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Arithmetic => "AM",
            Self::Geometric => "GM",
            Self::Harmonic => "HM",
        }
    }

    /// This one of three.
    pub const fn of(self, means: &Means) -> f64 {
        match self {
            Self::Arithmetic => means.arithmetic,
            Self::Geometric => means.geometric,
            Self::Harmonic => means.harmonic,
        }
    }

    pub(super) fn read(field: &str) -> Self {
        let found = Self::ALL.into_iter().find(|kind| kind.short() == field);
        found.unwrap_or_else(|| panic!("`{field}` is no mean"))
    }
}

/// A printed mean beside the one that its rows give.
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
    /// From the six rows above it.
    pub recomputed_seconds: f64,
    /// Whether they agree within 0.01 s.
    pub follows: bool,
}

/// Every printed mean of `machine`.
pub(super) fn check(rows: &Rows, machine: Machine) -> Vec<MeanCheck> {
    let own = rows.printed.iter().filter(|printed| printed.machine == machine);
    own.map(|printed| {
        let (table, six) = rows.six(machine, printed.activity, printed.half, printed.message);
        assert_eq!(table, printed.table, "a printed mean belongs to the table of its rows");
        let recomputed = printed.kind.of(&three(&six));
        MeanCheck {
            table,
            activity: printed.activity,
            half: printed.half,
            kind: printed.kind,
            message_bytes: printed.message,
            printed_seconds: printed.seconds,
            recomputed_seconds: recomputed,
            follows: (printed.seconds - recomputed).abs() <= TOLERANCE_SECONDS,
        }
    })
    .collect()
}

/// The means of times, which are positive in every table.
pub(super) fn three(seconds: &[f64]) -> Means {
    Means::of(seconds).unwrap_or_else(|| panic!("{seconds:?} are no times"))
}
