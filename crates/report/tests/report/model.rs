//! The terminal output of a prediction, word for word.

use crate::screen::assert_fits;
use btu_model::Warning;
use btu_model::predict::{Found, Question, Range, Transfer, predict_with, sweep_with};
use btu_network::{Drawing, library, library_text};
use btu_report::{
    Answered, Beyond, MostFound, SweepTable, TextOptions, model_text, most_text, sweep_csv,
    sweep_text,
};
use btu_stats::{Estimate, Interval};
use btu_units::Bytes;

const WIDE: TextOptions = TextOptions { colour: false, width: 100 };

fn text(name: &str, settings: &[(&str, &str)], options: &TextOptions) -> String {
    let drawing = Drawing::read_with(library_text(name).unwrap(), name, settings).unwrap();
    model_text(&predict_with(&drawing, &question()).unwrap(), &drawing.about, options)
}

fn question() -> Question {
    Question {
        transfer: Some(Transfer { size: Bytes::new(100_000_000), ..Transfer::default() }),
        sizes: None,
    }
}

#[test]
fn citi_s_light_case() {
    insta::assert_snapshot!(text("citi-1989-light", &[], &WIDE));
}

#[test]
fn citi_s_heavy_case() {
    insta::assert_snapshot!(text("citi-1989-heavy", &[], &WIDE));
}

#[test]
fn a_home_that_is_saturated() {
    insta::assert_snapshot!(text("home-bloated", &[], &WIDE));
}

#[test]
fn a_campus_is_told_by_its_kinds() {
    insta::assert_snapshot!(text("campus", &[], &WIDE));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (name, _) in library() {
        assert_fits(&text(name, &[], &TextOptions { colour: false, width: 100 }), 100);
    }
}

fn curve() -> SweepTable {
    let range: Range = "traffic.background.packets_per_s=0..1100:275".parse().unwrap();
    let name = "citi-1989-light";
    let at = |key: &str, value: &str| {
        let drawing =
            Drawing::read_with(library_text(name).unwrap(), name, &[(key, value)]).unwrap();
        predict_with(&drawing, &question())
    };
    SweepTable {
        key: range.key.clone(),
        unit: range.unit.clone(),
        points: sweep_with(&range, at).unwrap(),
    }
}

#[test]
fn a_sweep() {
    insta::assert_snapshot!(sweep_text(&curve(), &WIDE));
}

/// A line for each point, as many cells in each; empty if there is no value.
#[test]
fn a_sweep_as_csv() {
    let csv = sweep_csv(&curve());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 6);
    assert!(
        lines[0].starts_with(
            "traffic.background.packets_per_s,TCP (s),simple (s),aggregate (s),file delay (s)"
        ),
        "{csv}"
    );
    assert!(
        lines.iter().all(|line| line.split(',').count() == lines[0].split(',').count()),
        "{csv}"
    );
    // 70 packets a second and none of the background's; the study's 1141.5525 s.
    let simple = |line: usize| lines[line].split(',').nth(2).unwrap();
    assert!(lines[1].starts_with("0,") && simple(1).starts_with("1141.552511"), "{csv}");
    assert!(simple(5).starts_with("1141.55") && lines[5].contains(",,"), "saturated: {csv}");
}

#[test]
fn questions_asked_backwards_are_answered_in_a_sentence() {
    let most = |found, unit: &str| MostFound {
        key: "stations.host.count".to_owned(),
        unit: unit.to_owned(),
        figure: MostFound::MEAN_DELAY.to_owned(),
        bound_seconds: 5e-3,
        tried: [1.0, 4096.0],
        found: Some(found),
        figure_seconds: Some(4.9e-3),
        answered: Answered::Formula { beyond: None, warnings: Vec::new() },
    };
    assert_eq!(
        most_text(&most(Found::UpTo(73.0), ""), &WIDE),
        "The mean delay stays within 5 ms up to stations.host.count = 73 (there it is 4.9 ms).\n"
    );
    assert!(
        most_text(&most(Found::Never, "Mb/s"), &WIDE)
            .contains("even with stations.host.count = 1 Mb/s")
    );
    assert!(
        most_text(&most(Found::Always, ""), &WIDE)
            .starts_with("No limit was found: even with stations.host.count = 4096")
    );
}

/// The result of a formula outside its range is no answer; the result of a simulation has an
/// interval.
#[test]
fn an_answer_says_how_far_to_believe_it() {
    let formula = |found, beyond| MostFound {
        key: "traffic.everyone.load".to_owned(),
        unit: "%".to_owned(),
        figure: MostFound::MEAN_DELAY.to_owned(),
        bound_seconds: 5e-3,
        tried: [1.0, 100.0],
        found,
        figure_seconds: Some(1.234_567e-3),
        answered: Answered::Formula { beyond: Some(beyond), warnings: Vec::new() },
    };
    let optimistic = |found| Beyond { warning: Warning::Optimistic, found };
    let simulated = MostFound {
        found: Some(Found::UpTo(62.267)),
        answered: Answered::Sim {
            confidence: 0.95,
            interval: Some([61.8, 62.6]),
            figure_estimate: Some(Estimate {
                value: 4.97e-3,
                interval: Some(Interval { low: 4.87e-3, high: 5.07e-3 }),
            }),
            replications: 5,
            seed: 1,
            warnings: Vec::new(),
        },
        figure_seconds: Some(4.97e-3),
        ..formula(None, optimistic(Found::Always))
    };
    let answers = [
        formula(Some(Found::UpTo(51.267)), optimistic(Found::UpTo(85.129_3))),
        formula(Some(Found::UpTo(51.267)), optimistic(Found::Always)),
        formula(None, optimistic(Found::UpTo(85.129_3))),
        formula(
            Some(Found::UpTo(51.267)),
            Beyond { warning: Warning::OutOfRange, found: Found::Always },
        ),
        simulated,
    ];
    insta::assert_snapshot!(answers.map(|answer| most_text(&answer, &WIDE)).join("\n"));
}
