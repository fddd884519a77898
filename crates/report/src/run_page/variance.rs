//! Where the spread of the rating comes from: three numbers, and what to do.

use btu_studies::rate::Verdict;

use super::row;
use crate::html::{Block, Cell, Section, Table};

/// The title of the section.
pub const VARIANCE: &str = "Where the spread comes from";

const NOTE: &str = "Standard deviations of the mean over all rated rows, of a run with as many blocks. Their squares add up. What \
                    differs between runs alone is not in it.";

/// The three parts, and what makes the largest smaller.
pub(crate) fn section(verdict: &Verdict) -> Option<Section> {
    let variance = verdict.variance.as_ref()?;
    let mut table = Table::new("Spread of the rating", &["by what differs", "deviation, %"], 1);
    for (name, deviation) in [
        ("between blocks: all rows of a block together", variance.between_blocks),
        ("between repetitions: a cell from beginning to end", variance.between_repetitions),
        ("within cells: goodput while a cell lasts", variance.within_cells),
    ] {
        table.rows.push(row(&[name], [Cell::percent(deviation)]));
    }
    let advice = format!("What helps: {}.", variance.advice());
    Section::of(VARIANCE, NOTE, vec![Block::Table(table), Block::Text(advice)])
}
