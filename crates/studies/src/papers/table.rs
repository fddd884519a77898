//! Tables as printed.

use serde::Serialize;

/// A table or a figure of a paper, as printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrintedTable {
    /// What the paper calls it: `Table`, `Figure`.
    pub kind: &'static str,
    /// Its number in the paper.
    pub number: &'static str,
    /// What it is about, where the paper has several of one kind; empty if there is nothing to say.
    pub about: String,
    /// The heads of its columns.
    pub columns: Vec<&'static str>,
    /// The rows of the table.
    pub lines: Vec<PrintedRow>,
    /// Digits that the paper prints after the point, where the value does not need more of them.
    #[serde(skip)]
    pub decimals: usize,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrintedRow {
    /// The head of the row.
    pub name: &'static str,
    /// The unit of its values; empty where the columns have units of their own.
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
    /// A table without rows.
    pub(super) fn new(kind: &'static str, number: &'static str, columns: &[&'static str]) -> Self {
        let (about, columns, lines) = (String::new(), columns.to_vec(), Vec::new());
        Self { kind, number, about, columns, lines, decimals: 0 }
    }

    /// Adds a row with a value in every column.
    pub(super) fn row(&mut self, name: &'static str, unit: &'static str, values: &[f64]) {
        let cells = self.columns.iter().zip(values);
        let cells = cells.map(|(&column, &value)| PrintedCell { column, value }).collect();
        self.lines.push(PrintedRow { name, unit, cells });
    }
}

impl PrintedRow {
    /// The printed value in `column`; `None` where the row has none.
    pub fn value(&self, column: &str) -> Option<f64> {
        self.cells.iter().find(|cell| cell.column == column).map(|cell| cell.value)
    }
}
