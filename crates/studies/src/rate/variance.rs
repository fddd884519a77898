//! Where the spread of a run's rating comes from.
//!
//! The logarithm of a cell's goodput is the sum of its row's mean, its block's part, its own part
//! from beginning to end, and the variation of its goodput meanwhile. Variances of these four add
//! up. The part of blocks comes from all rows together (a row is measured once in a block, so a
//! single row cannot distinguish blocks from repetitions), the part within a cell from the progress
//! of the cell, and the rest lies between repetitions.

mod course;

use std::collections::{BTreeMap, BTreeSet};

use btu_stats::{TwoWay, sample_variance};
use serde::Serialize;

use super::cells::Cells;
use super::context::Context;
use super::goodputs::Goodputs;
use super::row::Row;

/// Standard deviations of the rating without load and under all loads, of a run with as many blocks, as shares of it:
/// 0.05 is 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Variance {
    /// By what all rows of a block have in common: the machine drifts.
    pub between_blocks: f64,
    /// By what makes a cell differ from the row's other cells from beginning to end.
    pub between_repetitions: f64,
    /// By the variation of goodput within cells; 0 where the progress of cells is not known.
    pub within_cells: f64,
}

impl Variance {
    /// What makes the largest of the three smaller.
    pub fn advice(&self) -> &'static str {
        if self.between_blocks >= self.between_repetitions.max(self.within_cells) {
            "the machine drifts over minutes: a longer run (`--time`), a quieter machine, and to compare two \
             settings measure them in turns (`btu run` with variants)"
        } else if self.between_repetitions >= self.within_cells {
            "cells of one row differ: more blocks (`--time`), or a quieter machine"
        } else {
            "goodput varies within cells: longer cells (`--profile standard`)"
        }
    }
}

/// A rated row with its input of the analysis.
struct Repeated {
    /// Logarithm of goodput by block.
    logarithms: BTreeMap<u32, f64>,
    /// Relative variance of a cell's goodput by its variation within the cell.
    within: Option<f64>,
}

impl Repeated {
    fn of(cells: &Cells, goodputs: &Goodputs, row: Row) -> Option<Self> {
        let logarithms: BTreeMap<u32, f64> =
            goodputs.of_row(row).map(|(block, goodput)| (block, goodput.ln())).collect();
        (logarithms.len() > 1)
            .then(|| Self { logarithms, within: course::variance_of_mean(cells.of(row)) })
    }

    fn total(&self) -> f64 {
        sample_variance(&self.logarithms.values().copied().collect::<Vec<_>>()).unwrap_or(0.0)
    }
}

/// Explains the spread of the rated rows; `None` if none was repeated.
///
/// The rating is a mean of logarithms over rows: more rows do not reduce the blocks' common part.
pub(super) fn variance(cells: &Cells, goodputs: &Goodputs, context: &Context) -> Option<Variance> {
    let planned = context.rated_rows(|_, _| true);
    let rows: Vec<Repeated> =
        planned.into_iter().filter_map(|row| Repeated::of(cells, goodputs, row)).collect();
    let most = rows.iter().map(|one| one.logarithms.len()).max()? as f64;
    let count = rows.len() as f64;
    let blocks = TwoWay::of(&table(&rows)).map_or(0.0, |found| found.between_blocks);
    let over = |of: &dyn Fn(&Repeated) -> f64| {
        rows.iter().map(|one| of(one) / one.logarithms.len() as f64).sum::<f64>() / (count * count)
    };
    let within = over(&|one| one.within.unwrap_or(0.0));
    let rest = over(&|one| one.total() - blocks);
    Some(Variance {
        between_blocks: (blocks / most).sqrt(),
        between_repetitions: (rest - within).max(0.0).sqrt(),
        within_cells: within.sqrt(),
    })
}

/// A line for each row that was measured in every block in which most rows were.
fn table(rows: &[Repeated]) -> Vec<Vec<f64>> {
    let blocks: BTreeSet<u32> =
        rows.iter().flat_map(|one| one.logarithms.keys().copied()).collect();
    let holds = |block: &u32| {
        rows.iter().filter(|one| one.logarithms.contains_key(block)).count() * 2 > rows.len()
    };
    let blocks: Vec<u32> = blocks.into_iter().filter(holds).collect();
    let line = |one: &Repeated| {
        blocks.iter().map(|block| one.logarithms.get(block).copied()).collect::<Option<Vec<f64>>>()
    };
    rows.iter().filter_map(line).collect()
}
