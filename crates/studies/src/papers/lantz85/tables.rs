//! The tables as printed.

use serde::Serialize;

use super::data::PRINTED;

/// A table of the paper, as printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Its number in the paper.
    pub number: &'static str,
    /// The heads of its columns: configurations, line rates.
    pub columns: Vec<&'static str>,
    /// The rows of the table.
    pub lines: Vec<Line>,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// As printed: workstation in MHz, type of VAX, and which rate.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// The printed values, by column.
    pub cells: Vec<Cell>,
}

/// A value of a row, with its column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// The head of the column.
    pub column: &'static str,
    /// The value as the paper prints it, in the unit of its row.
    pub value: f64,
}

impl Table {
    /// The printed value of row `line` and column `column`; `None` where the table has none.
    pub fn value(&self, line: &str, column: &str) -> Option<f64> {
        let line = self.lines.iter().find(|one| one.name == line)?;
        line.cells.iter().find(|cell| cell.column == column).map(|cell| cell.value)
    }
}

/// All tables, in the paper's order.
pub(super) fn read() -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for &(number, line, column, unit, value) in &PRINTED {
        if tables.last().is_none_or(|table| table.number != number) {
            tables.push(Table { number, columns: Vec::new(), lines: Vec::new() });
        }
        let last = tables.len() - 1;
        add(&mut tables[last], line, unit, Cell { column, value });
    }
    tables
}

fn add(table: &mut Table, name: &'static str, unit: &'static str, cell: Cell) {
    if !table.columns.contains(&cell.column) {
        table.columns.push(cell.column);
    }
    match table.lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.cells.push(cell),
        None => table.lines.push(Line { name, unit, cells: vec![cell] }),
    }
}

/// A value that is known to be in the tables; the tables are part of this program, and every one is
/// read by a test.
pub(super) fn printed(tables: &[Table], number: &str, line: &str, column: &str) -> f64 {
    let table = tables.iter().find(|table| table.number == number);
    let value = table.and_then(|table| table.value(line, column));
    value.unwrap_or_else(|| panic!("table {number} has no `{line}` for `{column}`"))
}
