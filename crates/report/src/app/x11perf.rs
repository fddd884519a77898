//! What an X server shows next to what x11perf measures there.

use btu_studies::app::AppVerdict;

use crate::html::{Block, Cell, Section, Table};

pub(super) fn section(verdict: &AppVerdict) -> Option<Section> {
    let head =
        ["picture", "protocol", "test of x11perf", "items/s", "by x11perf, /s", "difference, %"];
    let mut table = Table::new("Items per second at the X server", &head, 3);
    for row in &verdict.x11perf {
        let numbers =
            [row.items_per_second, row.x11perf, (row.items_per_second / row.x11perf - 1.0) * 100.0];
        let names = [row.workload.to_string(), row.protocol.to_string(), row.test.clone()];
        let cells = names.map(Cell::text).into_iter();
        table.rows.push(cells.chain(numbers.map(|number| Cell::number(Some(number)))).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "the test that comes closest; x11perf leaves the last answer's way out";
    Section::of("Next to x11perf", note, blocks)
}
