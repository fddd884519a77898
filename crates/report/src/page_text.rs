//! A report for a terminal: the result, its warnings, and its tables; figures in dots, and as their tables.

use crate::head::TextOptions;
use crate::html::{Block, Cell, Figure, Page, PageWarning, Section, Table};
use crate::number::count;
use crate::paint::Paint;
use crate::pictures::drawn;
use crate::pipe::{PLOT_ROWS, legend, plotted};
use crate::sheet::{Sheet, columns, page, section, wrap};

/// The page as text; sections for files only are left out.
pub fn page_text(report: &Page, options: &TextOptions) -> String {
    let sections = report.sections.iter().filter(|section| !section.appendix);
    let parts = [headline(report, options), summary(&report.warnings, options)].into_iter();
    page(
        parts
            .chain(sections.map(|section| part(section, options)))
            .chain([warnings(report, options), footer(report, options)])
            .collect(),
    )
}

/// The sections of that title, as text; `None` where the page has none.
pub fn section_text(report: &Page, title: &str, options: &TextOptions) -> Option<String> {
    let wanted = report.sections.iter().filter(|section| section.title == title);
    let parts: Vec<Vec<String>> = wanted.map(|section| part(section, options)).collect();
    (!parts.is_empty()).then(|| page(parts))
}

fn headline(report: &Page, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let marks: Vec<&str> = report.marks.iter().map(|mark| mark.word.as_str()).collect();
    let marks = (!marks.is_empty()).then(|| marks.join(", "));
    let remarks = report.remarks.iter().chain(&marks);
    let remarks = remarks.flat_map(|remark| wrap(remark, options.columns(), 0));
    let headline = wrap(&report.headline, options.columns(), 2);
    let headline = headline.into_iter().map(|line| paint.strong(&line));
    headline.chain(remarks.map(|line| paint.quiet(&line))).collect()
}

/// One line that names the warnings, near the top.
fn summary(warnings: &[PageWarning], options: &TextOptions) -> Vec<String> {
    if warnings.is_empty() {
        return Vec::new();
    }
    let mut titles: Vec<&str> = Vec::new();
    for warning in warnings {
        if !titles.contains(&warning.title.as_str()) {
            titles.push(&warning.title);
        }
    }
    let text = format!("{} (at the end): {}", count(warnings.len(), "warning"), titles.join(", "));
    wrap(&text, options.columns(), 2)
        .iter()
        .map(|line| Paint(options.colour).warning(line))
        .collect()
}

/// One section as lines.
pub(crate) fn part(part: &Section, options: &TextOptions) -> Vec<String> {
    let blocks = part.blocks.iter().map(|block| match block {
        Block::Text(text) => wrap(text, options.columns(), 0),
        Block::Command(command) => command.lines().map(|line| format!("  {line}")).collect(),
        Block::Table(table) => fitted(table, options),
        Block::Figure(figure) => plots(figure, options)
            .into_iter()
            .chain([fitted(&figure.table, options)])
            .collect::<Vec<_>>()
            .join(&String::new()),
    });
    section(&part.title, &part.note, blocks.collect::<Vec<_>>().join(&String::new()), options)
}

/// Panels of a figure that are plotted in a text: of many, the table says more in less room.
const MOST_PLOTS: usize = 2;

/// The points of a panel's longest curve from which on a plot shows more than its table.
const FEWEST_TO_PLOT: usize = 3;

/// The figure in dots, a panel below the other, each with its legend.
fn plots(figure: &Figure, options: &TextOptions) -> Vec<Vec<String>> {
    if figure.panels.len() > MOST_PLOTS {
        return Vec::new();
    }
    let panels = figure.panels.iter().filter_map(|panel| drawn(figure, panel, &panel.x.label));
    let has_curve = |panel: &btu_chart::Panel| {
        panel.series.iter().any(|series| series.points.len() >= FEWEST_TO_PLOT)
    };
    let plot = |panel: btu_chart::Panel| {
        let mut lines = plotted(&panel, PLOT_ROWS, options);
        if panel.series.len() > 1 {
            lines.extend(legend(&panel, options));
        }
        lines
    };
    panels.filter(has_curve).map(plot).collect()
}

