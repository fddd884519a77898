//! The QUIPS graph: quality improvements per second against time.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};
use btu_contract::hint::{HintResult, HintVerdict};

/// QUIPS against the time of a lap (1996, figure 6), and the share of work in a lap against that
/// time.
pub fn hint_picture(title: &str, notes: Vec<String>, result: &HintResult) -> Picture {
    let mut panels = vec![quips(result)];
    panels.extend(result.two.as_ref().map(work));
    Picture { title: title.to_owned(), notes, panels }
}

/// Draws the QUIPS graph.
pub(super) fn quips(result: &HintResult) -> Panel {
    let named = [("two processes", &result.two), ("one process", &result.one)];
    let series = |(name, verdict): (&str, &Option<HintVerdict>)| {
        let points = |verdict: &HintVerdict| {
            verdict
                .steps
                .iter()
                .map(|step| Point::new(step.least_seconds * 1e6, step.quips))
                .collect()
        };
        verdict.as_ref().map(|verdict| Series {
            name: name.to_owned(),
            mark: Mark::Line,
            points: points(verdict),
        })
    };
    Panel {
        x: Axis::logarithmic("time of a lap (us)"),
        y: Axis::logarithmic("QUIPS"),
        height: 300,
        across: Vec::new(),
        series: named.into_iter().filter_map(series).collect(),
    }
}

/// The share of a lap that is not the exchange.
fn work(verdict: &HintVerdict) -> Panel {
    let point = |step: &btu_contract::hint::HintStep| {
        Some(Point::new(step.least_seconds * 1e6, step.work_share? * 100.0))
    };
    let points = verdict.steps.iter().filter_map(point).collect();
    Panel {
        x: Axis::logarithmic("time of a lap (us)"),
        y: Axis::linear("work in a lap (%)"),
        height: 160,
        across: Vec::new(),
        series: vec![Series { name: "two processes".to_owned(), mark: Mark::Line, points }],
    }
}
