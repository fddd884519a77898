//! Packets by the second, as figures 6 to 8 of the report have them.

use btu_studies::copy::{CopyRow, CopyVerdict, Packets};

use super::{MILLI, PERCENT, add, is_at, names};
use crate::html::{Axis, Block, Cell, Figure, Layout, Panel, Point, Section, Series, Table};

/// Of the largest file at the usual place: how each program began and went on.
pub(super) fn packets(verdict: &CopyVerdict) -> Option<Section> {
    let place = verdict.rows.first().map(|row| (row.cell.storage, row.cell.cache));
    let largest = verdict.rows.iter().map(|row| row.cell.size).max();
    let is_shown = |row: &&CopyRow| is_at(row, place) && Some(row.cell.size) == largest;
    let shown =
        verdict.rows.iter().filter(is_shown).filter_map(|row| Some((row, row.packets.as_ref()?)));
    let mut series: Vec<Series> = Vec::new();
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "until, s",
        "sent, 1/s",
        "mean, B",
        "received, 1/s",
        "mean, B",
    ];
    let mut table = Table::new("Packets by the second", &head, 4);
    let mut changes = Table::new(
        "Start and steady state",
        &["program", "file", "storage", "background", "at, s", "before, 1/s", "after, 1/s"],
        4,
    );
    for (row, Packets { seconds, change }) in shown {
        let name = format!("{}, {}", row.cell.program_name(), row.cell.background);
        for second in seconds {
            add(&mut series, name.clone(), Point::new(second.until, second.sent_per_second));
            let cells = [
                Cell::number(Some(second.until)),
                Cell::number(Some(second.sent_per_second)),
                Cell::number(second.sent_octets),
                Cell::number(Some(second.received_per_second)),
                Cell::number(second.received_octets),
            ];
            table.rows.push(names(&row.cell).into_iter().chain(cells).collect());
        }
        if let Some(change) = change {
            let cells =
                [change.at, change.before, change.after].map(|value| Cell::number(Some(value)));
            changes.rows.push(names(&row.cell).into_iter().chain(cells).collect());
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let panel = Panel {
        title: String::new(),
        x: Axis::linear("s"),
        y: Axis::linear("packets sent, 1/s"),
        series,
    };
    let figure = Figure {
        name: "packets".to_owned(),
        title: "Packets sent by the second, largest file".to_owned(),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table,
    };
    let mut blocks = vec![Block::Figure(figure)];
    if !changes.rows.is_empty() {
        blocks.push(Block::Table(changes));
    }
    let note = "at the interfaces of the end that keeps the time, of the copy whose time is nearest to the median; octets with Ethernet's \
                header; two levels by least squares where they differ by a tenth";
    Section::of("Packets by the second", note, blocks)
}

/// The report's model at the measured rates, next to the measurement: its figure 11.
pub(super) fn modelled(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "packets",
        "delay, ms",
        "modelled, s",
        "measured, s",
        "error, %",
    ];
    let mut table = Table::new("The report's model", &head, 4);
    for row in &verdict.rows {
        let Some(modelled) = row.modelled else { continue };
        let cells = [
            Some(modelled.packets),
            Some(modelled.delay_seconds * MILLI),
            Some(modelled.seconds),
            Some(modelled.seconds / (1.0 + modelled.error)),
            Some(modelled.error * PERCENT),
        ];
        table.rows.push(names(&row.cell).into_iter().chain(cells.map(Cell::number)).collect());
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "on a shared Ethernet, at the packet rates that were measured: the file's packets wait one after the other, each for the mean delay \
                of Lam's cable; the report's model was 16 to 37 % off";
    Section::of("Compared with the report's model", note, blocks)
}
