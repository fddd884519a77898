//! The statements of the text, compared with the tables.

use btu_stats::median;

use super::sensitivity::{self, Sensitivity};
use super::tables::{PrintedTable, printed};
use super::{bandwidth, workload};
use crate::papers::Claim;

/// Every sentence that can be checked, in the order of the paper.
pub(super) fn all(tables: &[PrintedTable]) -> Vec<Claim> {
    [pictures(tables), processors(tables), protocols(tables), networks(tables)].concat()
}

/// Sections 3 and 5.3: the pictures, and their cost.
fn pictures(tables: &[PrintedTable]) -> Vec<Claim> {
    let picture = workload::draw();
    let mean = picture.pixels as f64 / f64::from(picture.vectors);
    let bytes = |line: &str, column: &str| printed(tables, "5-2", line, column);
    let structured = bytes("rectangle structured", "Bitmap") / bytes("rectangle structured", "SDF");
    let unstructured =
        bytes("rectangle unstructured", "Bitmap") / bytes("rectangle unstructured", "SDF");
    vec![
        Claim::new(
            "section 3.1.1",
            "630 vectors, 288,364 pixels, 457 pixels each",
            format!(
                "{}, {}, {mean:.1} (lengths cut to whole pixels)",
                picture.vectors, picture.pixels
            ),
            picture.vectors == 630 && picture.pixels == 288_364,
        ),
        Claim::new(
            "section 3.1.1",
            "a regularity factor of 30: 780 items, 23 of them defined",
            format!("780 / 23 = {:.1}; 30 is the number of inverters", 780.0 / 23.0),
            false,
        ),
        Claim::new(
            "section 3.2",
            "430 vectors/s are .2 million pixels/s, 5 microseconds/pixel",
            format!("{:.3} million, {:.1} microseconds", 430.0 * mean / 1e6, 1e6 / (430.0 * mean)),
            true,
        ),
        Claim::new(
            "section 5.3",
            "without structure memory is saved by a factor of about two, with it by 37",
            format!("{unstructured:.2} and {structured:.1}"),
            true,
        ),
    ]
}

/// Section 4: workstations and hosts.
fn processors(tables: &[PrintedTable]) -> Vec<Claim> {
    let gains = |part: &str| {
        let mut all: Vec<_> =
            sensitivity::all(tables).into_iter().filter(|one| one.part.starts_with(part)).collect();
        all.sort_by(|a, b| b.sensitivity.total_cmp(&a.sensitivity));
        all
    };
    let say = |one: &Sensitivity| {
        format!(
            "{:.1} % ({} {})",
            (one.after / one.before - 1.0) * 100.0,
            one.configuration,
            one.rate
        )
    };
    let (workstation, host) = (gains("workstation"), gains("host"));
    let middle = |all: &[Sensitivity]| {
        median(&all.iter().map(|one| one.sensitivity).collect::<Vec<_>>()).unwrap_or_default()
    };
    let below = workstation.iter().filter(|one| one.sensitivity < host[0].sensitivity).count();
    let rate = |table, line, column| printed(tables, table, line, column);
    let faster = rate("4-4", "10,785,batch", "A-IP") > rate("4-4", "10,750,batch", "E-IP");
    vec![
        Claim::new(
            "section 4",
            "10 instead of 8 MHz yields up to 22 %",
            format!("Table 4-1: {} and {}", say(&workstation[0]), say(&workstation[1])),
            false,
        ),
        Claim::new(
            "section 4",
            "a VAX 780 instead of a 750 yields up to 50 %; at most 50 %",
            format!("Table 4-2: {} and {}", say(&host[0]), say(&host[1])),
            false,
        ),
        Claim::new(
            "section 4",
            "more sensitive to the workstation than to the host",
            format!(
                "median sensitivity {:.2} and {:.2}; but the host's {:.2} ({} {}) is above {below} of the workstation's {}",
                middle(&workstation),
                middle(&host),
                host[0].sensitivity,
                host[0].configuration,
                host[0].rate,
                workstation.len()
            ),
            true,
        ),
        Claim::new(
            "section 4",
            "some run faster with a VAX 785 over ARPANET than with a 750 on the local net",
            "Table 4-4: construction 160 and 130, batch 140 and 125",
            faster,
        ),
    ]
}

