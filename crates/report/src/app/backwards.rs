//! The inverse questions: the number of round trips, and the least bandwidth.

use btu_suite::app::{AppVerdict, Bandwidth, Trips};

use super::way::Columns;
use crate::html::{Block, Cell, Section};

const MILLI: f64 = 1e3;
const MEGA: f64 = 1e6;

/// Both answers, where they were asked for.
pub(super) fn sections(verdict: &AppVerdict, columns: Columns) -> [Option<Section>; 2] {
    [trips(&verdict.round_trips, columns), bandwidth(&verdict.bandwidth, columns)]
}

fn trips(all: &[Trips], columns: Columns) -> Option<Section> {
    let head = ["one by one", "ms", "may have", "by a window of", "then ms", "all at once, ms"];
    let mut table = columns.table("Round trips of a picture", &head);
    for trips in all {
        let most = trips.most;
        let count = |count: Option<u64>| count.map_or_else(|| Cell::text("never"), Cell::count);
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
    let note = "by the closed form, with what both ends were measured to compute; never: not even all at once";
    Section::of("How many round trips a picture may have", note, blocks)
}

fn bandwidth(all: &[Bandwidth], columns: Columns) -> Option<Section> {
    let mut table =
        columns.table("Bandwidth, Mb/s", &["now", "needed", "items/s with endless bandwidth"]);
    for answer in all {
        let needed = answer.least_bits_per_second.map(|rate| rate / MEGA);
        let cells = [
            Cell::number(Some(answer.line_bits_per_second / MEGA)),
            needed.map_or_else(|| Cell::text("never enough"), |needed| Cell::number(Some(needed))),
            Cell::number(Some(answer.most_items_per_second)),
        ];
        table.rows.push(columns.cells(&answer.cell).into_iter().chain(cells).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "of frames, on the slowest part of the way, by the closed form; never enough: delay and computing are too slow";
    Section::of("How much bandwidth it takes", note, blocks)
}
