//! The first screens, word for word: the answer, its limit, the measured path, the warnings, the
//! next commands; never more than twelve texts.

mod studies;

use btu_contract::load::Load;
use btu_medium::sim::{Settings, simulate};
use btu_model::predict::{Question, Transfer, predict_with};
use btu_network::{Drawing, library, library_text};
use btu_report::html::{Cell, Page, PageWarning, Section, Table};
use btu_report::{
    FIRST_SCREEN_TEXTS, KeyFigure, Next, Summary, TextOptions, comparison_page, first_screen,
    model_page, sim_page,
};
use btu_stats::Level;
use btu_studies::compare::{Comparison, Group, Matter, Question as Asked, RunReadings, compare};
use btu_studies::rate::{Component, Reading, Row};
use btu_units::{Bytes, Span};

use crate::run::{self, SampleRun};

/// The screen at 80 and at 120 columns, checked for its limits: so many lines, and some in which
/// others go on.
fn both(page: &Page) -> String {
    let screens = [80, 120].map(|width| {
        let text = fitting(page, width);
        let lines = text.lines().count();
        assert!(lines <= FIRST_SCREEN_TEXTS + 4, "{lines} lines:\n{text}");
        format!("{width} columns\n{text}")
    });
    fits_a_narrow_terminal(page);
    // Where no text is longer than a line.
    assert!(fitting(page, 100_000).lines().count() <= FIRST_SCREEN_TEXTS);
    screens.join("\n")
}

/// The screen at this width, which none of its lines exceeds.
fn fitting(page: &Page, width: usize) -> String {
    let text = first_screen(page, &TextOptions { colour: false, width });
    for line in text.lines() {
        assert!(
            line.chars().count() <= width,
            "{} columns of {width}: {line}",
            line.chars().count()
        );
        assert_eq!(line.trim_end(), line, "no blanks at the end");
    }
    text
}

/// At 50 columns no word is broken, and a command goes on in the next line as a shell reads it.
fn fits_a_narrow_terminal(page: &Page) {
    let text = first_screen(page, &TextOptions { colour: false, width: 50 });
    for line in text.lines() {
        let is_a_word = !line.trim_start().trim_end_matches(" \\").contains(' ');
        assert!(line.chars().count() <= 50 || is_a_word, "more than 50 columns: {line}");
        assert_eq!(line.trim_end(), line, "no blanks at the end");
    }
    let whole = text.replace(" \\\n   ", "");
    for Next { command, .. } in page.summary.next.iter().take(1) {
        assert!(whole.contains(&format!("> {command}\n")), "{command} in {text}");
    }
}

#[test]
fn of_a_rating() {
    let mut run = SampleRun::new();
    run.conditions = vec![
        "congestion control: cubic".to_owned(),
        "processors: 0 under test, 1 for the rest; kept awake".to_owned(),
    ];
    insta::assert_snapshot!(both(&run.page()));
}

#[test]
fn of_a_rating_that_was_not_finished() {
    let mut run = SampleRun::new();
    run.cells.truncate(run.cells.len() / 3);
    run.changes = (1..=22)
        .map(|number| format!("net.core.setting_{number} was 1 before and 2 after"))
        .collect();
    run.notes = vec!["the emulator was late".to_owned()];
    insta::assert_snapshot!(both(&run.page()));
}

/// Part of the rating may have no rating; it has a result all the same.
#[test]
fn of_what_has_no_rating() {
    let mut run = SampleRun::new();
    run.cells.retain(|cell| matches!(cell.row, Row::Network { load: Load::Idle, .. }));
    let said = both(&run.page());
    assert!(said.contains("No BTU rating: no loaded cell was measured"), "{said}");
    assert!(said.contains("  alone") && said.contains("what is rated, without load"), "{said}");
    assert!(said.contains("UDP alone") && said.contains("median round trip"), "{said}");
    run.cells.retain(|cell| matches!(cell.row, Row::Network { component: Component::Udp, .. }));
    let said = both(&run.page());
    assert!(said.contains("No BTU rating: nothing was measured that it rates"), "{said}");
    assert!(said.contains("UDP alone") && said.contains("% lost"), "{said}");
}

#[test]
fn of_nothing() {
    let mut run = SampleRun::new();
    run.cells.clear();
    insta::assert_snapshot!(both(&run.page()));
}

fn drawn(name: &str) -> Drawing {
    Drawing::read_with(library_text(name).unwrap(), name, &[]).unwrap()
}

fn simulated(name: &str, milliseconds: u64) -> Page {
    let settings =
        Settings { replications: 3, ..Settings::lasting(Span::from_milliseconds(milliseconds)) };
    let network = Next::new(format!("btu net show {name}"), "the network file, to change it");
    let outcome = simulate(&drawn(name), &settings).unwrap();
    sim_page(&outcome, &format!("btu sim {name} --all"), network)
}

fn predicted(name: &str, transfer: Option<u64>) -> Page {
    let transfer = transfer.map(|size| Transfer { size: Bytes::new(size), ..Transfer::default() });
    let prediction = predict_with(&drawn(name), &Question { transfer, sizes: None }).unwrap();
    model_page(&prediction, &format!("btu model {name} --all"), name)
}

#[test]
fn of_simulations() {
    let screens =
        [both(&simulated("ethernet-shared-10", 2000)), both(&simulated("home-bloated", 2000))];
    insta::assert_snapshot!(screens.join("\n"));
}

