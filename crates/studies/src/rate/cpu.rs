//! The CPU cost of moving bytes on the test machine.

use btu_stats::arithmetic_mean;
use btu_units::Bytes;
use serde::Serialize;

use btu_contract::load::Load;
use btu_contract::network::HostRole;
use btu_contract::record::{Outcome, Report, Shares};

use super::cells::Cells;
use super::context::Context;
use super::record::CellRecord;
use super::row::Row;

/// CPU time by load and message size, over the rated components.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuRow {
    /// The host load that ran at the same time as the components.
    pub load: Load,
    /// The message size of this row.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// CPU time of the test station's network workers per 10^9 bytes of payload: arithmetic mean
    /// over components of all time over all bytes. The kernel's work in interrupts on their behalf
    /// is in the machine's shares only.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// Busy share of all processors, by all stations and activities: 0 to 1.
    pub machine_busy: f64,
    /// Share of all processors in software interrupts: most of packet reception.
    pub machine_softirq: f64,
    /// Share of all processors that the hypervisor took for others.
    pub machine_steal: f64,
}

/// One row per load and message size that was measured.
pub(super) fn cpu(cells: &Cells, context: &Context) -> Vec<CpuRow> {
    let combinations =
        context.loads().flat_map(|load| context.messages().map(move |message| (load, message)));
    combinations.filter_map(|(load, message)| row(cells, context, load, message)).collect()
}

fn row(cells: &Cells, context: &Context, load: Load, message: Bytes) -> Option<CpuRow> {
    let of = |component| cells.of(Row::Network { component, message, load });
    let costs: Vec<f64> =
        context.rated().filter_map(|component| cpu_seconds_per_gigabyte(of(component))).collect();
    let shares = Shares::of(context.rated().flat_map(of).map(|record| &record.machine))?;
    Some(CpuRow {
        load,
        message,
        cpu_seconds_per_gigabyte: arithmetic_mean(&costs),
        machine_busy: shares.busy,
        machine_softirq: shares.softirq,
        machine_steal: shares.steal,
    })
}

/// CPU seconds of the test station's network workers over all of `repetitions`, per 10^9 bytes of
/// payload.
pub(super) fn cpu_seconds_per_gigabyte(repetitions: &[&CellRecord]) -> Option<f64> {
    let bytes: Bytes = repetitions
        .iter()
        .filter_map(|record| record.network.as_ref())
        .map(|network| network.bytes)
        .sum();
    let workers: Vec<&Report> =
        repetitions.iter().flat_map(|record| test_network_workers(record)).collect();
    let seconds: f64 = workers.iter().map(|report| report.cpu.used().seconds()).sum();
    (bytes > Bytes::ZERO && !workers.is_empty()).then(|| seconds / (bytes.count() as f64 / 1e9))
}

fn test_network_workers(record: &CellRecord) -> impl Iterator<Item = &Report> {
    record
        .reports
        .iter()
        .filter(|placed| placed.station == HostRole::Test)
        .filter_map(|placed| placed.result.as_ref().ok())
        .filter(|report| matches!(report.outcome, Outcome::Sent(_) | Outcome::Received(_)))
}
