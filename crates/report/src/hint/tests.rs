//! Reports on a run of HINT that was made up after the 1996 paper's.

use std::collections::BTreeMap;

use btu_contract::hint::{HintPlan, HintPoint, HintResult, HintVerdict, judge};
use btu_stats::{Estimate, Interval};
use btu_units::Span;

use super::*;
use crate::head::{RunHead, TextOptions};
use crate::html::Page;
use crate::page_text::page_text;
use crate::stored_page::{Origin, StoredRun};

/// A run in which an exchange takes `exchange` seconds and every interval `each`; the bounds follow
/// the law.
fn verdict(processes: u64, exchange: f64, each: f64, message: Option<f64>) -> HintVerdict {
    let plan = HintPlan::standard(processes);
    let point = |intervals: u64| {
        let gap = 1.0 / (processes * intervals) as f64;
        let alone = Span::from_seconds_f64(each * intervals as f64 * 100.0);
        let time = Span::from_seconds_f64((exchange + each * intervals as f64) * 100.0);
        let lower = btu_contract::hint::AREA - gap / 2.0;
        let alone = if processes == 2 { vec![alone; 15] } else { Vec::new() };
        HintPoint { intervals, laps: 100, trials: vec![time; 15], alone, lower, upper: lower + gap }
    };
    let steps = (0..40).map(|power| (4.0 * 1.2589f64.powi(power)) as u64);
    judge(&plan, &steps.map(point).collect::<Vec<_>>(), message).unwrap()
}

fn result() -> HintResult {
    let message = |value: f64| Estimate { value, interval: Some(Interval::around(value, 2e-6)) };
    HintResult {
        version: 1,
        two: Some(verdict(2, 1.4922e-3, 25e-6, Some(746.1e-6))),
        one: Some(verdict(1, 0.0, 25e-6, None)),
        message_seconds: vec![message(746.1e-6), message(747.0e-6)],
        pays_from_intervals: Some(128),
    }
}

fn head() -> RunHead {
    RunHead {
        id: "r7".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        network: "TCP, 10 Mb/s".to_owned(),
        profile: "standard".to_owned(),
        seed: 7,
        machine: "8 processors, Linux 6.12".to_owned(),
        hosts: Vec::new(),
        conditions: Vec::new(),
        database: "runs.db".to_owned(),
        duration: Span::from_seconds(61),
        own_cost: None,
        notes: vec!["the governor changed".to_owned()],
        busy: None,
    }
}

fn report(result: &HintResult) -> Page {
    let origin = Origin {
        uuid: "5f0a6a3e-9c1d-4e57-8b1e-2f7f0d0c9a11".to_owned(),
        label: None,
        version: "0.1.0".to_owned(),
        plan_hash: "0123456789abcdef".to_owned(),
    };
    let (run, settings) = (head(), BTreeMap::new());
    let stored = StoredRun {
        run: &run,
        origin: &origin,
        settings: &settings,
        changes: &[],
        earlier: None,
        studies: &[],
    };
    hint_page(&stored, result, "TCP")
}

#[test]
fn the_report() {
    let page = report(&result());
    assert_eq!(page.headline, "HINT between two processes over TCP: 456000 net QUIPS");
    let text = crate::markdown(&page);
    assert!(text.contains("Two processes are faster than one from 128 intervals on."), "{text}");
    assert!(text.contains("* **seen during the run**: the governor changed"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("| two processes | ")).count(), 41);
    let mut wrong = result();
    wrong.one.as_mut().unwrap().outside = 2;
    assert!(report(&wrong).warnings.iter().any(|warning| warning.title == "wrong answers"));
}

fn text(result: &HintResult) -> String {
    let text = page_text(&report(result), &TextOptions { colour: false, width: 80 });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

#[test]
fn the_whole_text_in_80_columns() {
    insta::assert_snapshot!(text(&result()));
}

#[test]
fn wrong_bounds_are_said_aloud_and_nothing_measured_is_no_trouble() {
    let mut wrong = result();
    wrong.two.as_mut().unwrap().outside = 3;
    let said = text(&wrong);
    assert!(
        said.contains("wrong answers") && said.contains("3 pairs of bounds do not hold"),
        "{said}"
    );
    text(&HintResult { two: None, one: None, message_seconds: Vec::new(), ..result() });
}

/// A last step that other work disturbed leaves no number from which on two are faster: that does not say that
/// they were nowhere faster, and is no reason to name the exchange.
#[test]
fn where_two_processes_are_not_faster_at_last_neither_never_nor_a_cause_is_said() {
    let slower = HintResult { pays_from_intervals: None, ..result() };
    let text = text(&slower);
    let page = crate::markdown(&report(&slower));
    for said in [&text, &page] {
        assert!(!said.contains("never"), "{said}");
        assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(NOWHERE_FASTER));
    }
    assert_eq!(report(&slower).summary.limit, "");
}

#[test]
fn the_picture_and_the_table_have_both_curves() {
    let svg = btu_chart::svg(&hint_picture("HINT", Vec::new(), &result()));
    for word in ["two processes", "one process", "QUIPS", "work in a lap (%)"] {
        assert!(svg.contains(word), "{word}");
    }
    let fields: Vec<usize> =
        hint_csv(&result()).lines().map(|line| line.split(',').count()).collect();
    assert_eq!(fields, vec![9; 81]);
}
