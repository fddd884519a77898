//! The result of HINT for a terminal.

use btu_suite::hint::{AREA, HintResult, HintStep, HintVerdict};

use super::{NOWHERE_FASTER, picture};
use crate::head::{RunHead, TextOptions};
use crate::number::{NOTHING, count, percent, plus_minus, three_digits};
use crate::paint::Paint;
use crate::pipe::{PLOT_ROWS, legend, plotted};
use crate::sheet::{Sheet, page, section, wrap};
use crate::unit::{ends, time, time_unit};

/// The number of steps that fit on a screen.
const GLANCE: usize = 24;

/// The whole result, all steps in the table if `all`; `transport` carried the exchange. Lines end
/// with `\n`.
pub fn hint_text(
    result: &HintResult,
    transport: &str,
    run: &RunHead,
    all: bool,
    options: &TextOptions,
) -> String {
    page(vec![
        head(result, transport, run, options),
        headline(result),
        graph(result, options),
        exchange(result, options),
        result.two.as_ref().map_or_else(Vec::new, |two| steps(two, all, options)),
        checks(result, options),
        notes(run, options),
    ])
}

/// The subject, the place and the time of the measurement.
fn head(result: &HintResult, transport: &str, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let title =
        format!("{} {}", paint.title("HINT between two processes,"), paint.strong(transport));
    let steps = result.two.as_ref().map_or(0, |two| two.steps.len());
    run.below(title, &count(steps, "step"), options)
}

/// Formats QUIPS as in `318 kQUIPS`.
fn quips(value: f64) -> String {
    let units = [("GQUIPS", 1e9), ("MQUIPS", 1e6), ("kQUIPS", 1e3)];
    let (name, worth) =
        units.into_iter().find(|(_, worth)| value >= *worth).unwrap_or(("QUIPS", 1.0));
    format!("{} {name}", three_digits(value / worth))
}

/// Peak and net QUIPS, and the point from which two processes are faster.
fn headline(result: &HintResult) -> Vec<String> {
    let Some(two) = &result.two else { return vec!["Nothing was measured.".to_owned()] };
    let of_one = |figure: fn(&HintVerdict) -> f64| {
        result.one.as_ref().map_or_else(|| NOTHING.to_owned(), |one| quips(figure(one)))
    };
    let mut sheet = Sheet::new(["", "two processes", "one"].map(str::to_owned).to_vec(), 1);
    sheet.row(vec!["net".to_owned(), quips(two.net_quips), of_one(|one| one.net_quips)]);
    sheet.row(vec!["peak".to_owned(), quips(two.peak_quips), of_one(|one| one.peak_quips)]);
    let mut lines = sheet.lines();
    if result.one.is_some() {
        lines.push(match result.pays_from_intervals {
            Some(from) => format!("Two processes are faster than one from {from} intervals on."),
            None => NOWHERE_FASTER.to_owned(),
        });
    }
    lines
}

fn graph(result: &HintResult, options: &TextOptions) -> Vec<String> {
    let panel = picture::quips(result);
    if panel.series.iter().all(|series| series.points.len() < 3) {
        return Vec::new();
    }
    let mut lines = plotted(&panel, PLOT_ROWS, options);
    lines.extend(legend(&panel, options));
    section("QUIPS", "quality improvements per second against the time of a lap", lines, options)
}

