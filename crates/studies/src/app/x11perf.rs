//! Tests of x11perf next to the same work by requests of btu's own.

use btu_contract::app::x11perf_test;
use serde::Serialize;

use super::{AppRow, Carrier, Protocol, Workload};

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
