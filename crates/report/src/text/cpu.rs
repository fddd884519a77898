//! The CPU cost of moving bytes on the test machine.

use btu_stats::arithmetic_mean;
use btu_studies::rate::CpuRow;
use btu_units::Bytes;

use super::rates::called;
use super::{RateText, size_head};
use crate::number::{NOTHING, or_dash, percent};
use crate::sheet::Sheet;

/// CPU seconds by load and message size, and the other load of the machine meanwhile.
pub(super) fn lines(page: &RateText) -> Vec<String> {
    let rows = &page.verdict.cpu;
    if rows.is_empty() {
        return Vec::new();
    }
    let sizes = page.messages();
    let head = std::iter::once(String::new())
        .chain(sizes.iter().map(|&size| size_head(size)))
        .chain(["busy %", "softirq %", "steal %"].map(str::to_owned));
    let mut sheet = Sheet::new(head.collect(), 1);
    for load in page.verdict.per_load.iter().map(|of| of.load) {
        let of_load: Vec<&CpuRow> = rows.iter().filter(|row| row.load == load).collect();
        let costs = sizes.iter().map(|&size| cost(&of_load, size));
        let shares = [
            |row: &CpuRow| row.machine_busy,
            |row: &CpuRow| row.machine_softirq,
            |row: &CpuRow| row.machine_steal,
        ];
        let shares = shares.map(|share| mean(&of_load, share));
        sheet.row(std::iter::once(called(load)).chain(costs).chain(shares).collect());
    }
    let note = "network worker on test; right: shares of all processors";
    page.section("CPU, seconds per gigabyte", note, sheet.lines())
}

fn cost(rows: &[&CpuRow], message: Bytes) -> String {
    or_dash(
        rows.iter().find(|row| row.message == message).and_then(|row| row.cpu_seconds_per_gigabyte),
    )
}

fn mean(rows: &[&CpuRow], share: fn(&CpuRow) -> f64) -> String {
    let shares: Vec<f64> = rows.iter().map(|row| share(row)).collect();
    arithmetic_mean(&shares).map_or_else(|| NOTHING.to_owned(), percent)
}
