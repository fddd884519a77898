//! One self-contained HTML file: it opens from disk, sends no request to any server, and is
//! readable without its script.
//!
//! Charts are drawn by plotly.js, which comes packed (see `library`) and is unpacked by the
//! browser. The file's own policy allows exactly two scripts, by their hashes, and no connection to
//! anywhere. The template language escapes texts; data for the script is in one JSON block in which
//! no tag can occur.

mod figure;
mod library;
mod page;
mod plotly;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use figure::{Axis, Figure, Layout, Mark as Drawn, Panel, Point, Role, Scale, Series};
pub use page::{Block, Cell, Mark, Page, PageWarning, Section, Table};

/// Draws the charts and applies the theme.
const SCRIPT: &str = include_str!("html/report.js");

const STYLE: &str = include_str!("html/style.css");

/// The page as a file's content.
pub fn html(page: &Page) -> String {
    let figures: Vec<Value> = figures(page).map(plotly::chart).collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("btu ", env!("CARGO_PKG_VERSION")));
                link rel="icon" href="data:,";
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the result" }
                (header(page))
                main id="content" {
                    (warnings(page))
                    @for (place, section) in page.sections.iter().enumerate() { (part(place, section)) }
                }
                (footer(page))
                @if !figures.is_empty() {
                    script type="application/json" id="figures" { (PreEscaped(data(&figures))) }
                    script type="text/plain" id="library" data-hash=(library::HASH) { (PreEscaped(library::packed())) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    };
    markup.into_string()
}

/// Every figure of a page.
pub(crate) fn figures(page: &Page) -> impl Iterator<Item = &Figure> {
    page.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    })
}

/// Every table of a page, those of figures among them.
pub(crate) fn tables(page: &Page) -> impl Iterator<Item = &Table> {
    tables_of(&page.sections)
}

/// Every table of these sections, those of figures among them.
pub(crate) fn tables_of(sections: &[Section]) -> impl Iterator<Item = &Table> {
    sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
        Block::Figure(figure) => Some(&figure.table),
        Block::Table(table) => Some(table),
        Block::Text(_) | Block::Command(_) => None,
    })
}

/// The browser's rights for the file: run these two scripts, apply styles, show pictures that the
/// page made itself.
fn policy() -> String {
    let own = STANDARD.encode(Sha256::digest(SCRIPT));
    let library = library::HASH;
    format!(
        "default-src 'none'; script-src 'sha256-{own}' 'sha256-{library}'; style-src 'unsafe-inline'; \
         img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
}

/// JSON in which no tag and no comment can begin.
fn data(figures: &[Value]) -> String {
    Value::from(figures)
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn header(page: &Page) -> Markup {
    html! {
        header {
            p.title { (page.title) }
            h1 { (unbroken(&numbers_whole(&page.headline))) }
            @if !page.marks.is_empty() {
                ul.marks aria-label="Marks" {
                    @for mark in &page.marks { li title=(mark.meaning) { (mark.word) } }
                }
            }
            @for remark in &page.remarks { p.remark { (remark) } }
            @if !page.summary.limit_sentence().is_empty() { p.remark { (page.summary.limit_sentence()) "." } }
        }
        nav aria-label="Contents" {
            @for (place, section) in page.sections.iter().enumerate() {
                a href=(format!("#part-{}", place + 1)) { (section.title) }
            }
        }
    }
}

fn warnings(page: &Page) -> Markup {
    html! {
        @if !page.warnings.is_empty() {
            section.warnings aria-labelledby="warnings" {
                h2 id="warnings" { (crate::number::count(page.warnings.len(), "warning")) }
                dl {
                    @for warning in &page.warnings {
                        dt { (warning.title) }
                        dd {
                            (with_code(&warning.observed))
                            @if !warning.advice.is_empty() { p.advice { "Try: " (with_code(&warning.advice)) } }
                        }
                    }
                }
            }
        }
    }
}

fn part(place: usize, section: &Section) -> Markup {
    let id = format!("part-{}", place + 1);
    html! {
        section id=(id) aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (section.title) }
            @if !section.note.is_empty() { p.note { (with_code(&section.note)) } }
            @for block in &section.blocks {
                @match block {
                    Block::Text(text) => p { (with_code(text)) },
                    Block::Command(command) => pre { code { (command) } },
                    // What is for the record alone is longer than all else; on paper it stays folded.
                    Block::Table(table) if section.appendix => {
                        details.record { summary { (format!("{} ({})", table.caption, table.rows.len())) } (sheet(table)) }
                    },
                    Block::Table(table) => (sheet(table)),
                    Block::Figure(figure) => (drawn(figure)),
                }
            }
        }
    }
}

/// A figure: its place, buttons that the script fills, and its table. The table is open until the
/// script has drawn the figure.
fn drawn(figure: &Figure) -> Markup {
    html! {
        figure id=(figure.name) {
            figcaption { (figure.title) }
            div.tools hidden {}
            div class=(class(figure)) hidden
                role="img" aria-label=(format!("Chart: {}. The table below says the same.", figure.title)) {}
            details open {
                summary { "Table" }
                (sheet(&figure.table))
            }
        }
    }
}

/// Its height by the panels that lie one below the other.
fn class(figure: &Figure) -> &'static str {
    match (figure.layout, figure.panels.len()) {
        (Layout::SideBySide, _) => "chart",
        (Layout::Below, ..=2) => "chart tall",
        (Layout::Below, _) => "chart tall tallest",
    }
}

