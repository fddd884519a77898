//! The result of `btu app` as a report.

mod backwards;
mod factors;
mod paper;
mod shape;
mod way;

use btu_contract::app::{Carrier, Slowing};
use btu_stats::Estimate;
use btu_studies::app::{AppPlan, AppRow, AppVerdict};

use crate::differs;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, Panel, Point, Role, Section, Series, Table,
};
use crate::number::{ends, percent, three_digits};
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, warned};
use crate::study::{CellTable, Reported};
use crate::summary::KeyFigure;
use crate::unit::time;
use crate::versus::IntervalRelation;
use way::{Columns, way};

/// Milliseconds in a second, microseconds in a second.
const MILLI: f64 = 1e3;
const MICRO: f64 = 1e6;

impl Reported for AppPlan {
    fn page(&self, verdict: &AppVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let columns = Columns::of(&verdict.rows);
        let [which, pairs] = factors::sections(verdict);
        let [trips, bandwidth] = backwards::sections(verdict, columns);
        let rates = rates(self, verdict, columns);
        let rest = [
            prediction(verdict, columns),
            shares(verdict, columns),
            pollution(verdict, columns),
            paper::x11perf(verdict),
            memory(verdict),
            pictures(verdict),
        ];
        let sections = [
            which,
            pairs,
            paper::section(verdict),
            rates,
            shape::section(verdict),
            trips,
            bandwidth,
        ]
        .into_iter()
        .chain(rest)
        .collect();
        let mut page = stored
            .page(headline(verdict), warned(&verdict.warnings), sections)
            .limited_by(limit(verdict));
        if verdict.factors.is_none() {
            page.summary.figures = figures(verdict);
        }
        // What was asked comes first.
        page.summary.figures.splice(..0, backwards::answers(&self.questions, verdict));
        page
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// The fastest and the slowest way of the first picture.
fn headline(verdict: &AppVerdict) -> String {
    if let Some(which) = verdict.factors.as_ref().and_then(factors::headline) {
        return which;
    }
    if verdict.rows.is_empty() {
        return "Nothing was asked for".to_owned();
    }
    let rows = ranked(verdict);
    let (Some((best, most)), Some((worst, least))) = (rows.first(), rows.last()) else {
        return "No picture was drawn".to_owned();
    };
    let (picture, rate) = (best.cell.workload, three_digits(most.value));
    if rows.len() == 1 {
        return format!("{picture}: {rate} items/s by {}", way(&best.cell));
    }
    let times = format!("{} times as many", three_digits(most.value / least.value));
    format!(
        "{picture}: {rate} items/s by {}, {} by {}: {}",
        way(&best.cell),
        three_digits(least.value),
        way(&worst.cell),
        IntervalRelation::of(most, least).claim(times)
    )
}

/// The ways of drawing the first picture with their items per second, the fastest first. x11perf's
/// pace is not btu's, and has a table of its own: it is here only where nothing else drew.
fn ranked(verdict: &AppVerdict) -> Vec<(&AppRow, Estimate)> {
    let is_ours = |row: &AppRow| row.cell.carrier != Carrier::X11perf;
    let has_ours = verdict.rows.iter().any(is_ours);
    let mut rows_of = verdict.rows.iter().filter(|row| is_ours(row) || !has_ours).peekable();
    let first = rows_of.peek().map(|row| row.cell.workload);
    let own = rows_of.filter(|row| Some(row.cell.workload) == first);
    let mut rows: Vec<(&AppRow, Estimate)> =
        own.filter_map(|row| Some((row, row.items_per_second?))).collect();
    rows.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    rows
}

/// The ways of drawing the first picture: the two of the headline, then the others, the fastest first.
fn figures(verdict: &AppVerdict) -> Vec<KeyFigure> {
    let mut rows = ranked(verdict);
    if let Some(last) = rows.pop() {
        rows.insert(rows.len().min(1), last);
    }
    let figure = |(row, rate): (&AppRow, Estimate)| KeyFigure {
        name: way(&row.cell),
        value: format!("{} items/s", three_digits(rate.value)),
        interval: ends(&rate, 1.0).unwrap_or_default(),
        note: row
            .seconds
            .map_or_else(String::new, |took| format!("{} a picture", time(took.value))),
    };
    rows.into_iter().map(figure).collect()
}

/// The largest part of the time of the slowest row, and of the fastest if it is another one, by the
/// closed form.
fn limit(verdict: &AppVerdict) -> String {
    let mut known = ranked(verdict).into_iter().filter_map(|(row, _)| Some((row, largest(row)?)));
    let (fastest, slowest) = (known.next(), known.next_back());
    let words = |(row, (part, share)): (&AppRow, (&str, f64))| {
        format!("{part}, {:.0} % of the time of {}", share * 100.0, way(&row.cell))
    };
    let fastest =
        fastest.filter(|(_, (part, _))| slowest.is_none_or(|(_, (other, _))| *part != other));
    slowest.into_iter().chain(fastest).map(words).collect::<Vec<_>>().join("; by ")
}

/// The largest part of a row's time, and its share.
fn largest(row: &AppRow) -> Option<(&'static str, f64)> {
    let shares = row.shares?;
    let parts = [
        ("bandwidth", shares.bandwidth),
        ("delay", shares.delay),
        ("the application", shares.application),
        ("the display", shares.display),
    ];
    parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
}

fn rates(plan: &AppPlan, verdict: &AppVerdict, columns: Columns) -> Option<Section> {
    let mut table = columns.table("Items per second", &["items/s", "ms a picture", "requests"]);
    for row in &verdict.rows {
        let measured = [
            Cell::estimate(row.items_per_second.as_ref(), 1.0),
            Cell::estimate(row.seconds.as_ref(), 1.0 / MILLI),
            Cell::count(row.requests),
        ];
        table.rows.push(columns.cells(&row.cell).into_iter().chain(measured).collect());
    }
    let mut blocks = vec![Block::Figure(figure(verdict, table))];
    if let Some(shares) = &verdict.shares {
        let share = |share: f64| format!("{:.0} %", share * 100.0);
        blocks.push(Block::Text(format!(
            "Of the variance of the logarithms of these rates over {}, {} is due to the protocol, {} to the picture, {} to \
             neither alone.",
            shares.carrier,
            share(shares.protocol),
            share(shares.workload),
            share(shares.interaction)
        )));
    }
    let slowed = if verdict.rows.iter().all(|row| row.cell.speeds.are_full()) {
        ""
    } else {
        match plan.slowing {
            Slowing::Dilation => "; slower processors: the end spins after its own work",
            Slowing::Quota => "; slower processors: the kernel stops the end (SCHED_DEADLINE)",
        }
    };
    let nice = if plan.nice.is_usual() {
        String::new()
    } else {
        format!(
            "; nice {} at the application, {} at the display",
            plan.nice.application, plan.nice.display
        )
    };
    let note = format!(
        "geometric mean of the blocks (95 % interval); a picture ends with its last answer{slowed}{nice}"
    );
    Section::of("How fast a picture is drawn", &note, blocks)
}

/// Every way of drawing at its rate, a series for each picture.
fn figure(verdict: &AppVerdict, table: Table) -> Figure {
    let mut ways: Vec<String> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for row in &verdict.rows {
        let Some(rate) = row.items_per_second else { continue };
        let way = way(&row.cell);
        let place = ways.iter().position(|other| *other == way).unwrap_or_else(|| {
            ways.push(way);
            ways.len() - 1
        });
        let point = Point {
            x: rate.value,
            y: place as f64,
            interval: rate.interval.map(|interval| (interval.low, interval.high)),
        };
        let (name, member) = (row.cell.workload.name(), Role::Member(series.len()));
        match series.iter_mut().find(|one| one.name == name) {
            Some(one) => one.points.push(point),
            None => {
                series.push(Series {
                    name: name.to_owned(),
                    role: member,
                    mark: Drawn::Points,
                    points: vec![point],
                });
            }
        }
    }
    let (x, y) = (Axis::logarithmic("items/s"), Axis::words("", ways));
    Figure {
        name: "rates".to_owned(),
        title: "Items per second".to_owned(),
        panels: vec![Panel { title: String::new(), x, y, series }],
        layout: Layout::SideBySide,
        table,
    }
}

fn prediction(verdict: &AppVerdict, columns: Columns) -> Option<Section> {
    let rows = verdict.rows.iter().filter(|row| row.expected_seconds.is_some());
    let head = [
        "application, us",
        "display, us",
        "own, us",
        "a message, us",
        "expected, ms",
        "measured, ms",
        "error, %",
    ];
    let mut table = columns.table("Closed form and measured", &head);
    for row in rows {
        let computed = [row.application_seconds, row.display_seconds]
            .map(|seconds| Cell::number(seconds.map(|seconds| seconds * MICRO)));
        let own = [&row.own_round_seconds, &row.own_message_seconds]
            .map(|seconds| Cell::estimate(seconds.as_ref(), 1.0 / MICRO));
        let numbers = [
            row.expected_seconds.map(|seconds| seconds * MILLI),
            row.seconds.map(|seconds| seconds.value * MILLI),
            row.error.map(|error| error * 100.0),
        ];
        let numbers = numbers.map(Cell::number);
        let cells = columns.cells(&row.cell).into_iter().chain(computed).chain(own).chain(numbers);
        table.rows.push(cells.collect());
    }
    if table.rows.is_empty() {
        return None;
    }
    let note = "from the network file, and from what both ends were seen to compute for a request; own: what a message of 20 \
                octets and its echo took longer than the network file says, before the pictures (95 % over the \
                cells); a message: the least time between two of them";
    let numbers = verdict.rows.iter().filter_map(|row| {
        Some((row.cell.workload.name(), row.seconds.as_ref()?, row.expected_seconds?))
    });
    let differing = differs::sentence(numbers, None).map(Block::Text);
    let blocks = [Block::Table(table)].into_iter().chain(differing).collect();
    Section::of("What the closed forms expect", note, blocks)
}

/// The parts of a picture's time, by the closed form.
fn shares(verdict: &AppVerdict, columns: Columns) -> Option<Section> {
    let mut table =
        columns.table("Per cent of the time", &["bandwidth", "delay", "application", "display"]);
    for row in &verdict.rows {
        let Some(shares) = row.shares else { continue };
        let parts = [shares.bandwidth, shares.delay, shares.application, shares.display];
        let parts = parts.map(|part| Cell::Number {
            value: part * 100.0,
            shown: percent(part.max(0.0)),
            interval: None,
        });
        table.rows.push(columns.cells(&row.cell).into_iter().chain(parts).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "per cent of a picture's time, by the closed form: what one per cent less of each would save";
    Section::of("What would help", note, blocks)
}

/// The broadcasts that were sent and that each end's host had to discard.
fn pollution(verdict: &AppVerdict, columns: Columns) -> Option<Section> {
    let head = ["sent", "at the application", "at the display"];
    let mut table = columns.table("Broadcasts per second", &head);
    for row in &verdict.rows {
        let Some(pollution) = row.pollution else { continue };
        let numbers = [Some(pollution.sent), pollution.application, pollution.display];
        table
            .rows
            .push(columns.cells(&row.cell).into_iter().chain(numbers.map(Cell::number)).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "frames of 64 octets to all hosts; each host's kernel receives them, finds no process that waits for them, \
                counts and discards them";
    Section::of("Broadcasts that came", note, blocks)
}

fn memory(verdict: &AppVerdict) -> Option<Section> {
    let mut table = Table::new("Octets", &["picture", "display file", "in memory", "bitmap"], 1);
    for memory in &verdict.memory {
        let cells =
            [memory.file, memory.memory, memory.bitmap].map(|bytes| Cell::count(bytes.count()));
        table.rows.push(std::iter::once(Cell::text(memory.workload.name())).chain(cells).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    Section::of(
        "What the display keeps",
        "as in Table 5-2 of the study, 20 octets an item; and the memory that the display held for it",
        blocks,
    )
}

fn pictures(verdict: &AppVerdict) -> Option<Section> {
    let mut table =
        Table::new("Pictures", &["picture", "SHA-256", "cells with it", "cells with another"], 2);
    for picture in &verdict.pictures {
        let digest = picture.digest.get(..16).unwrap_or(&picture.digest);
        table.rows.push(vec![
            Cell::text(picture.workload.name()),
            Cell::text(digest),
            Cell::count(picture.cells as u64),
            Cell::count(picture.others as u64),
        ]);
    }
    Section::of("The same picture, bit for bit", "first 16 digits", vec![Block::Table(table)])
}
