//! The 1995 BTU paper: its tables as printed, and the ratings that follow from its raw rows.
//!
//! The paper's computation follows from its own tables: for a message size and a load the
//! *duration* is the geometric mean over the six components; for a size it is a mean over the three
//! loads (geometric for some machines, arithmetic for others); BTU is 32 Mb (4 MB) over it, rounded
//! to two decimals; and the rating is a mean of BTU over the five sizes.

mod corrected;
pub(crate) mod data;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::PrintedTable;
use data::{ALONE, COMPONENTS, PENALTIES, PUBLISHED, Six, TABLES};

pub(super) use corrected::reference_points;
pub use corrected::{Corrected, corrected};

/// The message sizes of the paper.
pub const MESSAGE_BYTES: [u64; 5] = [100, 1024, 1250, 4096, 65_536];

/// The host activities, in the order of Table 2.
const ACTIVITIES: [&str; 3] = ["CPU", "I/O", "FTP"];

/// The arithmetic, the geometric and the harmonic mean.
const MEANS: [&str; 3] = ["AM", "GM", "HM"];

btu_units::named! {
    /// One of the paper's machines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    pub enum Machine {
        /// The SPARC station 10 of Sun.
        #[serde(rename = "SPARC 10")]
        Sparc10 = "SPARC 10",
        /// A workstation with an Alpha, of Digital.
        #[serde(rename = "DEC")]
        Dec = "DEC",
        /// Personal computer with an 80486.
        #[serde(rename = "PC")]
        Pc = "PC",
        /// The Indy of Silicon Graphics.
        #[serde(rename = "SGI")]
        Sgi = "SGI",
    }
}

/// The data of a machine in Table 4.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// The `SPECint92` rating, a measure of the speed of integer work.
    pub specint92: f64,
    /// Price in US dollars of the time.
    pub price_usd: f64,
    /// The operating system of the machine.
    pub system: &'static str,
    /// The processor of the machine.
    pub processor: &'static str,
    /// The network interface of the machine.
    pub network: &'static str,
}

/// Tables 2, 4, 5 (which is also A17) and A1 to A16 as printed, misprints included.
pub(super) fn tables() -> Vec<PrintedTable> {
    let mut tables = Machine::ALL.map(penalties).to_vec();
    tables.extend([configurations(), ratings()]);
    tables.extend(Machine::ALL.map(alone));
    tables.push(hosts_alone());
    // The appendix has the machines in this order.
    for machine in [Machine::Dec, Machine::Sgi, Machine::Pc, Machine::Sparc10] {
        tables.extend((0..ACTIVITIES.len()).flat_map(|activity| together(machine, activity)));
    }
    tables
}

fn penalties(machine: Machine) -> PrintedTable {
    let columns = ["COMM by CPU", "CPU", "COMM by I/O", "I/O", "COMM by FTP", "FTP"];
    let about = format!("{machine}, penalties by message bytes");
    by_size(PrintedTable::new("Table", "2", &columns), about, |size| {
        PENALTIES[machine as usize][size].as_flattened().to_vec()
    })
}

fn configurations() -> PrintedTable {
    let mut table = PrintedTable::new("Table", "4", &["SPECint92", "price, USD"]);
    for machine in Machine::ALL {
        let about = &PUBLISHED[machine as usize].configuration;
        table.row(machine.name(), "", &[about.specint92, about.price_usd]);
    }
    table
}

fn ratings() -> PrintedTable {
    let empty = PrintedTable::new("Tables", "5 and A17", &MEANS);
    let mut table = PrintedTable { about: "ratings".to_owned(), decimals: 3, ..empty };
    for machine in Machine::ALL {
        table.row(machine.name(), "Mb/s", &PUBLISHED[machine as usize].means);
    }
    table
}

fn alone(machine: Machine) -> PrintedTable {
    let about = format!("{machine}, COMM alone, by message bytes");
    by_size(PrintedTable::new("Tables", "A1 to A4", &COMPONENTS), about, |size| {
        ALONE[machine as usize].network[size].to_vec()
    })
}

fn hosts_alone() -> PrintedTable {
    let about = "host activities alone".to_owned();
    let empty = PrintedTable::new("Tables", "A1 to A4", &ACTIVITIES);
    let mut table = PrintedTable { about, decimals: 2, ..empty };
    for machine in Machine::ALL {
        table.row(machine.name(), "seconds", &ALONE[machine as usize].host);
    }
    table
}

/// Both halves of one of Tables A5 to A16: a network activity and a host activity at the same time.
fn together(machine: Machine, activity: usize) -> [PrintedTable; 2] {
    let table = &TABLES[machine as usize][activity];
    let half = |who: &str, with: &str, times: &[Six; 5], means: &[[f64; 5]; 3]| {
        let columns = [&COMPONENTS[..], &MEANS[..]].concat();
        let about = format!("{machine}, {who} with {with}, by message bytes");
        by_size(PrintedTable::new("Table", table.name, &columns), about, |size| {
            [&times[size][..], &means.map(|mean| mean[size])[..]].concat()
        })
    };
    let host = ACTIVITIES[activity];
    [
        half("COMM", host, &table.network, &table.network_means),
        half(host, "COMM", &table.host, &table.host_means),
    ]
}

/// A table of seconds with a row for each message size.
fn by_size(empty: PrintedTable, about: String, values: impl Fn(usize) -> Vec<f64>) -> PrintedTable {
    let mut table = PrintedTable { about, decimals: 2, ..empty };
    for (size, name) in ["100", "1024", "1250", "4096", "65536"].into_iter().enumerate() {
        table.row(name, "seconds", &values(size));
    }
    table
}
