//! The cells of a rating, as lines and as raw values.

use btu_contract::record::Outcome;
use btu_studies::rate::{CellRecord, Row};
use btu_units::written_rate;

use crate::csv::RawRow;
use crate::study::{CellTable, raw_value, with_faults};

/// The cells of a run.
pub(super) fn cells(records: &[CellRecord]) -> CellTable {
    CellTable {
        head: CELL_HEAD.to_owned(),
        lines: records.iter().map(cell_line).collect(),
        raw: records.iter().map(raw_cell).collect(),
    }
}

fn raw_cell(cell: &CellRecord) -> RawRow {
    let mut raw = vec![
        raw_value("valid", cell.is_valid()),
        raw_value("block", cell.block + 1),
        raw_value("position", cell.position + 1),
    ];
    match cell.row {
        Row::Network { component, message, load } => {
            raw.extend([
                raw_value("component", component),
                raw_value("message_bytes", message.count()),
                raw_value("load", load),
            ]);
        }
        Row::Host { load } => raw.extend([
            raw_value("component", "none"),
            raw_value("message_bytes", ""),
            raw_value("load", load),
        ]),
    }
    if let Some(network) = &cell.network {
        raw.extend([
            raw_value("bytes", network.bytes.count()),
            raw_value("duration_seconds", network.duration.seconds()),
            raw_value("goodput_bits_per_second", network.goodput_bits_per_second),
            raw_value("loss_share", network.loss),
        ]);
    }
    if let Some(host) = &cell.host {
        raw.extend([
            raw_value("host_work", host.work),
            raw_value("host_duration_seconds", host.duration.seconds()),
            raw_value("overlap_share", host.overlap),
        ]);
    }
    let outcomes = cell
        .reports
        .iter()
        .filter_map(|placed| placed.result.as_ref().ok())
        .map(|report| &report.outcome);
    for outcome in outcomes {
        if let Outcome::Requested(requested) = outcome {
            let seconds = |share| {
                requested.round_trip.quantile(share).map_or(f64::NAN, |ns| ns as f64 * 1e-9)
            };
            raw.extend([
                raw_value("answers", requested.answers),
                raw_value("round_trip_p50_seconds", seconds(0.5)),
            ]);
        }
    }
    raw.push(raw_value("faults", cell.faults.join("; ")));
    raw
}

/// Above the lines of cells.
const CELL_HEAD: &str =
    "in block, cell, goodput or requests answered, the host activity at the same time";

fn cell_line(cell: &CellRecord) -> String {
    let answers =
        cell.reports.iter().filter_map(|placed| placed.result.as_ref().ok()).find_map(|report| {
            match &report.outcome {
                Outcome::Requested(requested) => Some(requested.answers),
                _ => None,
            }
        });
    let network = cell.network.as_ref().map_or_else(String::new, |network| {
        let what = answers.map_or_else(
            || format!("{:>15}", written_rate(network.goodput_bits_per_second)),
            |answers| format!("{answers:10} answers"),
        );
        format!("{what} in {}", network.duration)
    });
    let host =
        cell.host.as_ref().map_or_else(String::new, |host| format!("  host {}", host.duration));
    let line = format!("{:>2} {:<34} {network}{host}", cell.block + 1, cell.row.to_string());
    with_faults(&line, &cell.faults)
}
