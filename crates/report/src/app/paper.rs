//! What was measured next to what others found: the study's tables, number by number, and x11perf.

use btu_studies::app::{AppVerdict, PaperCell, PaperLine, PaperTable};

use crate::html::{Block, Cell, Section, Table};

/// The tables that were repeated, if any were.
pub(super) fn section(verdict: &AppVerdict) -> Option<Section> {
    let blocks = verdict.paper.iter().map(|table| Block::Table(shown(table))).collect();
    let note = "measured here (95 % interval), and printed there; rows and columns as in the study of 1985, whose \
                numbers have two digits";
    Section::of("Tables 3-1 to 8-2 of the study", note, blocks)
}

/// A row for each of the study's, with two columns for each of its columns.
fn shown(table: &PaperTable) -> Table {
    let mut columns: Vec<&str> = Vec::new();
    for cell in table.lines.iter().flat_map(|line| &line.cells) {
        if !columns.contains(&cell.column) {
            columns.push(cell.column);
        }
    }
    let name = format!("Table {}", table.number);
    let heads: Vec<String> = columns
        .iter()
        .flat_map(|column| [(*column).to_owned(), format!("{column}, printed")])
        .collect();
    let head: Vec<&str> =
        [name.as_str(), "unit"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut shown = Table::new(&name, &head, 2);
    shown.rows.extend(table.lines.iter().map(|line| row(line, &columns)));
    shown
}

fn row(line: &PaperLine, columns: &[&str]) -> Vec<Cell> {
    let pair = |column: &&str| {
        let cell: Option<&PaperCell> = line.cells.iter().find(|cell| cell.column == *column);
        let measured = cell.and_then(|cell| cell.measured.as_ref());
        [Cell::estimate(measured, 1.0), Cell::number(cell.map(|cell| cell.printed))]
    };
    let names = [Cell::text(line.name), Cell::text(line.unit)];
    names.into_iter().chain(columns.iter().flat_map(pair)).collect()
}

/// What an X server shows next to what x11perf measures there.
pub(super) fn x11perf(verdict: &AppVerdict) -> Option<Section> {
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
