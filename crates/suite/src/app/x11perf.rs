//! Tests of x11perf next to the same work by requests of btu's own.

use serde::Serialize;

use super::{AppRow, Carrier, Protocol, Workload};

/// Arguments of the test of x11perf(1) that comes closest to a way of drawing; one of its units is
/// one item. A vector of the picture is 458 pixels long on average, and most rectangles are smaller
/// than 16 x 16 and stippled. Where each item waits for its answer, the item is of no account: the
/// test is a request that does nothing, and waits.
pub const fn x11perf_test(
    workload: Workload,
    protocol: Protocol,
) -> Option<&'static [&'static str]> {
    match (workload, protocol) {
        (Workload::Vectors, Protocol::Batched) => Some(&["-seg500"]),
        (Workload::Rectangles, Protocol::Batched) => Some(&["-srect10"]),
        (Workload::Vectors | Workload::Rectangles | Workload::Text, Protocol::StopAndWait) => {
            Some(&["-sync", "-noop"])
        }
        _ => None,
    }
}

/// The rate of a way of drawing next to that of the closest test of x11perf.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextToX11perf {
    /// The picture that is drawn.
    pub workload: Workload,
    /// The protocol: which end waits for which.
    pub protocol: Protocol,
    /// Arguments of x11perf.
    pub test: String,
    /// Items per second by btu's requests.
    pub items_per_second: f64,
    /// The same by x11perf.
    #[serde(rename = "x11perf_per_second")]
    pub x11perf: f64,
}

/// Every pair of rows that differ in nothing but the program that draws.
pub(super) fn next_to_x11perf(rows: &[AppRow]) -> Vec<NextToX11perf> {
    let pair = |row: &AppRow| {
        let test = x11perf_test(row.cell.workload, row.cell.protocol)?.join(" ");
        let mut cell = row.cell.clone();
        cell.carrier = Carrier::X11perf;
        let other = rows.iter().find(|other| other.cell == cell)?;
        Some(NextToX11perf {
            workload: cell.workload,
            protocol: cell.protocol,
            test,
            items_per_second: row.items_per_second?.value,
            x11perf: other.items_per_second?.value,
        })
    };
    rows.iter().filter(|row| row.cell.carrier == Carrier::X11).filter_map(pair).collect()
}
