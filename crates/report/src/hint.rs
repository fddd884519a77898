//! HINT on paper: text with the QUIPS graph for a terminal, the graph as a picture, a file for
//! other programs.

mod picture;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use btu_contract::hint::{HintResult, HintVerdict};

use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, PageWarning, Panel, Point, Role, Section,
    Series, Table,
};
use crate::number::{ends_of, three_digits};
use crate::stored_page::{StoredRun, page_warning};
use crate::summary::KeyFigure;

pub use picture::hint_picture;

/// Where they are not faster at the largest number; at smaller ones they may have been.
const NOWHERE_FASTER: &str =
    "From no number of intervals on were two processes found faster than one.";

/// Seconds in a microsecond.
const MICROSECOND: f64 = 1e-6;

/// The report of a run of HINT; `transport` carried the exchange.
pub(crate) fn hint_page(stored: &StoredRun, result: &HintResult, transport: &str) -> Page {
    let net = result
        .two
        .as_ref()
        .map_or_else(String::new, |two| format!(": {} net QUIPS", three_digits(two.net_quips)));
    let headline = format!("HINT between two processes over {transport}{net}");
    let page = stored.page(
        headline,
        warnings(result),
        vec![figures(result), graph(result), exchange(result)],
    );
    let from = result.pays_from_intervals.filter(|_| result.one.is_some());
    let limit = from.map_or_else(String::new, |from| {
        format!("the exchange below {from} intervals, where one process is as fast as two")
    });
    Page { summary: stored.summary(key_figures(result), limit), ..page }
}

/// Net QUIPS of two processes and of one, each with its peak.
fn key_figures(result: &HintResult) -> Vec<KeyFigure> {
    let figure = |(name, verdict): (&str, &HintVerdict)| KeyFigure {
        name: name.to_owned(),
        value: format!("{} net QUIPS", three_digits(verdict.net_quips)),
        note: format!("peak {}", three_digits(verdict.peak_quips)),
        ..KeyFigure::default()
    };
    verdicts(result).map(figure).collect()
}

fn verdicts(result: &HintResult) -> impl Iterator<Item = (&'static str, &HintVerdict)> {
    let two = result.two.iter().map(|two| ("two processes", two));
    two.chain(result.one.iter().map(|one| ("one process", one)))
}

/// Answers that are wrong.
fn warnings(result: &HintResult) -> Vec<PageWarning> {
    let wrong = |(name, verdict): (&str, &HintVerdict)| {
        (!verdict.is_valid()).then(|| {
            let HintVerdict { outside, off_law, .. } = verdict;
            let seen =
                format!("{name}: {outside} pairs of bounds do not hold the exact area, {off_law} qualities are not P n - 1");
            page_warning("wrong answers", &seen, "measure again; if it stays, the processor or this program is broken")
        })
    };
    verdicts(result).filter_map(wrong).collect()
}

fn figures(result: &HintResult) -> Option<Section> {
    let mut table = Table::new("QUIPS", &["", "net", "peak", "steps"], 1);
    for (name, verdict) in verdicts(result) {
        let quips = [verdict.net_quips, verdict.peak_quips].map(|quips| Cell::number(Some(quips)));
        table.rows.push(
            std::iter::once(Cell::text(name))
                .chain(quips)
                .chain([Cell::count(verdict.steps.len() as u64)])
                .collect(),
        );
    }
    let pays = match result.pays_from_intervals {
        Some(from) => format!("Two processes are faster than one from {from} intervals on."),
        None => NOWHERE_FASTER.to_owned(),
    };
    let is_measured = !table.rows.is_empty();
    Section::of(
        "Quality improvements per second",
        &pays,
        if is_measured { vec![Block::Table(table)] } else { Vec::new() },
    )
}

fn graph(result: &HintResult) -> Option<Section> {
    let head = ["", "intervals", "quality", "least lap, us", "median lap, us", "QUIPS", "work, %"];
    let mut table = Table::new("Steps", &head, 1);
    for (name, verdict) in verdicts(result) {
        for step in &verdict.steps {
            table.rows.push(vec![
                Cell::text(name),
                Cell::count(step.intervals),
                Cell::number(Some(step.quality)),
                Cell::number(Some(step.least_seconds / MICROSECOND)),
                Cell::estimate(Some(&step.median_seconds), MICROSECOND),
                Cell::number(Some(step.quips)),
                Cell::number(step.work_share.map(|share| share * 100.0)),
            ]);
        }
    }
    let is_measured = !table.rows.is_empty();
    let figure = Figure {
        name: "quips".to_owned(),
        title: "Quality improvements per second against the time of a lap".to_owned(),
        panels: vec![panel(result)],
        layout: Layout::SideBySide,
        table,
    };
    Section::of("QUIPS", "", if is_measured { vec![Block::Figure(figure)] } else { Vec::new() })
}

fn panel(result: &HintResult) -> Panel {
    let series = verdicts(result).enumerate().map(|(index, (name, verdict))| Series {
        name: name.to_owned(),
        role: Role::Member(index),
        mark: Drawn::LinePoints,
        points: verdict
            .steps
            .iter()
            .map(|step| Point::new(step.least_seconds / MICROSECOND, step.quips))
            .collect(),
    });
    Panel {
        title: String::new(),
        x: Axis::logarithmic("time of a lap, us"),
        y: Axis::logarithmic("QUIPS"),
        series: series.collect(),
    }
}

/// The network's share of a lap, and the network's time.
fn exchange(result: &HintResult) -> Option<Section> {
    let two = result.two.as_ref()?;
    let exchange = two.exchange_seconds.as_ref()?;
    let mut table = Table::new("Communication", &["", "time, us"], 1);
    table.rows.push(vec![
        Cell::text("an exchange, by HINT"),
        Cell::estimate(Some(exchange), MICROSECOND),
    ]);
    for (message, when) in result.message_seconds.iter().zip(["before", "after"]) {
        let name = Cell::text(format!("two messages of 16 B, {when}"));
        table.rows.push(vec![name, Cell::estimate(Some(&message.scaled(2.0)), MICROSECOND)]);
    }
    let note = "A lap is the work and one exchange, which is a message each way: it should take what two messages take.";
    Section::of("Communication", note, vec![Block::Table(table)])
}

const HEAD: &str = "processes,intervals_of_each,quality,least_seconds,median_seconds,median_low_seconds,median_high_seconds,\
                    quips,work_share";

/// A head and one line for every number of intervals; intervals at 95 %, and empty where there is
/// none.
pub fn hint_csv(result: &HintResult) -> String {
    let mut out = format!("{HEAD}\n");
    for verdict in result.two.iter().chain(&result.one) {
        for step in &verdict.steps {
            let median = ends_of(&step.median_seconds);
            let share = step.work_share.map_or_else(String::new, |share| format!("{share:e}"));
            let _ = writeln!(
                out,
                "{},{},{:e},{:e},{median},{:e},{share}",
                verdict.processes, step.intervals, step.quality, step.least_seconds, step.quips
            );
        }
    }
    out
}