/// Section 5: the items in one message of the protocol.
fn protocols(tables: &[PrintedTable]) -> Vec<Claim> {
    let configurations = ["Local", "E-IP", "A-IP"];
    let line = |name: &str| {
        configurations.map(|column| printed(tables, "5-1", &format!("10,750,{name}"), column))
    };
    let over = |fast: [f64; 3], slow: [f64; 3]| {
        std::array::from_fn::<f64, 3, _>(|index| fast[index] / slow[index])
    };
    let [single, pipelined, batch, structured] = [
        line("incremental"),
        line("pipelined incremental"),
        line("batch unstructured"),
        line("batch structured"),
    ];
    let gains = |ratio: [f64; 3]| {
        let gains = ratio.map(|ratio| format!("{:.0} %", (ratio - 1.0) * 100.0));
        format!("{}, {} and {}", gains[0], gains[1], gains[2])
    };
    let factors = over(structured, batch);
    let vectors = |column| printed(tables, "3-1", "10,750,incremental", column);
    let (local, others) = (vectors("Local"), ["IKP", "PUP", "E-IP", "A-IP"].map(vectors));
    let (faster, remote) = (others.iter().filter(|rate| **rate > local).count(), others.len());
    vec![
        Claim::new(
            "section 5.1",
            "pipelining: 50 % local, 1000 to 1500 % remote",
            format!(
                "Table 5-1: {}; the last from 2 a second, one digit",
                gains(over(pipelined, single))
            ),
            true,
        ),
        Claim::new(
            "section 5.1",
            "remote is almost always faster than local, once pipelined",
            format!(
                "Table 5-1: Ethernet {} and ARPANET {} against {}; Table 3-1: {} of {remote} above the local {}",
                pipelined[1], pipelined[2], pipelined[0], faster, local
            ),
            false,
        ),
        Claim::new(
            "section 5.2",
            "batching: up to 500 % above pipelining",
            format!("Table 5-1: {}, so up to a factor of 5", gains(over(batch, pipelined))),
            false,
        ),
        Claim::new(
            "section 5.3",
            "structure: factors of 3 to 4, local and remote",
            format!("Table 5-1: {:.1}, {:.1} and {:.1}", factors[0], factors[1], factors[2]),
            false,
        ),
    ]
}

/// Section 8: the effect of the network's rate.
fn networks(tables: &[PrintedTable]) -> Vec<Claim> {
    let rate = |table, line, column| printed(tables, table, line, column);
    let lan = |line| (rate("8-1", line, "E3-IP") / rate("8-1", line, "A-IP") - 1.0) * 100.0;
    let ceilings = bandwidth::ceilings(tables);
    let structure = |column| rate("8-2", "10,750,structure", column);
    let load = rate("8-1", "10,750,construction", "E10-IP") * super::ITEM_BYTES;
    vec![
        Claim::new(
            "section 8",
            "the local network gains less than 50 % over ARPANET",
            format!(
                "Table 8-1: {:.0} % construction, {:.0} % batch",
                lan("10,750,construction"),
                lan("10,750,batch")
            ),
            false,
        ),
        Claim::new(
            "section 8",
            "230 items/s are 4600 bytes/s, about 40 kb/s, 0.4 % of the Ethernet",
            format!(
                "{load} bytes/s, {:.1} kb/s, {:.2} %",
                load * 8.0 / 1e3,
                load * 8.0 / 10e6 * 100.0
            ),
            true,
        ),
        Claim::new(
            "section 8",
            "at 1200 b/s the structure benchmark creates 7.4 items/s, close to 7.5",
            format!(
                "7.4 is Table 8-2's construction, {:.1} % of {}; structure is {}",
                ceilings[0].construction_share * 100.0,
                ceilings[0].items_per_second,
                structure("1200")
            ),
            false,
        ),
        Claim::new(
            "section 8",
            "84 items/s are twice the first entry of Table 5-1, and more than its last",
            format!(
                "{:.2} times 41; the last entry is 370, meant is 81 (batch unstructured)",
                structure("1200") / 41.0
            ),
            false,
        ),
        Claim::new(
            "section 8",
            "structure at 9600 b/s is about 15 % slower than over Ethernet",
            format!("{:.1} %", (1.0 - structure("9600") / structure("10M")) * 100.0),
            true,
        ),
    ]
}
