//! Where the time goes that loads add to network activities.

use btu_studies::rate::{AddedTime, Verdict};

use btu_contract::load::Load;

use super::row;
use crate::html::{Block, Cell, Figure, Layout, Panel, Role, Section, Table};
use crate::number::percent;

/// What the thread does in the added time.
const PARTS: [&str; 3] = ["on a processor", "waiting", "blocked"];

const OF: [fn(&AddedTime) -> f64; 3] =
    [|one| one.on_processor, |one| one.waiting, |one| one.blocked];

const PERCENT: f64 = 100.0;

const NOTE: &str = "Of the thread that moves the data on the machine under test: more time on a processor for the same work, more time \
                    ready to run while others have the processors, more time blocked, because the other end or the network is \
                    slower. The shares sum to 100; they are there where time was added beyond chance (95 %).";

/// A row and a bar for each component and load.
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
    Section::of("Where the added time goes", NOTE, vec![Block::Figure(bars(verdict, table))])
}

/// The added time in its parts, in per cent of the time alone.
fn bars(verdict: &Verdict, table: Table) -> Figure {
    let parts = PARTS.into_iter().zip(OF).enumerate().map(|(place, (name, of))| {
        let heights = verdict.added_time.iter().map(|one| Some(PERCENT * of(one))).collect();
        (name.to_owned(), Role::Member(place), heights)
    });
    let words =
        verdict.added_time.iter().map(|one| format!("{} + {}", one.component, one.load)).collect();
    Figure {
        name: "added-time".to_owned(),
        title: "Time that a load adds, % of the time alone".to_owned(),
        panels: vec![Panel::stacked("", ("", words), "added, %", parts)],
        layout: Layout::SideBySide,
        table,
    }
}

/// What most of the time is that a load adds, over all components that it slows beyond chance: `78 % of it waiting`.
pub(super) fn most(verdict: &Verdict, load: Load) -> Option<String> {
    let of_load = verdict.added_time.iter().filter(|one| one.load == load);
    let certain: Vec<&AddedTime> = of_load.filter(|one| one.shares().is_some()).collect();
    let sum = |part: fn(&AddedTime) -> f64| certain.iter().map(|one| part(one)).sum::<f64>();
    let whole = sum(|one| one.added.value);
    let parts = ["computing", "waiting", "blocked"].into_iter().zip(OF.map(sum));
    let (what, part) = parts.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (whole > 0.0).then(|| format!("{} % of it {what}", percent(part / whole)))
}