/// A table as wide as there is room: without intervals where they do not fit, and then in parts, one
/// below the other, each with the columns of words.
fn fitted(table: &Table, options: &TextOptions) -> Vec<String> {
    let table = table.for_readers();
    let all: Vec<usize> = (table.labels..table.head.len()).collect();
    let fits = |lines: &[String]| lines.iter().all(|line| columns(line) <= options.columns());
    for with_intervals in [true, false] {
        let lines = sheet(&table, &all, with_intervals);
        if fits(&lines) {
            return lines;
        }
    }
    let (mut parts, mut part): (Vec<Vec<String>>, Vec<usize>) = (Vec::new(), Vec::new());
    for column in all {
        part.push(column);
        if part.len() > 1 && !fits(&sheet(&table, &part, false)) {
            part.pop();
            parts.push(sheet(&table, &part, false));
            part = vec![column];
        }
    }
    parts.push(sheet(&table, &part, false));
    parts.join(&String::new())
}

/// The columns of words and these columns of numbers.
fn sheet(table: &Table, numbers: &[usize], with_intervals: bool) -> Vec<String> {
    let columns = || (0..table.labels).chain(numbers.iter().copied());
    let head = columns().filter_map(|column| table.head.get(column).cloned());
    let mut sheet = Sheet::new(head.collect(), table.labels);
    for row in &table.rows {
        let cells = columns().filter_map(|column| row.get(column));
        sheet.row(cells.map(|cell| field(cell, with_intervals)).collect());
    }
    sheet.without_empty_columns().lines()
}

fn field(cell: &Cell, with_interval: bool) -> String {
    let interval = cell.interval().filter(|_| with_interval);
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    cell.shown().to_owned() + &interval
}

/// Where the numbers come from.
fn footer(report: &Page, options: &TextOptions) -> Vec<String> {
    let lines = report.footer.iter().flat_map(|line| wrap(line, options.columns(), 2));
    lines.map(|line| Paint(options.colour).quiet(&line)).collect()
}

fn warnings(report: &Page, options: &TextOptions) -> Vec<String> {
    let (paint, width) = (Paint(options.colour), options.columns() - 4);
    let inside = |text: &str, indent| {
        wrap(text, width, indent).into_iter().map(|line| format!("    {line}"))
    };
    let each = report.warnings.iter().flat_map(|warning| {
        let advice =
            (!warning.advice.is_empty()).then(|| inside(&format!("try: {}", warning.advice), 5));
        let title = format!("  {}", paint.warning(&warning.title));
        std::iter::once(title)
            .chain(inside(&warning.observed, 0))
            .chain(advice.into_iter().flatten())
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        each
    } else {
        std::iter::once(paint.title("Warnings")).chain(each).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        let mut table = Table::new("Seconds", &["task", "idle"], 1);
        table.rows.push(vec![Cell::text("sort"), Cell::number(Some(1.25))]);
        let open = Section::of(
            "Times",
            "of every task",
            vec![Block::Table(table), Block::Text("All of them.".into())],
        );
        let hidden = Section::of("Settings", "", vec![Block::Text("sysctl".into())])
            .map(Section::into_appendix);
        let warning = PageWarning {
            title: "noise".into(),
            observed: "it was loud".into(),
            advice: "be quiet".into(),
        };
        let report = Page {
            headline: "1.25 s".into(),
            remarks: vec!["on veth".into()],
            warnings: vec![warning],
            sections: open.into_iter().chain(hidden).collect(),
            ..Page::default()
        };
        page_text(&report, &TextOptions { colour: false, width: 80 })
    }

    #[test]
    fn a_report_is_told_in_its_order_without_its_appendix() {
        insta::assert_snapshot!(text(), @r"
        1.25 s
        on veth

        1 warning (at the end): noise

        Times  of every task
        task  idle
        ──────────
        sort  1.25

        All of them.

        Warnings
          noise
            it was loud
            try: be quiet
        ");
    }
}
