//! The inverse questions: the number of round trips, and the least bandwidth.

use btu_studies::app::{AppVerdict, Bandwidth, Questions, Trips};

use super::way::{Columns, way};
use crate::html::{Block, Cell, Section};
use crate::number::three_digits;
use crate::summary::KeyFigure;
use crate::unit;

const MILLI: f64 = 1e3;
const MEGA: f64 = 1e6;

/// Both answers, where they were asked for.
pub(super) fn sections(verdict: &AppVerdict, columns: Columns) -> [Option<Section>; 2] {
    [trips(&verdict.round_trips, columns), bandwidth(&verdict.bandwidth, columns)]
}

/// Both answers for the first picture, for the first screen: of the protocols, the one that needs the
/// least bandwidth.
pub(super) fn answers(asked: &Questions, verdict: &AppVerdict) -> Vec<KeyFigure> {
    let Some(first) = verdict.rows.first().map(|row| row.cell.workload) else { return Vec::new() };
    let trips = verdict.round_trips.iter().find(|trips| trips.cell.workload == first);
    let trips = asked.within.zip(trips).map(|(within, trips)| KeyFigure {
        name: format!("within {within}"),
        value: trips
            .most
            .map_or_else(|| "none".to_owned(), |most| format!("{} round trips", most.round_trips)),
        interval: String::new(),
        note: trips.most.map_or_else(
            || "not even all at once, by the closed form".to_owned(),
            |_| format!("instead of {}, by the closed form", trips.stop_and_wait),
        ),
    });
    let own: Vec<&Bandwidth> =
        verdict.bandwidth.iter().filter(|answer| answer.cell.workload == first).collect();
    let least = own
        .iter()
        .filter_map(|answer| Some((answer, answer.least_bits_per_second?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let bandwidth = asked.at_least.filter(|_| !own.is_empty()).map(|rate| KeyFigure {
        name: format!("{} items/s", three_digits(rate)),
        value: least.map_or_else(|| "none".to_owned(), |(_, bits)| unit::rate(bits)),
        interval: String::new(),
        note: least.map_or_else(
            || "no bandwidth is enough, by the closed form".to_owned(),
            |(answer, _)| format!("by {}, by the closed form", way(&answer.cell)),
        ),
    });
    trips.into_iter().chain(bandwidth).collect()
}

fn trips(all: &[Trips], columns: Columns) -> Option<Section> {
    let head = ["one by one", "ms", "may have", "by a window of", "then ms", "all at once, ms"];
    let mut table = columns.table("Round trips of a picture", &head);
    for trips in all {
        let most = trips.most;
        let count = |count: Option<u64>| count.map_or_else(|| Cell::text("none"), Cell::count);
        let answer = [
            Cell::count(trips.stop_and_wait),
            Cell::number(Some(trips.stop_and_wait_seconds * MILLI)),
            count(most.map(|most| most.round_trips)),
            count(most.map(|most| most.window)),
            Cell::number(most.map(|most| most.seconds * MILLI)),
            Cell::number(Some(trips.least_seconds * MILLI)),
        ];
        table.rows.push(columns.cells(&trips.cell).into_iter().chain(answer).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "by the closed form, with what both ends were measured to compute; none: not even all at once";
    Section::of("How many round trips a picture may have", note, blocks)
}

fn bandwidth(all: &[Bandwidth], columns: Columns) -> Option<Section> {
    let mut table =
        columns.table("Bandwidth, Mb/s", &["now", "needed", "items/s with endless bandwidth"]);
    for answer in all {
        let needed = answer.least_bits_per_second.map(|rate| rate / MEGA);
        let cells = [
            Cell::number(Some(answer.line_bits_per_second / MEGA)),
            needed.map_or_else(|| Cell::text("none"), |needed| Cell::number(Some(needed))),
            Cell::number(Some(answer.most_items_per_second)),
        ];
        table.rows.push(columns.cells(&answer.cell).into_iter().chain(cells).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "of frames, on the slowest part of the way, by the closed form; none is enough where delay and computing are too slow";
    Section::of("How much bandwidth it takes", note, blocks)
}
