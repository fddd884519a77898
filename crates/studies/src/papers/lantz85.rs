//! Lantz, Nowicki and Theimer (1985): the limits of a distributed application.
//!
//! The authors round to two significant digits and ask for their numbers to be taken as orders of
//! magnitude; tables were measured with different versions of the software. The tests therefore
//! compare only ratios within one table.

mod data;
#[cfg(test)]
mod tests;

use super::{PrintedCell, PrintedRow, PrintedTable, ReferencePoint};
use data::PRINTED;

/// The lines of Table 8-2 by the head of their column, with their rate in bits per second.
const LINES: [(&str, f64); 5] =
    [("1200", 1200.0), ("2400", 2400.0), ("4800", 4800.0), ("9600", 9600.0), ("10M", 10e6)];

/// Every table of rates and sizes as printed, in the paper's order. A row names the workstation in
/// MHz, the type of VAX, and the rate.
pub fn tables() -> Vec<PrintedTable> {
    let mut tables: Vec<PrintedTable> = Vec::new();
    for &(number, line, column, unit, value) in &PRINTED {
        if tables.last().is_none_or(|table| table.number != number) {
            tables.push(PrintedTable::new("Table", number, &[]));
        }
        let last = tables.len() - 1;
        add(&mut tables[last], line, unit, PrintedCell { column, value });
    }
    tables
}

fn add(table: &mut PrintedTable, name: &'static str, unit: &'static str, cell: PrintedCell) {
    if !table.columns.contains(&cell.column) {
        table.columns.push(cell.column);
    }
    match table.lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.cells.push(cell),
        None => table.lines.push(PrintedRow { name, unit, cells: vec![cell] }),
    }
}

/// Table 8-2 as curves over the line's rate.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    let curves = [
        ("items added (construction)", "10,750,construction"),
        ("items added and shown (batch)", "10,750,batch"),
        ("items of a structured picture", "10,750,structure"),
    ];
    let point = |label, (rate, items): (f64, f64)| ReferencePoint {
        label,
        x: Some(rate),
        x_unit: "bits/s",
        y: items,
        unit: "items/s",
        source: "table 8-2",
    };
    let of = |(label, row)| over_lines(row).into_iter().map(move |pair| point(label, pair));
    curves.into_iter().flat_map(of).collect()
}

/// A row of Table 8-2: (line rate in bits per second, items per second).
fn over_lines(row: &str) -> Vec<(f64, f64)> {
    LINES.map(|(column, rate)| (rate, printed("8-2", row, column))).to_vec()
}

/// A value that is known to be in the tables; the tables are part of this program, and every one is
/// read by a test.
fn printed(table: &str, line: &str, column: &str) -> f64 {
    let found = PRINTED.iter().find(|one| (one.0, one.1, one.2) == (table, line, column));
    found.unwrap_or_else(|| panic!("table {table} has no `{line}` for `{column}`")).4
}
