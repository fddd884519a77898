//! One sheet, filled from the top: headings, lines of label, value, unit and note, and tables.

use rust_xlsxwriter::{Color, Format, FormatBorder, Formula, Worksheet, XlsxError};

use super::value::{SheetColumn, SheetValue};

/// The formats of cells.
#[derive(Debug, Clone)]
struct Styles {
    title: Format,
    heading: Format,
    input: Format,
    note: Format,
    result: Format,
}

/// A sheet during its construction.
pub(super) struct SheetBuilder {
    pub(super) sheet: Worksheet,
    name: String,
    styles: Styles,
    row: u32,
    /// Names of input cells and their references.
    pub(super) names: Vec<(String, String)>,
}

/// A table during its construction: its first row, and its columns so far.
#[derive(Debug)]
pub(super) struct TableBuilder {
    first: u32,
    columns: Vec<Vec<f64>>,
}

/// The content of a table's cell.
#[derive(Debug, Clone)]
pub(super) enum SheetCell {
    /// A worker sent a message.
    Label(String),
    /// A number that users may change, with its name.
    Input(f64, String),
    /// A number that follows from the drawing.
    Drawn(f64),
    /// A cell with a formula.
    Formula(SheetValue),
}

impl SheetBuilder {
    /// An empty sheet of this name.
    pub(super) fn new(name: &str, title: &str, about: &str) -> Result<Self, XlsxError> {
        let mut sheet = Worksheet::new();
        sheet.set_name(name)?;
        sheet.set_column_width(0, 46)?;
        for column in 1..9 {
            sheet.set_column_width(column, 21)?;
        }
        let mut page =
            Self { sheet, name: name.to_owned(), styles: Styles::new(), row: 0, names: Vec::new() };
        page.sheet.write_with_format(0, 0, title, &page.styles.title)?;
        page.sheet.write_with_format(1, 0, about, &page.styles.note)?;
        page.row = 3;
        Ok(page)
    }

    /// The name that formulas of other sheets use.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A heading after a free line.
    pub(super) fn heading(&mut self, text: &str) -> Result<(), XlsxError> {
        self.row += 1;
        self.sheet.write_with_format(self.row, 0, text, &self.styles.heading)?;
        self.row += 1;
        Ok(())
    }

    /// A line of words.
    pub(super) fn text(&mut self, text: &str) -> Result<(), XlsxError> {
        self.sheet.write(self.row, 0, text)?;
        self.row += 1;
        Ok(())
    }

    /// A line of words that may be skipped.
    pub(super) fn note(&mut self, text: &str) -> Result<(), XlsxError> {
        self.sheet.write_with_format(self.row, 0, text, &self.styles.note)?;
        self.row += 1;
        Ok(())
    }

    /// A number that may be changed.
    pub(super) fn input(
        &mut self,
        label: &str,
        unit: &str,
        number: f64,
        name: &str,
    ) -> Result<SheetValue, XlsxError> {
        self.words(label, unit)?;
        let value = self.put(1, SheetCell::Input(number, name.to_owned()))?;
        self.row += 1;
        Ok(value)
    }

    /// A word that may be changed.
    pub(super) fn input_word(
        &mut self,
        label: &str,
        note: &str,
        word: &str,
        name: &str,
    ) -> Result<String, XlsxError> {
        self.words(label, note)?;
        self.sheet.write_with_format(self.row, 1, word, &self.styles.input)?;
        let reference = self.reference(self.row, 1);
        self.names.push((name.to_owned(), reference.clone()));
        self.row += 1;
        Ok(reference)
    }

    /// A number that is as drawn and does not follow the inputs.
    pub(super) fn drawn(
        &mut self,
        label: &str,
        unit: &str,
        number: f64,
    ) -> Result<SheetValue, XlsxError> {
        self.words(label, unit)?;
        let value = self.put(1, SheetCell::Drawn(number))?;
        self.row += 1;
        Ok(value)
    }

    /// A number that follows the inputs.
    pub(super) fn computed(
        &mut self,
        label: &str,
        unit: &str,
        value: &SheetValue,
    ) -> Result<SheetValue, XlsxError> {
        self.words(label, unit)?;
        let value = self.put(1, SheetCell::Formula(value.clone()))?;
        self.row += 1;
        Ok(value)
    }

    /// A word that follows the inputs.
    pub(super) fn computed_word(
        &mut self,
        label: &str,
        formula: &str,
        word: &str,
    ) -> Result<(), XlsxError> {
        self.words(label, "")?;
        let formula = Formula::new(format!("={formula}")).set_result(word);
        self.sheet.write_formula_with_format(self.row, 1, formula, &self.styles.result)?;
        self.row += 1;
        Ok(())
    }

