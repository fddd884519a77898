//! A report as Markdown (GitHub's dialect), with figures as their tables.

use btu_units::controls;

use crate::html::{Block, Cell, Page, Section, Table};

/// The page as a file's content.
pub fn markdown(page: &Page) -> String {
    let marks: Vec<&str> = page.marks.iter().map(|mark| mark.word.as_str()).collect();
    let marks = if marks.is_empty() { String::new() } else { format!("**{}**", marks.join(", ")) };
    let head = [format!("# {}", escaped(&page.headline)), escaped(&page.title), marks].into_iter();
    let limit = page.summary.limit_sentence();
    let limit = (!limit.is_empty()).then(|| format!("{}.", escaped(&limit)));
    let remarks = page.remarks.iter().map(|remark| escaped(remark)).chain(limit);
    let sections = page.sections.iter().flat_map(section);
    let footer = page.footer.iter().map(|line| escaped(line));
    let meanings = page.marks.iter().map(|mark| format!("* {}: {}", mark.word, mark.meaning));
    let meanings = meanings.collect::<Vec<_>>().join("\n");
    let rule = std::iter::once("---".to_owned());
    let parts = head
        .chain(remarks)
        .chain([warnings(page)])
        .chain(sections)
        .chain(rule)
        .chain(footer)
        .chain([meanings]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn warnings(page: &Page) -> String {
    if page.warnings.is_empty() {
        return String::new();
    }
    let each = page.warnings.iter().map(|warning| {
        let advice = if warning.advice.is_empty() {
            String::new()
        } else {
            format!(" *Try: {}*", escaped(&warning.advice))
        };
        format!("* **{}**: {}.{advice}", escaped(&warning.title), escaped(&warning.observed))
    });
    format!("## Warnings\n\n{}", each.collect::<Vec<_>>().join("\n"))
}

fn section(section: &Section) -> Vec<String> {
    let blocks = section.blocks.iter().flat_map(|block| match block {
        Block::Text(text) => vec![escaped(text)],
        Block::Command(command) => vec![indented(command)],
        Block::Table(table) => vec![format!("**{}**", escaped(&table.caption)), sheet(table)],
        Block::Figure(figure) => {
            vec![format!("**{}**", escaped(&figure.table.caption)), sheet(&figure.table)]
        }
    });
    [format!("## {}", escaped(&section.title)), escaped(&section.note)]
        .into_iter()
        .chain(blocks)
        .collect()
}

/// Code in a fence that its content cannot close.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn sheet(table: &Table) -> String {
    let table = table.for_readers();
    let line = |words: Vec<String>| format!("| {} |", words.join(" | "));
    let head = line(table.head.iter().map(|word| escaped(word)).collect());
    let rule = (0..table.head.len())
        .map(|place| if place < table.labels { "---" } else { "---:" }.to_owned());
    let rows = table.rows.iter().map(|row| line(row.iter().map(field).collect()));
    [head, line(rule.collect())].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn field(cell: &Cell) -> String {
    let interval = cell.interval().map_or_else(String::new, |interval| format!(" ({interval})"));
    escaped(cell.shown()) + &interval
}

/// The text on one line, with all special characters of Markdown and HTML escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => out.extend(['\\', letter]),
            letter if controls(letter) => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
