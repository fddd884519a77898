//! The report of a run in every format: its content, its size, and that no text of a run can break
//! its format.

use std::sync::LazyLock;

use btu_contract::load::Load;
use btu_report::html::{Block, Cell, Page, Table, html};
use btu_report::{RuleFacts, RunMark, csv, markdown, page_workbook, run_marks, svg};
use btu_studies::papers::{Study, btu95::corrected};
use btu_studies::rate::{Obstacle, Row};
use btu_units::Bytes;
use proptest::prelude::*;

use crate::run::SampleRun;

/// A report with its script must be smaller than this, so that it can be sent by mail.
const MOST_BYTES: usize = 3_000_000;

#[test]
fn markdown_says_everything() {
    insta::assert_snapshot!(markdown(&SampleRun::new().page()));
}

/// A pivot needs one value for a table, a row and a column; a sheet needs a name; a size is a
/// number.
#[test]
fn b10_every_number_has_a_key_of_its_own() {
    let page = SampleRun::new().page();
    let text = csv(&page);
    let mut keys = std::collections::BTreeSet::new();
    for line in text.lines().skip(1) {
        // The last four fields are numbers and what is shown, which may be quoted but holds no
        // comma before them.
        let key = first_fields(line, 3);
        assert!(keys.insert(key.clone()), "twice: {key}");
    }
    assert!(
        text.contains("\"BTU by message size, Mb/s (as Table A17)\",1024,\"loaded, AM\","),
        "{text}"
    );
    let sizes = tables(&page)
        .into_iter()
        .find(|table| table.caption.starts_with("BTU by message size"))
        .unwrap();
    assert!(
        matches!(sizes.rows[0][0], Cell::Number { value, .. } if (value - 100.0).abs() < 1e-9),
        "{:?}",
        sizes.rows[0][0]
    );
}

/// The first fields of a line of CSV, unparsed.
fn first_fields(line: &str, wanted: usize) -> String {
    let (mut quoted, mut found) = (false, 0);
    let end = line.char_indices().find(|(_, letter)| {
        quoted ^= *letter == '"';
        found += usize::from(*letter == ',' && !quoted);
        found == wanted
    });
    end.map_or(line, |(place, _)| &line[..place]).to_owned()
}

fn tables(page: &Page) -> Vec<&Table> {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    blocks
        .filter_map(|block| match block {
            Block::Table(table) => Some(table),
            Block::Figure(figure) => Some(&figure.table),
            Block::Text(_) | Block::Command(_) => None,
        })
        .collect()
}

#[test]
fn csv_has_a_line_for_each_number() {
    let text = csv(&SampleRun::new().page());
    let lines: Vec<&str> = text.split("\r\n").collect();
    // The first line of each table: the whole is long without further information.
    let table = |line: &str| line.split(',').next().unwrap_or_default().to_owned();
    let mut seen = Vec::new();
    let first = lines.iter().filter(|line| {
        let new = !seen.contains(&table(line));
        seen.push(table(line));
        new
    });
    insta::assert_snapshot!(first.copied().collect::<Vec<_>>().join("\n"));
    assert!(lines.len() > 400, "{}", lines.len());
}

#[test]
fn the_picture_is_the_same_every_time() {
    let picture = svg(&SampleRun::new().page()).unwrap();
    assert_eq!(Some(&picture), svg(&SampleRun::new().page()).as_ref());
    let names: Vec<&str> =
        picture.split("data-series=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    insta::assert_snapshot!(names.join("\n"));
}

#[test]
fn a_workbook_has_a_sheet_for_each_table() {
    let page = SampleRun::new().page();
    let bytes = page_workbook(&page).unwrap();
    assert_eq!(bytes, page_workbook(&page).unwrap(), "the same report gives the same bytes");
    let book = ironcalc::import::load_from_xlsx_bytes(&bytes, "book", "en", "UTC").unwrap();
    let tables = page.sections.iter().flat_map(|section| &section.blocks);
    let tables = tables.filter(|block| matches!(block, Block::Table(_) | Block::Figure(_))).count();
    assert_eq!(book.worksheets.len(), tables + 1);
}

/// The full profile at its cap: thirty blocks of every row.
#[test]
fn a_full_run_stays_small() {
    let mut run = SampleRun::new();
    let three = run.cells.clone();
    for round in 1..10 {
        run.cells.extend(
            three.iter().cloned().map(|cell| btu_studies::rate::CellRecord {
                block: cell.block + 3 * round,
                ..cell
            }),
        );
    }
    assert_eq!(run.cells.len(), 30 * run.context.plan.rows().len());
    let verdict = run.verdict();
    let page = run.page();
    let begun = std::time::Instant::now();
    let file = html(&page);
    println!("{} cells, {} bytes, written in {:?}", run.cells.len(), file.len(), begun.elapsed());
    assert!(file.len() < MOST_BYTES, "{}", file.len());
    assert!(verdict.rating.is_some());
}

#[test]
fn the_file_asks_nobody_for_anything() {
    let file = html(&SampleRun::new().page());
    let (before, rest) = file.split_once("id=\"library\"").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    for part in [before, after] {
        for reference in ["http://", "https://", "src=", "url(", "@import", "//cdn"] {
            assert!(!part.contains(reference), "{reference}");
        }
    }
    assert!(before.contains("default-src 'none'"));
}

#[test]
fn every_figure_has_a_place_and_a_table() {
    let page = SampleRun::new().page();
    let file = html(&page);
    let figures: Vec<_> = page
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None })
        .collect();
    assert!(figures.len() >= 10, "{}", figures.len());
    for figure in figures {
        assert!(file.contains(&format!("<figure id=\"{}\">", figure.name)), "{}", figure.name);
        assert!(!figure.table.rows.is_empty(), "{}", figure.name);
        assert!(
            figure.panels.iter().any(|panel| panel.series.iter().any(|one| !one.points.is_empty())),
            "{}",
            figure.name
        );
        assert!(
            figure.table.rows.iter().all(|row| row.len() == figure.table.head.len()),
            "{}",
            figure.name
        );
    }
}

