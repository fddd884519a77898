//! The screen during a run: the last result, and below it the signature as far as it is known.

use std::io::{IsTerminal, stderr};

use btu_contract::hint::{HintPoint, HintRecord};
use btu_contract::job::{Job, JobRecord};
use btu_contract::load::Load;
use btu_contract::pipe::{PipePlan, Point};
use btu_control::controller::Draw;
use btu_report::{Graph, NamedSignature, PLOT_ROWS, TextOptions, pipe_plot};
use btu_studies::pipe::{PipeVerdict, judge};
use btu_units::{Span, written_rate};

use crate::terminal;

/// Lines of a plot that are no rows between its axes: labels, numbers, a legend of two lines, and
/// the progress above.
const AROUND: usize = 9;

/// Fewer rows show nothing.
const LEAST_ROWS: usize = 4;

/// No plot is narrower.
const LEAST_COLUMNS: usize = 80;

/// Draws on a terminal; nothing elsewhere, or when quiet.
pub(super) fn drawn(quiet: bool) -> Draw {
    let is_shown = !quiet && stderr().is_terminal();
    Box::new(move |job: &Job, records: &[JobRecord]| {
        let size = is_shown.then(|| terminal_size::terminal_size_of(stderr())).flatten();
        let Some(((width, height), last)) = size.zip(records.last()) else { return String::new() };
        let (width, height) = (usize::from(width.0), usize::from(height.0));
        // A line that the terminal wraps would not be removed completely.
        let line: String = words(job, last).chars().take(width).collect();
        let rows = height.saturating_sub(AROUND).min(PLOT_ROWS);
        let has_room = rows >= LEAST_ROWS && width >= LEAST_COLUMNS;
        let plot = if has_room { plot(job, records, (width, rows)) } else { Vec::new() };
        plot.iter().fold(line, |all, line| all + "\n" + line)
    })
}

/// The signatures so far; HINT has none.
fn plot(job: &Job, records: &[JobRecord], (width, rows): (usize, usize)) -> Vec<String> {
    if let Job::Hint(_) = job {
        return Vec::new();
    }
    let plans = job.plans();
    let verdicts: Vec<PipeVerdict> = plans
        .iter()
        .enumerate()
        .map(|(series, plan)| judge(plan, &Job::points(records, series)))
        .collect();
    let names = called(plans);
    let signatures: Vec<NamedSignature> = names
        .iter()
        .zip(&verdicts)
        .map(|(name, verdict)| NamedSignature { name, verdict })
        .collect();
    let options = TextOptions { colour: terminal::colour_of(&stderr()), width };
    pipe_plot(Graph::Throughput, &signatures, false, rows, &options)
}

/// Names for a legend: transports where they differ, else loads.
fn called(plans: &[PipePlan]) -> Vec<String> {
    let alike = plans.iter().all(|plan| plan.kind == plans[0].kind);
    let name =
        |plan: &PipePlan| if alike { plan.load.name() } else { plan.kind.label() }.to_owned();
    plans.iter().map(name).collect()
}

/// A result in a line.
fn words(job: &Job, record: &JobRecord) -> String {
    let plan = job.plans().get(record.series);
    match &record.seen {
        HintRecord::Message(point) => plan.map_or_else(String::new, |plan| of_point(plan, point)),
        HintRecord::Two(step) => of_step("two processes", step),
        HintRecord::One(step) => of_step("one process", step),
    }
}

fn of_point(plan: &PipePlan, point: &Point) -> String {
    let times = point.one_way_seconds(plan.pattern);
    let time = times.iter().copied().fold(f64::INFINITY, f64::min);
    let rate = plan.pattern.bits_at_once(point.size, plan.pairs) / time;
    let load = if plan.load == Load::Idle { String::new() } else { format!(" {}", plan.load) };
    format!(
        "{}{load} {} {} {}",
        plan.kind,
        point.size,
        Span::from_seconds_f64(time),
        written_rate(rate)
    )
}

fn of_step(processes: &str, step: &HintPoint) -> String {
    let (intervals, lap, quips) = (step.intervals, step.least_seconds() * 1e6, step.quips());
    format!("HINT, {processes}: {intervals:>7} intervals  {lap:>10.1} us a lap  {quips:.3e} QUIPS")
}
