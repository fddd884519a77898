//! The terminal output, word for word.

use btu_contract::experiment::RunFacts;
use btu_contract::load::Load;
use btu_report::{RunLine, TextOptions, page_text, rating_words, runs_text};
use btu_studies::rate::{CellRecord, Component, Context, Plan, Row, Title};
use btu_units::{Bytes, Span};

use crate::run::SampleRun;
use crate::sample;
use crate::screen::{assert_fits, without_colour};

const WIDE: TextOptions = TextOptions { colour: false, width: 100 };
const NARROW: TextOptions = TextOptions { colour: false, width: 80 };

fn text(options: &TextOptions) -> String {
    let context = sample::context();
    text_of(&sample::records(&context), &context, options)
}

fn text_of(records: &[CellRecord], context: &Context, options: &TextOptions) -> String {
    let run = SampleRun { cells: records.to_vec(), context: context.clone(), ..SampleRun::new() };
    page_text(&run.page(), options)
}

#[test]
fn a_hundred_columns() {
    insta::assert_snapshot!(text(&WIDE));
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(text(&NARROW));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 90, 99, 100, 120, 200] {
        assert_fits(&text(&TextOptions { colour: false, width }), width);
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = text(&TextOptions { colour: true, ..WIDE });
    assert!(coloured.contains("\x1b[1m") && !text(&WIDE).contains('\x1b'));
    // Curves have letters where they have no colours.
    let first = |text: &str| text.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&without_colour(&coloured)), first(&text(&WIDE)));
}

/// The paper's fixed volume on an unfinished run with a void cell: every rare line at once.
#[test]
fn an_unfinished_run_of_the_papers_volume() {
    let base = sample::context();
    let context =
        Context { plan: Plan { volume: Some(Bytes::new(4_000_000)), ..base.plan }, ..base };
    let mut records = sample::records(&context);
    records.truncate(records.len() / 3);
    records.retain(
        |record| !matches!(record.row, Row::Network { load: Load::Transfer, message, .. } if message.count() == 65536),
    );
    records[7].faults.push("tcp-receive on active was killed: not finished after 2 s".to_owned());
    insta::assert_snapshot!(text_of(&records, &context, &WIDE));
}

#[test]
fn nothing_measured() {
    insta::assert_snapshot!(text_of(&[], &sample::context(), &NARROW));
}

#[test]
fn the_papers_rule_is_shown_when_the_volume_was_fixed() {
    let base = sample::context();
    let context =
        Context { plan: Plan { volume: Some(Bytes::new(4_000_000)), ..base.plan }, ..base };
    let text = text_of(&sample::records(&context), &context, &WIDE);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("BTU'95")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(text.contains("4 MB per component"), "{text}");
}

fn line(id: &str, label: Option<&str>, rating: Option<f64>) -> RunLine {
    RunLine {
        id: id.to_owned(),
        command: "rate".to_owned(),
        answer: rating_words(rating, Title::BtuRating),
        started: "2026-11-21 04:33".to_owned(),
        profile: "quick".to_owned(),
        network: "veth".to_owned(),
        label: label.map(str::to_owned),
        valid_cells: 374,
        cells: if rating.is_some() { 374 } else { 375 },
        duration: rating.map(|_| Span::from_seconds(128)),
        unread: None,
    }
}

/// Two components of six: the run rules allow no other name in any line.
#[test]
fn a_part_of_the_study() {
    let base = sample::context();
    let components = vec![Component::Send, Component::Recv];
    let context = Context {
        plan: Plan { components, loads: vec![Load::Idle, Load::Cpu], ..base.plan },
        ..base
    };
    let text = |context: &Context| text_of(&sample::records(context), context, &WIDE);
    let two = text(&context);
    assert!(two.starts_with("Part of a BTU rating: "), "{two}");
    assert!(two.contains("\npartial, quick\n") && !two.contains("\nBTU rating"), "{two}");
    let plan = Plan {
        components: vec![Component::Send],
        messages: vec![Bytes::new(4096)],
        ..context.plan
    };
    let one = text(&Context { plan, ..context });
    assert!(one.contains("geometric mean of 1 row"), "{one}");
    let run = RunFacts { resumed_elsewhere: true, ..RunFacts::complete(2) };
    let resumed = text(&Context { run, ..sample::context() });
    assert!(
        resumed.starts_with("Part of a BTU rating: ") && resumed.contains("\nresumed elsewhere, "),
        "{resumed}"
    );
}

/// The names of runs are complete, on a terminal and in a pipe.
#[test]
fn b11_tags_and_labels_are_never_cut() {
    let label = "first thing after the upgrade #nightly #kernel-6.18";
    let run = RunLine {
        id: "r1".to_owned(),
        command: "rate".to_owned(),
        answer: "1230 Mb/s".to_owned(),
        started: "2026-11-21 04:31".to_owned(),
        profile: "quick".to_owned(),
        network: "veth".to_owned(),
        label: Some(label.to_owned()),
        valid_cells: 615,
        cells: 615,
        duration: Some(Span::from_seconds(128)),
        unread: None,
    };
    for width in [80, 120, 65_535] {
        let text = runs_text(std::slice::from_ref(&run), &TextOptions { colour: false, width });
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(label) && !text.contains('…'), "{width}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
    }
    let piped = runs_text(&[run], &TextOptions { colour: false, width: 65_535 });
    let line = piped.lines().find(|line| line.starts_with("r1")).unwrap();
    assert!(line.ends_with("#nightly #kernel-6.18"), "grep finds the run by its tag: {piped}");
}

#[test]
fn the_list_of_runs() {
    let answer = rating_words(Some(9.5e9), Title::Part);
    let part = RunLine { answer, ..line("r10", None, Some(9.5e9)) };
    let runs =
        [line("r12", None, Some(1.234e9)), line("r11", Some("before the new kernel"), None), part];
    insta::assert_snapshot!(runs_text(&runs, &WIDE));
    assert!(
        runs_text(&runs, &NARROW).contains("before the new kernel"),
        "labels stand below where there is no room"
    );
    assert!(
        runs_text(&runs, &TextOptions { width: 120, ..WIDE }).contains("before the new kernel")
    );
    assert!(!runs_text(&runs[..1], &WIDE).contains("label"), "no empty column");
    assert_eq!(runs_text(&[], &WIDE), "No runs yet. `btu rate` makes one.\n");
}

/// A list says what each run is and found, in every terminal: one line a run, no wider than that.
#[test]
fn a_list_of_runs_fits_the_terminal() {
    let speed = RunLine {
        command: "speed".to_owned(),
        answer: "0.936/14.7 Mb/s, 37.0 ms -> 1.87 s".to_owned(),
        network: "home-bloated".to_owned(),
        started: "2026-11-26 10:32".to_owned(),
        ..line("r6", None, Some(1.0))
    };
    let rate = RunLine {
        network: "home-fq-codel (test laptop, active server, passive phone)".to_owned(),
        ..line("r12", None, Some(8.79e5))
    };
    let run = RunLine {
        command: "run".to_owned(),
        answer: "true: 4.54 ms (0.0710 .. 290) with load=none; 2.43 times as much with load=upload"
            .to_owned(),
        ..line("r7", None, Some(1.0))
    };
    let runs = [speed, run, rate];
    let texts = [50, 80, 120].map(|width| {
        let text = runs_text(&runs, &TextOptions { colour: false, width });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("0.936/14.7 Mb/s, 37.0 ms -> 1.87 s"), "{text}");
        format!("{width} columns\n{text}")
    });
    insta::assert_snapshot!(texts.join("\n"));
}