fn sheet(table: &Table) -> Markup {
    let table = &table.for_readers();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table {
                caption { (table.caption) }
                thead { tr { @for (place, word) in table.head.iter().enumerate() {
                    @if place < table.labels { th.label scope="col" { (broken(word, SHORT)) } }
                    @else { th scope="col" { (unbroken(word)) } }
                } } }
                tbody { @for row in &table.rows { tr {
                    @for (place, cell) in row.iter().enumerate() {
                        @match shade(table, cell) {
                            Some(style) => td style=(style) { (cell.shown()) },
                            None => (field(cell, place < table.labels)),
                        }
                    }
                } } }
            }
        }
    }
}

/// The background of a number in a heat map: darker for larger numbers, by equal ratios.
fn shade(table: &Table, cell: &Cell) -> Option<String> {
    let logarithm = |cell: &Cell| match cell {
        Cell::Number { value, .. } if *value > 0.0 => Some(value.ln()),
        Cell::Number { .. } | Cell::Text(_) | Cell::Nothing => None,
    };
    let own = logarithm(cell).filter(|_| table.shaded)?;
    let all = || table.rows.iter().flatten().filter_map(logarithm);
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let share = if high > low { (own - low) / (high - low) } else { 0.0 };
    Some(format!(
        "background: color-mix(in srgb, var(--colour-2) {:.0}%, transparent)",
        5.0 + 55.0 * share
    ))
}

/// Longer words may be broken at points and underscores, as names of settings are: on a phone they
/// would hide their values.
const LONG: usize = 24;

/// Shorter labels, such as sizes with their unit, stay on one line.
const SHORT: usize = 8;

fn label_text(text: &str) -> Markup {
    if text.chars().count() <= SHORT {
        return unbroken(&text.replace(' ', "\u{a0}"));
    }
    broken(text, LONG)
}

/// A text whose words do not end a line at their hyphens, as names such as `window-8` would. The
/// letters are those of the text, so that a name can be copied and found.
fn unbroken(text: &str) -> Markup {
    let is_name = |word: &str| word.contains('-') && word.len() > 1 && word.chars().count() <= LONG;
    html! { @for word in text.split_inclusive(' ') {
        @if is_name(word.trim_end()) { span.whole { (word.trim_end()) } @if word.ends_with(' ') { " " } } @else { (word) }
    } }
}

/// Units that stay on the line of their number.
const UNITS: [&str; 10] = ["ns", "us", "ms", "s", "%", "b/s", "kb/s", "Mb/s", "Gb/s", "times"];

/// A text in which no line ends between a number and its unit.
fn numbers_whole(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for word in text.split(' ') {
        let unit = word.trim_end_matches([',', ';', ':', ')']);
        let follows_number = whole.ends_with(|last: char| last.is_ascii_digit());
        if !whole.is_empty() {
            whole.push(if follows_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        whole.push_str(word);
    }
    whole
}

/// A text whose words may be broken at points and underscores, if one has more letters than `most`.
fn broken(text: &str, most: usize) -> Markup {
    let is_long = text.split(' ').any(|word| word.chars().count() > most);
    let parts: Vec<&str> =
        if is_long { text.split_inclusive(['.', '_', ',', '/']).collect() } else { vec![text] };
    html! { @for (place, part) in parts.iter().enumerate() {
        @if place > 0 { wbr; } (unbroken(part))
    } }
}

/// A text with commands, options and settings between backquotes, as terminals show them.
fn with_code(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // Without its partner a backquote is a letter as any other.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! { @for (place, part) in parts.iter().enumerate() {
        @if place % 2 == 1 { code { (part) } } @else { (part) }
    } }
}

fn field(cell: &Cell, label: bool) -> Markup {
    html! {
        @if label { th scope="row" { (label_text(cell.shown())) } }
        @else if let Some(interval) = cell.interval() {
            td { (cell.shown()) small { (interval) } }
        } @else { td { (cell.shown()) } }
    }
}

fn footer(page: &Page) -> Markup {
    html! {
        footer {
            @for line in &page.footer { p { (line) } }
            @if !page.marks.is_empty() {
                dl { @for mark in &page.marks { dt { (mark.word) } dd { (mark.meaning) } } }
            }
            @if figures(page).next().is_some() {
                p.note { "Charts by plotly.js, Copyright Plotly, Inc., MIT licence. This file is complete: it loads nothing from the network." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_broken_at_their_hyphens() {
        let label = |text: &str| label_text(text).into_string();
        assert_eq!(label("window-8"), "<span class=\"whole\">window-8</span>");
        assert_eq!(
            label("stop-and-wait over a line"),
            "<span class=\"whole\">stop-and-wait</span> over a line"
        );
        assert_eq!(label("10 Mb/s"), "10\u{a0}Mb/s");
        assert_eq!(label("- 8 to 16 KiB"), "- 8 to 16 KiB");
        // A line ends neither in an arrow nor before a unit.
        assert_eq!(
            unbroken(&numbers_whole("2.15 s -> 42.4 ms, home")).into_string(),
            "2.15\u{a0}s <span class=\"whole\">-&gt;</span> 42.4\u{a0}ms, home"
        );
        // A longer name may be broken, so that it does not hide its values on a phone.
        assert!(!label(&"long-".repeat(5)).contains("whole"));
    }
}
