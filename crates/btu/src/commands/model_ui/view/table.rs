//! Tables that leave out their least important columns if there is no space.

use ratatui::style::Style;
use ratatui::text::{Line as Text, Span};

use super::{Palette, TITLE, clipped, width_of};

/// One column of numbers.
pub(super) struct TableColumn {
    pub(super) head: &'static str,
    pub(super) width: usize,
    /// The smaller, the longer it stays.
    pub(super) rank: usize,
    /// Cells, one for each row.
    pub(super) cells: Vec<String>,
}

impl TableColumn {
    /// A column that is as wide as its head and its cells.
    pub(super) fn new(head: &'static str, rank: usize, cells: Vec<String>) -> Self {
        let width = cells.iter().map(|cell| width_of(cell)).chain([head.len()]).max().unwrap_or(0);
        Self { head, width, rank, cells }
    }
}

/// Names of rows never get fewer columns than this, and no more than they need.
const NAME: usize = 10;

/// The table's lines: its title as the head of the names, then a line for each row.
pub(super) fn lines(
    title: &str,
    names: &[String],
    columns: &[TableColumn],
    width: usize,
    palette: Palette,
) -> Vec<Text<'static>> {
    let longest =
        names.iter().map(|name| width_of(name)).chain([width_of(title)]).max().unwrap_or(0);
    let kept = kept(columns, width.saturating_sub(NAME.min(longest)));
    let numbers: usize = kept.iter().map(|column| column.width + 2).sum();
    let name = longest.min(width.saturating_sub(numbers));
    let heads =
        kept.iter().map(|column| format!("  {:>width$}", column.head, width = column.width));
    let head: String =
        std::iter::once(format!("{:name$}", clipped(title, name))).chain(heads).collect();
    let mut lines = vec![Text::styled(head, TITLE)];
    for (place, text) in names.iter().enumerate() {
        let mut spans = vec![Span::raw(format!("{:name$}", clipped(text, name)))];
        for column in &kept {
            let cell = column.cells.get(place).map_or("", String::as_str);
            spans.push(Span::styled(
                format!("  {cell:>width$}", width = column.width),
                style(cell, palette),
            ));
        }
        lines.push(Text::from(spans));
    }
    lines
}

/// The most important columns that fit, in their own order.
fn kept(columns: &[TableColumn], room: usize) -> Vec<&TableColumn> {
    let taken = |rank: usize| -> usize {
        columns.iter().filter(|column| column.rank <= rank).map(|column| column.width + 2).sum()
    };
    columns.iter().filter(|column| taken(column.rank) <= room).collect()
}

fn style(cell: &str, palette: Palette) -> Style {
    match cell {
        "saturated" => palette.problem(),
        _ if cell.starts_with('>') => palette.warning(),
        _ => Style::new(),
    }
}
