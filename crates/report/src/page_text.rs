//! A report for a terminal: the result, its warnings, and its tables; figures as their tables.

use crate::head::TextOptions;
use crate::html::{Block, Cell, Page, PageWarning, Section, Table};
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// The page as text; sections for files only are left out.
pub fn page_text(report: &Page, options: &TextOptions) -> String {
    let sections = report.sections.iter().filter(|section| !section.appendix);
    let parts = [headline(report, options), summary(&report.warnings, options)].into_iter();
    page(
        parts
            .chain(sections.map(|section| part(section, options)))
            .chain([warnings(report, options)])
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
    let remarks = report.remarks.iter().flat_map(|remark| wrap(remark, options.columns(), 0));
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
        Block::Table(table) => sheet(table),
        Block::Figure(figure) => sheet(&figure.table),
    });
    section(&part.title, &part.note, blocks.collect::<Vec<_>>().join(&String::new()), options)
}

fn sheet(table: &Table) -> Vec<String> {
    let table = table.for_readers();
    let mut sheet = Sheet::new(table.head.clone(), table.labels);
    for row in &table.rows {
        sheet.row(row.iter().map(field).collect());
    }
    sheet.lines()
}

fn field(cell: &Cell) -> String {
    let interval = cell.interval().map_or_else(String::new, |interval| format!(" ({interval})"));
    cell.shown().to_owned() + &interval
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