    /// The head of a table.
    pub(super) fn table(&mut self, head: &[&str]) -> Result<TableBuilder, XlsxError> {
        for (column, text) in head.iter().enumerate() {
            self.sheet.write_with_format(self.row, column as u16, *text, &self.styles.heading)?;
        }
        self.row += 1;
        Ok(TableBuilder { first: self.row, columns: vec![Vec::new(); head.len()] })
    }

    /// A row of a table; its values.
    pub(super) fn row(
        &mut self,
        table: &mut TableBuilder,
        cells: Vec<SheetCell>,
    ) -> Result<Vec<SheetValue>, XlsxError> {
        let mut values = Vec::with_capacity(cells.len());
        for (column, cell) in cells.into_iter().enumerate() {
            let value = self.put(column as u16, cell)?;
            table.columns[column].push(value.number);
            values.push(value);
        }
        self.row += 1;
        Ok(values)
    }

    /// A column of a table; of one without rows an empty cell.
    pub(super) fn column(&self, table: &TableBuilder, number: u16) -> SheetColumn {
        let numbers = table.columns[usize::from(number)].clone();
        let last = table.first + (numbers.len() as u32).max(1) - 1;
        let letter = letter(number);
        let text = format!("'{}'!${letter}${}:${letter}${}", self.name, table.first + 1, last + 1);
        SheetColumn { text, numbers }
    }

    /// The column of a table with its first row this number of lines below the next one.
    pub(super) fn column_below(&self, column: u16, lines: u32, numbers: Vec<f64>) -> SheetColumn {
        let first = self.row + lines + 1;
        let last = first + (numbers.len() as u32).max(1) - 1;
        let letter = letter(column);
        SheetColumn { text: format!("'{}'!${letter}${first}:${letter}${last}", self.name), numbers }
    }

    /// The row of the next cell, so that a formula can refer to its own row.
    pub(super) fn next_cell(&self, column: u16, number: f64) -> SheetValue {
        SheetValue::new(self.reference(self.row, column), number)
    }

    fn words(&mut self, label: &str, unit: &str) -> Result<(), XlsxError> {
        self.sheet.write(self.row, 0, label)?;
        self.sheet.write_with_format(self.row, 2, unit, &self.styles.note)?;
        Ok(())
    }

    fn put(&mut self, column: u16, cell: SheetCell) -> Result<SheetValue, XlsxError> {
        let (row, reference) = (self.row, self.reference(self.row, column));
        match cell {
            SheetCell::Label(text) => {
                self.sheet.write(row, column, text)?;
                Ok(SheetValue::new(reference, 0.0))
            }
            SheetCell::Input(number, name) => {
                self.sheet.write_with_format(row, column, number, &self.styles.input)?;
                if !name.is_empty() {
                    self.names.push((name, reference.clone()));
                }
                Ok(SheetValue::new(reference, number))
            }
            SheetCell::Drawn(number) => {
                self.sheet.write_with_format(row, column, number, &self.styles.note)?;
                Ok(SheetValue::new(reference, number))
            }
            SheetCell::Formula(value) => {
                let result = if value.number.is_nan() {
                    "saturated".to_owned()
                } else {
                    format!("{}", value.number)
                };
                let guarded = value.guarded();
                let formula = Formula::new(format!("={guarded}")).set_result(result);
                self.sheet.write_formula_with_format(row, column, formula, &self.styles.result)?;
                let may_be_word = guarded.contains("\"saturated\"");
                let words = if may_be_word { vec![reference.clone()] } else { Vec::new() };
                Ok(SheetValue { words, ..SheetValue::new(reference, value.number) })
            }
        }
    }

    fn reference(&self, row: u32, column: u16) -> String {
        format!("'{}'!${}${}", self.name, letter(column), row + 1)
    }
}

impl Styles {
    fn new() -> Self {
        Self {
            title: Format::new().set_bold().set_font_size(14),
            heading: Format::new().set_bold().set_border_bottom(FormatBorder::Thin),
            input: Format::new()
                .set_background_color(Color::RGB(0x00FF_F2CC))
                .set_border(FormatBorder::Thin),
            note: Format::new().set_font_color(Color::RGB(0x0060_6060)),
            result: Format::new(),
        }
    }
}

/// The letter of a column; sheets here have fewer than 26.
fn letter(column: u16) -> char {
    char::from(b'A' + (column as u8).min(25))
}
