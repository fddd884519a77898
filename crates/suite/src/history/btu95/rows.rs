//! The paper's rows.

use std::fmt;

use btu_stats::Means;
use serde::Serialize;

use super::Configuration;
use super::means::{Half, MeanKind};
use crate::history::table::{lines, number, whole};

const BASELINE: &str = include_str!("../../../data/btu95_baseline.csv");
const HOST_BASELINE: &str = include_str!("../../../data/btu95_host_baseline.csv");
const CONCURRENT: &str = include_str!("../../../data/btu95_concurrent.csv");
const PRINTED_MEANS: &str = include_str!("../../../data/btu95_printed_means.csv");
const RATINGS: &str = include_str!("../../../data/btu95_ratings.csv");

/// The message sizes of the paper.
pub const MESSAGE_BYTES: [u64; 5] = [100, 1024, 1250, 4096, 65_536];

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
    /// Silicon Graphics Indy.
    #[serde(rename = "SGI")]
    Sgi,
}

impl Machine {
    /// All four machines of the 1995 paper.
    pub const ALL: [Self; 4] = [Self::Sparc10, Self::Dec, Self::Pc, Self::Sgi];

    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sparc10 => "SPARC 10",
            Self::Dec => "DEC",
            Self::Pc => "PC",
            Self::Sgi => "SGI",
        }
    }

    fn read(field: &str) -> Self {
        let found = Self::ALL.into_iter().find(|machine| machine.name().replace(' ', "") == field);
        found.unwrap_or_else(|| panic!("`{field}` is no machine"))
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
    /// Floating point.
    #[serde(rename = "CPU")]
    Cpu,
    /// The local disk.
    #[serde(rename = "I/O")]
    Io,
    /// A file transfer.
    #[serde(rename = "FTP")]
    Ftp,
}

impl Activity {
    /// All of them, in the order of Table 2.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Io, Self::Ftp];

    /// As the paper calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Io => "I/O",
            Self::Ftp => "FTP",
        }
    }

    pub(super) fn read(field: &str) -> Self {
        let found =
            Self::ALL.into_iter().find(|activity| activity.name().replace('/', "") == field);
        found.unwrap_or_else(|| panic!("`{field}` is no host activity"))
    }
}

/// One time of tables A5 to A16.
struct Row {
    table: &'static str,
    machine: Machine,
    activity: Activity,
    half: Half,
    message: u64,
    seconds: f64,
}

/// One printed mean of tables A5 to A16.
pub(super) struct Printed {
    pub(super) table: &'static str,
    pub(super) machine: Machine,
    pub(super) activity: Activity,
    pub(super) half: Half,
    pub(super) kind: MeanKind,
    pub(super) message: u64,
    pub(super) seconds: f64,
}

/// Every raw row and every printed mean.
pub(super) struct Rows {
    concurrent: Vec<Row>,
    baseline: Vec<(Machine, u64, f64)>,
    host_baseline: Vec<(Machine, Activity, f64)>,
    pub(super) printed: Vec<Printed>,
}

impl Rows {
    pub(super) fn read() -> Self {
        let concurrent = lines::<7>(CONCURRENT).map(
            |[table, machine, activity, measured, _, message, seconds]| Row {
                table,
                machine: Machine::read(machine),
                activity: Activity::read(activity),
                half: Half::read(measured),
                message: whole(message),
                seconds: number(seconds),
            },
        );
        let baseline = lines::<4>(BASELINE).map(|[machine, _, message, seconds]| {
            (Machine::read(machine), whole(message), number(seconds))
        });
        let host_baseline = lines::<3>(HOST_BASELINE).map(|[machine, activity, seconds]| {
            (Machine::read(machine), Activity::read(activity), number(seconds))
        });
        Self {
            concurrent: concurrent.collect(),
            baseline: baseline.collect(),
            host_baseline: host_baseline.collect(),
            printed: printed().collect(),
        }
    }

    /// The six components' times (or the host activity's beside each of them), in the paper's
    /// order, with the table's name.
    pub(super) fn six(
        &self,
        machine: Machine,
        activity: Activity,
        half: Half,
        message: u64,
    ) -> (&'static str, [f64; 6]) {
        let rows: Vec<&Row> = self
            .concurrent
            .iter()
            .filter(|row| {
                (row.machine, row.activity, row.half, row.message)
                    == (machine, activity, half, message)
            })
            .collect();
        assert_eq!(rows.len(), 6, "{machine} {activity:?} {half:?} {message}: rows");
        (rows[0].table, std::array::from_fn(|index| rows[index].seconds))
    }

    /// The six components alone.
    pub(super) fn baseline(&self, machine: Machine, message: u64) -> [f64; 6] {
        let of_it =
            self.baseline.iter().filter(|(who, size, _)| (*who, *size) == (machine, message));
        let seconds: Vec<f64> = of_it.map(|(_, _, seconds)| *seconds).collect();
        assert_eq!(seconds.len(), 6, "{machine} {message}: baseline");
        std::array::from_fn(|index| seconds[index])
    }

    /// A host activity alone.
    pub(super) fn host_baseline(&self, machine: Machine, activity: Activity) -> f64 {
        let found =
            self.host_baseline.iter().find(|(who, what, _)| (*who, *what) == (machine, activity));
        found.unwrap_or_else(|| panic!("{machine} has no baseline of {activity:?}")).2
    }

    /// A printed mean.
    pub(super) fn printed(
        &self,
        machine: Machine,
        activity: Activity,
        half: Half,
        kind: MeanKind,
        message: u64,
    ) -> f64 {
        let wanted = (machine, activity, half, kind, message);
        let found = self
            .printed
            .iter()
            .find(|one| (one.machine, one.activity, one.half, one.kind, one.message) == wanted);
        found.unwrap_or_else(|| panic!("no printed mean for {wanted:?}")).seconds
    }
}

fn printed() -> impl Iterator<Item = Printed> {
    lines::<7>(PRINTED_MEANS).map(|[table, machine, activity, measured, kind, message, seconds]| {
        Printed {
            table,
            machine: Machine::read(machine),
            activity: Activity::read(activity),
            half: Half::read(measured),
            kind: MeanKind::read(kind),
            message: whole(message),
            seconds: number(seconds),
        }
    })
}

/// Tables 4, 5 and A17 of a machine.
pub(super) fn published(machine: Machine) -> (Means, Configuration) {
    let mut all = lines::<9>(RATINGS).filter(|fields| Machine::read(fields[0]) == machine);
    let [_, arithmetic, geometric, harmonic, specint92, price, system, processor, network] =
        all.next().unwrap_or_else(|| panic!("{machine} has no published rating"));
    let means = Means {
        arithmetic: number(arithmetic),
        geometric: number(geometric),
        harmonic: number(harmonic),
    };
    let configuration = Configuration {
        specint92: number(specint92),
        price_usd: number(price),
        system,
        processor,
        network,
    };
    (means, configuration)
}
