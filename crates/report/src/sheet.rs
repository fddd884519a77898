//! Tables and paragraphs in one plain style.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::head::TextOptions;
use crate::number::NOTHING;
use crate::paint::Paint;

/// No borders, one thin line under the head.
const QUIET: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table: the first `labels` columns hold words and are aligned left, the others hold numbers and
/// are aligned right.
pub(crate) struct Sheet {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    labels: usize,
}

impl Sheet {
    pub(crate) const fn new(head: Vec<String>, labels: usize) -> Self {
        Self { head, rows: Vec::new(), labels }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table without columns in which no row has anything; the first one stays.
    pub(crate) fn without_empty_columns(self) -> Self {
        let Self { head, rows, labels } = self;
        let has_any = |column: usize| {
            column == 0 || rows.iter().any(|row| row.get(column).is_some_and(|cell| is_full(cell)))
        };
        let kept: Vec<bool> = (0..head.len()).map(has_any).collect();
        let of = |cells: Vec<String>| -> Vec<String> {
            let kept = kept.iter().chain(std::iter::repeat(&true));
            cells.into_iter().zip(kept).filter_map(|(cell, kept)| kept.then_some(cell)).collect()
        };
        let labels = kept.iter().take(labels).filter(|kept| **kept).count();
        Self { head: of(head), rows: rows.into_iter().map(of).collect(), labels }
    }

    /// The table's lines, two blanks between columns, none at the ends.
    pub(crate) fn lines(self) -> Vec<String> {
        let mut table = Table::new();
        table
            .load_style(QUIET)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.head)
            .add_rows(self.rows);
        for (index, column) in table.column_iter_mut().enumerate() {
            let words = index < self.labels;
            column.set_cell_alignment(if words {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
            // The crossing of column and head line is one blank wide already.
            column.set_padding((u16::from(index > 0), 0));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The table's lines; where a terminal has no room for them, each row is a text with the heads of its cells.
    pub(crate) fn fitting(self, options: &TextOptions) -> Vec<String> {
        let one = |(head, cell): (&String, &String)| format!("{head} {cell}").trim().to_owned();
        let text = |row: &Vec<String>| -> String {
            let full = self.head.iter().zip(row).filter(|(_, cell)| is_full(cell));
            full.map(one).collect::<Vec<_>>().join("; ")
        };
        let texts: Vec<String> = self.rows.iter().map(text).collect();
        let lines = self.lines();
        if lines.iter().all(|line| columns(line) <= options.width) {
            return lines;
        }
        texts.iter().flat_map(|text| wrap(text, options.width, 4)).collect()
    }
}

/// Whether a cell has anything.
fn is_full(cell: &str) -> bool {
    !cell.is_empty() && cell != NOTHING
}

/// A section: its title, an explanation next to it (below it if there is no room) that readers may
/// skip, and its lines.
pub(crate) fn section(
    title: &str,
    note: &str,
    lines: Vec<String>,
    options: &TextOptions,
) -> Vec<String> {
    let (width, paint) = (options.width, Paint(options.colour));
    let heading = if columns(title) + 2 + columns(note) <= width {
        vec![format!("{}  {}", paint.title(title), paint.quiet(note)).trim_end().to_owned()]
    } else {
        let note = wrap(note, width, 0).into_iter().map(|line| paint.quiet(&line));
        let title = wrap(title, width, 0).into_iter().map(|line| paint.title(&line));
        title.chain(note).filter(|line| !line.is_empty()).collect()
    };
    [heading, lines].concat()
}

/// Sections with an empty line between them; those without lines are left out.
pub(crate) fn page(sections: Vec<Vec<String>>) -> String {
    let full = sections.into_iter().filter(|lines| !lines.is_empty());
    full.map(|lines| lines.join("\n")).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Breaks `text` between words into lines of at most `width` columns; later lines begin with
/// `indent` blanks.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    wrap_at(text, " ", width, indent)
}

/// Breaks `text` at `separator` only.
pub(crate) fn wrap_at(text: &str, separator: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split(separator) {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(separator) + columns(piece) <= width => {
                line.push_str(separator);
                line.push_str(piece);
            }
            Some(_) => lines.push(format!("{}{piece}", " ".repeat(indent))),
            None => lines.push(piece.to_owned()),
        }
    }
    lines
}

/// Columns that `text` takes in a terminal; every character in reports is one column wide.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut sheet = Sheet::new(vec!["what".to_owned(), "Mb/s".to_owned()], 1);
        sheet.row(vec!["SEND".to_owned(), "1230".to_owned()]);
        sheet.row(vec!["2xSEND+DR".to_owned(), "7".to_owned()]);
        assert_eq!(
            sheet.lines(),
            ["what       Mb/s", "───────────────", "SEND       1230", "2xSEND+DR     7"]
        );
    }

    #[test]
    fn columns_in_which_no_row_has_anything_are_dropped() {
        let words = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let mut sheet = Sheet::new(words(["what", "by", "Mb/s", "95 %"]), 2);
        sheet.row(words(["", "a", "-", ""]));
        sheet.row(words(["", "", "7", "-"]));
        let found: Vec<String> =
            sheet.without_empty_columns().lines().iter().map(|line| line.trim().into()).collect();
        assert_eq!(found[0], "what  by  Mb/s");
        assert!(found[2].starts_with('a') && found[3] == "7", "{found:?}");
    }

    #[test]
    fn rows_of_a_table_that_does_not_fit_are_texts() {
        let lines = |width| {
            let mut sheet = Sheet::new(["machine", "Mb/s", "price"].map(str::to_owned).to_vec(), 1);
            sheet.row(["a long name", "1230", "-"].map(str::to_owned).to_vec());
            sheet.fitting(&TextOptions { colour: false, width })
        };
        assert_eq!(lines(24)[0], "machine      Mb/s  price");
        assert_eq!(lines(23), ["machine a long name;", "    Mb/s 1230"]);
    }

    #[test]
    fn words_are_kept_whole() {
        assert_eq!(wrap("one two three four", 9, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrap("", 9, 2), [""]);
        assert_eq!(wrap("unbreakable", 5, 2), ["unbreakable"]);
    }
}
