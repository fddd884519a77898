//! What a load that gives way leaves, next to what an earlier run predicts.

use btu_contract::load::Load;
use btu_studies::rate::{Verdict, Verified};

use super::row;
use crate::html::{Block, Cell, Section, Table};
use crate::number::{ends, percent, three_digits};
use crate::summary::KeyFigure;

const NOTE: &str = "The time under the CPU load divided by the time alone: as the earlier run measured it; as that run \
                    predicts it without the time in which the load had the processor; and as this run measured it, with a \
                    load that yields to everything else (nice value 19). Of the gain: the measured share of the predicted gain.";

pub(crate) fn section(verdict: &Verdict) -> Option<Section> {
    let head = ["component", "load", "found", "predicted", "seen", "95 %", "of the gain, %"];
    let mut table = Table::new("Without waiting for the load", &head, 2);
    for one in &verdict.verified {
        let predicted = &one.predicted;
        let seen = one.seen.map(|seen| seen.value);
        let cells = [
            Cell::number(Some(predicted.found)),
            Cell::number(Some(predicted.without_waiting)),
            Cell::number(seen),
            Cell::text(interval(one)),
            one.gained().map_or(Cell::Nothing, Cell::percent),
        ];
        table.rows.push(row(&[&predicted.component.to_string(), Load::Cpu.name()], cells));
    }
    if verdict.verified.is_empty() {
        return None;
    }
    Section::of("The waiting taken away", NOTE, vec![Block::Table(table)])
}

fn interval(one: &Verified) -> String {
    one.seen.and_then(|seen| ends(&seen, 1.0)).unwrap_or_default()
}

/// A line for each component that was seen.
pub(super) fn figures(verdict: &Verdict) -> impl Iterator<Item = KeyFigure> {
    verdict.verified.iter().filter_map(|one| {
        let predicted = &one.predicted;
        let gained = one.gained().map_or_else(String::new, |gained| {
            format!(", {} % of the predicted gain", percent(gained))
        });
        Some(KeyFigure {
            name: format!("{} + cpu", predicted.component),
            value: format!("{} times", three_digits(one.seen?.value)),
            interval: interval(one),
            note: format!(
                "as long with a load that gives way; {} predicted, {} without{gained}",
                three_digits(predicted.without_waiting),
                three_digits(predicted.found)
            ),
        })
    })
}
