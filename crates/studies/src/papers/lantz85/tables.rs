//! The tables as printed.

use serde::Serialize;

use super::data::PRINTED;

/// A table of the paper, as printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrintedTable {
    /// Its number in the paper.
    pub number: &'static str,
    /// The heads of its columns: configurations, line rates.
    pub columns: Vec<&'static str>,
    /// The rows of the table.
    pub lines: Vec<PrintedRow>,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrintedRow {
    /// As printed: workstation in MHz, type of VAX, and which rate.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// The printed values, by column.
    pub cells: Vec<PrintedCell>,
}

/// A value of a row, with its column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PrintedCell {
    /// The head of the column.
    pub column: &'static str,
    /// The value as the paper prints it, in the unit of its row.
    pub value: f64,
}

impl PrintedTable {
    /// The printed value of row `line` and column `column`; `None` where the table has none.
    pub fn value(&self, line: &str, column: &str) -> Option<f64> {
        let line = self.lines.iter().find(|one| one.name == line)?;
        line.cells.iter().find(|cell| cell.column == column).map(|cell| cell.value)
    }
}

/// All tables, in the paper's order.
pub(super) fn read() -> Vec<PrintedTable> {
    let mut tables: Vec<PrintedTable> = Vec::new();
    for &(number, line, column, unit, value) in &PRINTED {
        if tables.last().is_none_or(|table| table.number != number) {
            tables.push(PrintedTable { number, columns: Vec::new(), lines: Vec::new() });
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

/// A value that is known to be in the tables; the tables are part of this program, and every one is
/// read by a test.
pub(super) fn printed(tables: &[PrintedTable], number: &str, line: &str, column: &str) -> f64 {
    let table = tables.iter().find(|table| table.number == number);
    let value = table.and_then(|table| table.value(line, column));
    value.unwrap_or_else(|| panic!("table {number} has no `{line}` for `{column}`"))
}