#[test]
fn of_predictions() {
    let screens = [
        both(&predicted("citi-1989-light", Some(100_000_000))),
        both(&predicted("ethernet-shared-10", None)),
        both(&predicted("campus", None)),
    ];
    insta::assert_snapshot!(screens.join("\n"));
}

/// What is saturated has no mean delay and no share of the time.
#[test]
fn of_a_saturated_network() {
    let said = both(&predicted("home-bloated", None));
    for words in ["has no mean delay: the network is saturated", "of what it can carry is offered"]
    {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("saturated of the time") && !said.contains("saturated Mb/s"), "{said}");
}

/// The first screens have room for every network of the library.
#[test]
fn of_every_network_of_the_library() {
    for (name, _) in library() {
        both(&predicted(name, None));
    }
}

fn group(name: &str, runs: u32, factor: f64) -> Group {
    let rows = [
        Row::Network { component: Component::Send, message: Bytes::new(65536), load: Load::Idle },
        Row::Network { component: Component::Send, message: Bytes::new(65536), load: Load::Cpu },
        Row::Host { load: Load::Cpu },
    ];
    let reading = |run: u32, block: u32, row: &Row| Reading {
        row: *row,
        block,
        per_second: 1e8 * factor * (1.0 + 1e-3 * f64::from((block * 3 + run) % 5)),
    };
    let run = |run: u32| RunReadings {
        name: format!("{name}{run}"),
        place: 2 * run as usize + usize::from(factor > 1.0),
        readings: (0..3)
            .flat_map(|block| rows.iter().map(move |row| reading(run, block, row)))
            .collect(),
    };
    Group { name: name.to_owned(), network: "veth".to_owned(), runs: (0..runs).map(run).collect() }
}

fn compared(base: &Group, others: &[Group]) -> Comparison {
    compare(&Asked { base, others, level: Level::P95, matter: Matter::DEFAULT })
}

#[test]
fn of_comparisons() {
    let mut one = compared(&group("r1", 1, 1.0), &[group("r2", 1, 0.9)]);
    one.others[0].environment_differences = (1..=12)
        .map(|number| format!("kernel.setting_{number}: `on` in r1, absent in r2"))
        .collect();
    let several =
        compared(&group("tag:old", 3, 1.0), &[group("tag:new", 3, 1.2), group("r9", 1, 0.003)]);
    let screens = [
        both(&comparison_page(&one, "btu compare r1 r2")),
        both(&comparison_page(&several, "btu compare tag:old tag:new r9")),
    ];
    insta::assert_snapshot!(screens.join("\n"));
}

/// Long names, many numbers, many warnings: the screen leaves out text that does not fit, but never
/// the command that shows it.
#[test]
fn twelve_texts_are_shown_whatever_there_is() {
    let long = format!("{}ends", "a sentence that goes on and on, ".repeat(20));
    let figure = |place: usize| KeyFigure {
        name: format!("{long}{place}"),
        value: "1 Mb/s".to_owned(),
        interval: "0.9 .. 1.1".to_owned(),
        note: long.clone(),
    };
    let warning = |place: usize| PageWarning {
        title: format!("warning {place}"),
        observed: long.clone(),
        advice: String::new(),
    };
    for (figures, warnings, headline) in
        [(0, 0, ""), (1, 1, "short"), (40, 30, long.as_str()), (3, 0, long.as_str())]
    {
        let page = Page {
            headline: headline.to_owned(),
            warnings: (0..warnings).map(warning).collect(),
            summary: Summary {
                addition: String::new(),
                figures: (0..figures).map(figure).collect(),
                shows_all: false,
                decided: String::new(),
                limit: long.clone(),
                setting: vec![long.clone(); 3],
                next: vec![
                    Next::new("btu show r1 --all", "every table"),
                    Next::new("btu runs", "all runs"),
                ],
            },
            ..Page::default()
        };
        // Where every text is a line, and where each takes many.
        for (width, most) in [(100_000, 3), (80, 1)] {
            let screen = fitting(&page, width);
            let lines = screen.lines().count();
            assert!(width == 80 || lines <= FIRST_SCREEN_TEXTS, "{lines} lines:\n{screen}");
            assert!(screen.contains("> btu show r1 --all"), "{screen}");
            let shown = screen.matches("! warning").count();
            assert_eq!(shown, warnings.min(most), "{screen}");
            let more = screen.contains(&format!("{} more warnings", warnings - shown));
            assert_eq!(more, warnings > shown, "{screen}");
        }
    }
}

/// A study that names no key numbers has those of its first table that has intervals.
#[test]
fn tables_give_key_numbers() {
    let mut table = Table::new("Times", &["program", "file", "median, s", "Mb/s"], 2);
    let seconds = Cell::Number { value: 1.5, shown: "1.50".to_owned(), interval: Some((1.4, 1.6)) };
    table.rows.push(vec![Cell::text("ftp"), Cell::text("10MB"), seconds, Cell::number(Some(53.3))]);
    let page = run::study_page(vec![Section::of(
        "Times",
        "",
        vec![btu_report::html::Block::Table(table)],
    )]);
    let text = first_screen(&page, &TextOptions { colour: false, width: 80 });
    assert!(text.contains("  ftp 10MB  1.50 s  (1.40 .. 1.60)  median\n"), "{text}");
    assert!(text.contains("> btu show r12 --all"), "{text}");
}