#[test]
fn values_stand_where_the_verdict_has_them() {
    let run = SampleRun::new();
    let verdict = run.verdict();
    let page = run.page();
    let rating = verdict.rating.unwrap().btu_bits_per_second.value / 1e6;
    assert!(page.headline.starts_with("BTU rating "), "{}", page.headline);
    let words: Vec<&str> = page.headline.split(' ').collect();
    let shown: f64 = words[2].parse().unwrap();
    assert!(words[3] == "Gb/s" && (shown * 1e3 / rating - 1.0).abs() < 0.005, "{words:?} {rating}");
    let found = page.sections.iter().flat_map(|section| &section.blocks).any(|block| {
        let Block::Figure(figure) = block else { return false };
        let rows = figure.table.rows.iter().flatten();
        rows.clone().any(|cell| matches!(cell, Cell::Number { value, .. } if (value / rating - 1.0).abs() < 1e-12))
    });
    assert!(found, "the rating is in a table in full");
}

fn marks(run: &SampleRun) -> Vec<RunMark> {
    run_marks(&RuleFacts {
        verdict: &run.verdict(),
        plan: &run.context.plan,
        changed: !run.changes.is_empty(),
    })
}

/// The rating decides. Rows that are uncertain have a mark and a warning of their own.
#[test]
fn the_first_line_and_the_marks_agree_on_low_confidence() {
    let mut run = SampleRun::new();
    for (wanted, is_low) in [(0.1, false), (0.01, true)] {
        run.context.plan.profile.wanted_half_width = wanted;
        let (verdict, page) = (run.verdict(), run.page());
        assert!(verdict.rates.iter().any(|row| row.low_confidence), "some rows are uncertain");
        assert_eq!(verdict.rating.unwrap().low_confidence, is_low);
        assert_eq!(marks(&run).contains(&RunMark::LowConfidence), is_low);
        assert_eq!(page.headline.contains("low confidence"), is_low, "{}", page.headline);
        assert!(page.warnings.iter().any(|warning| warning.title == "uncertain rows"));
    }
}

#[test]
fn marks_follow_from_what_was_measured() {
    let mut run = SampleRun::new();
    let whole = marks(&run);
    assert!(
        whole.contains(&RunMark::Quick) && !whole.contains(&RunMark::Denied(Obstacle::Partial)),
        "{whole:?}"
    );
    run.context.plan.profile.name = "full".to_owned();
    run.context.plan.profile.wanted_half_width = 10.0;
    assert_eq!(marks(&run), [], "a whole run of the full profile, as exact as it wants");
    run.changes.push("kernel.clock_source was `tsc`".to_owned());
    assert_eq!(marks(&run), [RunMark::Changed]);
    run.changes.clear();
    run.context.run.complete = false;
    assert_eq!(marks(&run), [RunMark::Denied(Obstacle::Incomplete)]);
    run.context.run.complete = true;
    run.context.run.resumed_elsewhere = true;
    assert_eq!(marks(&run), [RunMark::Denied(Obstacle::ResumedElsewhere)]);
    run.context.run.resumed_elsewhere = false;
    run.context.plan.window = Some(Bytes::new(4096));
    assert_eq!(marks(&run), [RunMark::Fixed]);
    run.context.plan.window = None;
    run.context.plan.messages.pop();
    assert_eq!(marks(&run), [RunMark::Denied(Obstacle::Partial)]);
}