/// The time of an exchange by HINT, next to that of two messages over the network.
fn exchange(result: &HintResult, options: &TextOptions) -> Vec<String> {
    let Some((two, exchange)) =
        result.two.as_ref().and_then(|two| Some((two, two.exchange_seconds?)))
    else {
        return Vec::new();
    };
    let mut sheet = Sheet::new(["", "", "95 %"].map(str::to_owned).to_vec(), 1);
    let unit = time_unit(exchange.value.abs());
    sheet.row(vec!["an exchange, by HINT".to_owned(), time(exchange.value), ends(&exchange, unit)]);
    for (message, when) in result.message_seconds.iter().zip(["before", "after"]) {
        let twice = message.scaled(2.0);
        sheet.row(vec![
            format!("two messages of 16 B, {when}"),
            time(twice.value),
            ends(&twice, unit),
        ]);
    }
    let mut lines = sheet.lines();
    if let (Some(ratio), Some(alike)) = (two.exchange_ratio, two.exchange_is_the_network) {
        let word = if alike { "it is the network" } else { "it is not just the network" };
        lines.push(format!(
            "The exchange takes {} times two messages: {word} (within 20 %).",
            three_digits(ratio)
        ));
    }
    section(
        "Communication",
        "a lap is the work and one exchange, which is a message each way",
        lines,
        options,
    )
}

fn steps(two: &HintVerdict, all: bool, options: &TextOptions) -> Vec<String> {
    let every = if all { 1 } else { two.steps.len().div_ceil(GLANCE).max(1) };
    let Some(typical) = two.steps.get(two.steps.len() / 2) else { return Vec::new() };
    let unit = time_unit(typical.least_seconds);
    let head = [
        "intervals".to_owned(),
        "quality".to_owned(),
        format!("least {}", unit.name),
        "median".to_owned(),
    ];
    let head = head.into_iter().chain([String::new(), "QUIPS".to_owned(), "work %".to_owned()]);
    let mut sheet = Sheet::new(head.collect(), 0);
    let chosen = |(index, step): (usize, _)| {
        (index % every == 0 || index + 1 == two.steps.len()).then_some(step)
    };
    for step in two.steps.iter().enumerate().filter_map(chosen) {
        sheet.row(row(step, unit.worth));
    }
    let note = "intervals of each process; HINT's time is the fastest trial's";
    section("Steps", note, sheet.lines(), options)
}

fn row(step: &HintStep, unit: f64) -> Vec<String> {
    vec![
        step.intervals.to_string(),
        three_digits(step.quality),
        three_digits(step.least_seconds / unit),
        three_digits(step.median_seconds.value / unit),
        plus_minus(Some(&step.median_seconds)),
        quips(step.quips),
        step.work_share.map_or_else(|| NOTHING.to_owned(), percent),
    ]
}

/// Whether the answer is right.
fn checks(result: &HintResult, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let all: Vec<&HintVerdict> = result.two.iter().chain(&result.one).collect();
    let steps: usize = all.iter().map(|verdict| verdict.steps.len()).sum();
    let outside: usize = all.iter().map(|verdict| verdict.outside).sum();
    let off_law: usize = all.iter().map(|verdict| verdict.off_law).sum();
    let area = match outside {
        0 => format!("All {steps} pairs of bounds hold the exact area, 2 ln 2 - 1 = {AREA:.10}."),
        _ => format!(
            "WRONG: {outside} of {steps} pairs of bounds do not hold the exact area {AREA:.10}."
        ),
    };
    let law = match off_law {
        0 => {
            "Up to 256 intervals of each, every quality is that of P n - 1 within 0.7 %.".to_owned()
        }
        _ => format!(
            "WRONG: {off_law} qualities up to 256 intervals of each are not that of P n - 1 within 0.7 %."
        ),
    };
    let lines = [(outside, area), (off_law, law)].into_iter().flat_map(|(bad, text)| {
        let paint =
            move |line: String| if bad == 0 { paint.quiet(&line) } else { paint.warning(&line) };
        wrap(&text, options.columns(), 2).into_iter().map(paint)
    });
    if steps == 0 { Vec::new() } else { lines.collect() }
}

fn notes(run: &RunHead, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let notes = run.notes.iter().flat_map(|note| wrap(note, options.columns() - 2, 0));
    let notes: Vec<String> = notes.map(|line| format!("  {line}")).collect();
    if notes.is_empty() {
        notes
    } else {
        std::iter::once(paint.title("Warnings")).chain(notes).collect()
    }
}
