//! The predictions of the closed form and the simulator for the network file, next to the
//! measurements.

use btu_studies::rate::ExpectedRow;

use super::{MEGABIT, RateText};
use crate::number::{NOTHING, or_dash};
use crate::sheet::Sheet;

/// Goodput of bulk TCP without a load: measured, by the closed form and by the simulator.
pub(super) fn lines(page: &RateText) -> Vec<String> {
    let Some(first) = page.verdict.expected.first() else { return Vec::new() };
    let head = ["", "measured", "closed form", "", "simulator", ""].map(str::to_owned);
    let mut sheet = Sheet::new(head.to_vec(), 1);
    for row in &page.verdict.expected {
        sheet.row(cells(row));
    }
    let title = format!("Compared with the network file, idle, {} B, Mb/s", first.message.count());
    let note = "the percentage is by how much the measured value differs: closed form and simulator know neither slow start nor a busy machine";
    page.section(&title, note, sheet.lines())
}

fn cells(row: &ExpectedRow) -> Vec<String> {
    let megabits = |rate: Option<f64>| or_dash(rate.map(|rate| rate / MEGABIT));
    let off = |expected: Option<f64>| {
        let ratio = row
            .measured_bits_per_second
            .zip(expected)
            .map(|(measured, expected)| measured / expected - 1.0);
        ratio.map_or_else(|| NOTHING.to_owned(), |off| format!("{:+.1} %", off * 100.0))
    };
    vec![
        row.component.to_string(),
        megabits(row.measured_bits_per_second),
        megabits(row.closed_form_bits_per_second),
        off(row.closed_form_bits_per_second),
        megabits(row.simulated_bits_per_second),
        off(row.simulated_bits_per_second),
    ]
}
