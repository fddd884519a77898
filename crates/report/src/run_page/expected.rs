//! The predictions of the closed form and the simulator for the network file, next to the
//! measurements.

use super::{MEGABIT, RunReport};
use crate::html::{Block, Cell, Section, Table};

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let rows = &report.verdict.expected;
    let message = rows.first()?.message.count();
    let caption = format!("Goodput without a load, {message} B, Mb/s");
    let mut table = Table::new(&caption, &["component", "measured", "closed form", "simulator"], 1);
    for row in rows {
        let rates = [
            row.measured_bits_per_second,
            row.closed_form_bits_per_second,
            row.simulated_bits_per_second,
        ];
        let numbers = rates.map(|rate| Cell::number(rate.map(|rate| rate / MEGABIT)));
        table
            .rows
            .push([Cell::text(row.component.to_string())].into_iter().chain(numbers).collect());
    }
    let note = "Bulk TCP in full frames with its acknowledgements, as the closed form and the simulator have it on the network \
                file that the run was measured on. They know neither TCP's slow start nor a busy machine.";
    Section::of("Compared with the network file", note, vec![Block::Table(table)])
}