#[test]
fn without_loaded_cells_nothing_may_be_called_a_rating() {
    let mut run = SampleRun::new();
    run.cells.retain(|cell| matches!(cell.row, Row::Network { load: Load::Idle, .. }));
    assert!(marks(&run).contains(&RunMark::Denied(Obstacle::NoRating)));
    let page = run.page();
    assert_eq!(page.headline, "No BTU rating: no loaded cell was measured");
    assert!(page.footer[0].contains("may not be published"), "{}", page.footer[0]);
    assert!(html(&page).len() < MOST_BYTES);
}

#[test]
fn b5_a_part_of_the_study_is_not_called_a_rating() {
    let mut run = SampleRun::new();
    run.context.plan.messages.pop();
    assert!(run.page().headline.starts_with("Part of a BTU rating: "), "{}", run.page().headline);
}

/// One table for `btu report`, `btu rank` and `btu history`, and only where the user asks for it.
#[test]
fn b7_the_machines_of_1995_stand_by_their_corrected_ratings_and_on_demand() {
    let run = SampleRun::new();
    let page = run.page_with(&[Study::Btu95]);
    let listed = csv(&page);
    for machine in corrected() {
        let start = format!("\"Ratings, Mb/s\",\"{}, 1995\",Mb/s,", machine.machine);
        let line = listed.lines().find_map(|line| line.strip_prefix(start.as_str()));
        let value: f64 = line
            .unwrap_or_else(|| panic!("no {start} in {listed}"))
            .split(',')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            (value * 1e6 / machine.bits_per_second - 1.0).abs() < 1e-12,
            "{}: {value}",
            machine.machine
        );
    }
    for text in [csv(&run.page_with(&[])), markdown(&run.page_with(&[])), html(&run.page_with(&[]))]
    {
        assert!(!text.contains(", 1995") && !text.contains("Where it stands"));
    }
}

#[test]
fn nothing_measured_is_a_report_too() {
    let mut run = SampleRun::new();
    run.cells.clear();
    run.settings.clear();
    let page = run.page();
    assert!(html(&page).contains("No BTU rating"));
    assert!(markdown(&page).contains("No BTU rating"));
    assert_eq!(svg(&page), None);
    assert!(page_workbook(&page).is_ok());
}

/// Pieces that mean something to one of the formats.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "<script>alert(1)</script>",
        "</script>",
        "</style>",
        "<!--",
        "-->",
        "\"",
        "'",
        "&",
        "&lt;",
        "|",
        "`",
        "\\",
        "\n",
        "\r\n",
        "=1+1",
        "@x",
        "<img src=x onerror=alert(1)>",
        "]]>",
        "\u{202e}",
        "\u{0}",
        "a",
        "é",
        "{{",
        "javascript:",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8)
        .prop_map(|pieces| pieces.concat())
}

/// A report with this text everywhere where a text comes from outside.
fn with_text(text: &str) -> Page {
    let mut run = SampleRun::new();
    run.cells.retain(|cell| cell.block == 0);
    run.origin.label = Some(text.to_owned());
    run.settings.insert("label".to_owned(), text.to_owned());
    run.notes.push(text.to_owned());
    run.changes.push(text.to_owned());
    run.page()
}

/// A cell of a workbook has 32,767 characters at most, and a message of a run may have more.
#[test]
fn a_text_that_is_too_long_for_a_cell_is_cut() {
    for letter in ["e", "é", "\u{1f600}"] {
        for length in [16_383, 16_384, 32_766, 32_767, 32_768, 100_000] {
            assert!(page_workbook(&with_text(&letter.repeat(length))).is_ok(), "{length} {letter}");
        }
    }
}

/// All formats of a text without special meaning in any of them.
static PLAIN: LazyLock<(String, String)> = LazyLock::new(|| {
    let page = with_text("plain");
    (without_breaks(&html(&page)), markdown(&page))
});

/// Break points of long words, marks of words with hyphens, and marks of commands, which text in
/// backquotes gets, are the page's own tags.
fn without_breaks(html: &str) -> String {
    let own = ["<wbr>", "<span class=\"whole\">", "</span>", "<code>", "</code>"];
    own.iter().fold(html.to_owned(), |html, tag| html.replace(tag, ""))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Tags, attributes and cells are as many as without the text.
    #[test]
    fn no_text_breaks_out(text in hostile()) {
        let hostile = with_text(&text);
        let (plain_html, plain_text) = &*PLAIN;
        let hostile_html = without_breaks(&html(&hostile));
        prop_assert_eq!(hostile_html.matches('<').count(), plain_html.matches('<').count());
        prop_assert_eq!(hostile_html.matches('>').count(), plain_html.matches('>').count());
        let lines = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
        let bars = |text: &str| text.replace("\\|", "").matches('|').count();
        let hostile_text = markdown(&hostile);
        prop_assert_eq!(lines(&hostile_text), lines(plain_text));
        prop_assert_eq!(bars(&hostile_text), bars(plain_text));
        prop_assert!(!hostile_text.contains("<script"));
        prop_assert!(page_workbook(&hostile).is_ok());
    }
}
