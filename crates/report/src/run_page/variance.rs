//! The components of the rows' spread, and correlated quantities.

use btu_suite::cell::Row;
use btu_suite::verdict::{CauseShare, Group, Parts, RatingSpread, Variance, Verdict};

use super::row;
use crate::html::{Block, Cell, Section, Table};
use crate::number::{percent, three_digits};
use crate::text::called;

/// The title of the section.
pub const VARIANCE: &str = "Where the spread comes from";

const NOTE: &str = "Standard deviations of one cell's goodput in per cent of it; their squares add up. Blocks: what all rows of a block \
                    have in common. Within cells: by what goodput does while a cell lasts. Repetitions: the rest.";

/// Groups of rows, and causes; of `every_row` as well.
pub(crate) fn section(verdict: &Verdict, every_row: bool) -> Option<Section> {
    let variance = verdict.variance.as_ref()?;
    let mut blocks = vec![Block::Text(sentence(&variance.rating)), Block::Table(groups(variance))];
    if variance.causes.is_empty() {
        blocks.push(Block::Text(
            "Too few repetitions to tell what goes along with the spread.".to_owned(),
        ));
    } else {
        blocks.push(Block::Text(CAUSES.to_owned()));
        blocks.push(Block::Table(causes(&variance.causes)));
    }
    if every_row {
        blocks.push(Block::Table(rows(variance)));
    }
    Section::of(VARIANCE, NOTE, blocks)
}

const CAUSES: &str = "What goes along with the spread of repetitions, as a share of their variance with its 95 % interval. It need not be the \
                      cause: both may follow from a third. Where no direction is named, chance alone may have made it.";

/// Its meaning for the rating.
fn sentence(rating: &RatingSpread) -> String {
    format!(
        "The rating of one such run has a standard deviation of {} %: {} % by blocks, {} % by repetitions and {} % by what happens \
         within cells. What differs between runs alone is not in it.",
        percent(rating.total),
        percent(rating.by_blocks),
        percent(rating.by_repetitions),
        percent(rating.by_cells)
    )
}

const HEAD: [&str; 4] = ["all, %", "blocks, %", "repetitions, %", "within cells, %"];

fn parts(parts: &Parts) -> [Cell; 4] {
    let all = [
        Some(parts.total),
        parts.between_blocks,
        Some(parts.between_repetitions),
        parts.within_cells,
    ];
    all.map(|deviation| Cell::number(deviation.map(|deviation| deviation * 100.0)))
}

fn groups(variance: &Variance) -> Table {
    let head: Vec<&str> = std::iter::once("").chain(HEAD).collect();
    let mut table = Table::new("Spread of a cell's goodput", &head, 1);
    table.rows.push(row(&["all rated rows"], parts(&variance.all)));
    for group in &variance.groups {
        let name = match group.group {
            Group::Component(component) => component.to_string(),
            Group::Message(message) => format!("{} B", message.count()),
            Group::Load(load) => called(load),
        };
        table.rows.push(row(&[&name], parts(&group.parts)));
    }
    table
}

fn causes(causes: &[CauseShare]) -> Table {
    let mut table =
        Table::new("What goes along with the spread", &["", "more of it", "share, %"], 2);
    for cause in causes {
        let direction = match (cause.is_told, cause.is_faster) {
            (false, _) => "-",
            (true, true) => "faster",
            (true, false) => "slower",
        };
        let share = cause.share * 100.0;
        let interval = Some((cause.interval.low * 100.0, cause.interval.high * 100.0));
        let cell = Cell::Number { value: share, shown: three_digits(share), interval };
        table.rows.push(row(&[cause.cause.name(), direction], [cell]));
    }
    table
}

fn rows(variance: &Variance) -> Table {
    let head: Vec<&str> = ["", "", "message, B", "measured", HEAD[0], HEAD[2], HEAD[3]].to_vec();
    let mut table = Table::new("Spread of a cell's goodput by row", &head, 3);
    for one in &variance.rows {
        let Row::Network { component, message, load } = one.row else { continue };
        let [all, _, repetitions, within] = parts(&one.parts);
        let count = [Cell::count(message.count()), Cell::count(one.repetitions as u64)];
        let cells = count.into_iter().chain([all, repetitions, within]);
        table.rows.push(row(&[component.name(), &called(load)], cells));
    }
    table
}
