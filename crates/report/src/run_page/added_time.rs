//! Where the time goes that loads add to network activities.

use btu_studies::rate::{AddedTime, Verdict};

use super::row;
use crate::html::{Block, Cell, Section, Table};
use crate::number::percent;

const NOTE: &str = "Of the thread that moves the data on the machine under test: more time on a processor for the same work, more time \
                    ready to run while others have the processors, more time blocked, because the other end or the network is \
                    slower. The shares sum to 100; they are there where time was added beyond chance (95 %).";

/// A row for each component and load.
pub(crate) fn section(verdict: &Verdict) -> Option<Section> {
    let head =
        ["component", "load", "added, %", "95 %", "on a processor, %", "waiting, %", "blocked, %"];
    let mut table = Table::new("Added time", &head, 2);
    for one in &verdict.added_time {
        let AddedTime { component, load, added, .. } = one;
        let shares = one.shares();
        let share =
            |place: usize| shares.map_or(Cell::Nothing, |shares| Cell::percent(shares[place]));
        let interval = added.interval.map_or_else(String::new, |ends| {
            format!("{} .. {}", percent(ends.low), percent(ends.high))
        });
        let cells = [Cell::percent(added.value), Cell::text(interval)];
        let cells = cells.into_iter().chain([0, 1, 2].map(share));
        table.rows.push(row(&[&component.to_string(), &load.to_string()], cells));
    }
    if verdict.added_time.is_empty() {
        return None;
    }
    Section::of("Where the added time goes", NOTE, vec![Block::Table(table)])
}
