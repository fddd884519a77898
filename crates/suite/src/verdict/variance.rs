//! The components of the spread of a run's rows.
//!
//! The logarithm of a cell's goodput is the sum of its row's mean, its block's part, its own part
//! from beginning to end, and the variation of its goodput meanwhile. Variances of these four add
//! up. The part of blocks comes from all rows together (a row is measured once in a block, so a
//! single row cannot distinguish blocks from repetitions), the part within a cell from the progress
//! of the cell, and the rest lies between repetitions. Everything is a standard deviation as a
//! share of the goodput.

mod causes;
mod course;

use std::collections::{BTreeMap, BTreeSet};

use btu_stats::{TwoWay, arithmetic_mean, sample_variance};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

pub use causes::{CauseShare, VarianceCause};

use super::cells::Cells;
use super::context::Context;
use crate::cell::{Component, Load, Row};

/// The components of a run's spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variance {
    /// The deviations of all rated rows together.
    pub all: Parts,
    /// The resulting deviations of such a run's rating.
    pub rating: RatingSpread,
    /// By component, message size and load.
    pub groups: Vec<GroupVariance>,
    /// The deviations of each repeated row.
    pub rows: Vec<RowVariance>,
    /// The quantities that correlate with the spread of the rated rows' repetitions, the largest
    /// share first.
    pub causes: Vec<CauseShare>,
}

/// Standard deviations of one cell's goodput, as shares of it: 0.05 is 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The deviation of a row's repetitions; of several rows, the root of their mean variance.
    pub total: f64,
    /// Common to all rows of a block. Absent where there are no two rows in two blocks.
    pub between_blocks: Option<f64>,
    /// The rest: a cell's own part, from its beginning to its end.
    pub between_repetitions: f64,
    /// The variation of goodput within a cell. Absent if the progress of cells is not known.
    pub within_cells: Option<f64>,
}

/// Standard deviations of the rating of one run with as many blocks, as shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatingSpread {
    /// The total variance.
    pub total: f64,
    /// By the blocks' common part: more blocks make it smaller.
    pub by_blocks: f64,
    /// By different repetitions: more blocks and more uniform cells make it smaller.
    pub by_repetitions: f64,
    /// By the variation of goodput within cells: longer cells make it smaller.
    pub by_cells: f64,
}

/// The rated rows that have a component, a message size or a load in common.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupVariance {
    /// Their common property.
    pub group: Group,
    /// The deviations of its rows together.
    pub parts: Parts,
}

/// The common property of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// A group of rows with one component.
    Component(Component),
    /// A group of rows with one message size.
    #[serde(rename = "message_bytes")]
    Message(Bytes),
    /// A group of rows with one load.
    Load(Load),
}

/// The variance of one row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RowVariance {
    /// The component, message size and load of the row.
    pub row: Row,
    /// The number of repetitions that count.
    pub repetitions: usize,
    /// The deviations of this row; the part between blocks is that of all rated rows.
    pub parts: Parts,
}

/// A rated row with its input of the analysis.
struct Repeated {
    row: Row,
    /// Logarithm of goodput by block.
    logarithms: BTreeMap<u32, f64>,
    /// Relative variance of a cell's goodput by its variation within the cell.
    within: Option<f64>,
}

impl Repeated {
    fn of(cells: &Cells, row: Row) -> Option<Self> {
        let logarithms: BTreeMap<u32, f64> =
            cells.goodputs(row).into_iter().map(|(block, goodput)| (block, goodput.ln())).collect();
        (logarithms.len() > 1).then(|| Self {
            row,
            logarithms,
            within: course::variance_of_mean(cells.of(row)),
        })
    }

    fn total(&self) -> f64 {
        sample_variance(&self.logarithms.values().copied().collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// The variance that is neither of blocks nor within cells; never below zero.
    fn own(&self, between_blocks: f64) -> f64 {
        (self.total() - between_blocks - self.within.unwrap_or(0.0)).max(0.0)
    }
}

/// Explains the spread of the rated rows; `None` if none was repeated.
pub(super) fn variance(cells: &Cells, context: &Context) -> Option<Variance> {
    let planned = context.rated_rows(|_, _| true);
    let rows: Vec<Repeated> =
        planned.into_iter().filter_map(|row| Repeated::of(cells, row)).collect();
    let every: Vec<&Repeated> = rows.iter().collect();
    let all = parts(&every)?;
    let blocks = all.between_blocks.map_or(0.0, |deviation| deviation * deviation);
    Some(Variance {
        all,
        rating: rating(&rows, blocks),
        groups: groups(&rows, context),
        rows: rows.iter().map(|one| of_row(one, all.between_blocks)).collect(),
        causes: causes::shares(cells, &rows.iter().map(|one| one.row).collect::<Vec<_>>()),
    })
}

fn of_row(one: &Repeated, between_blocks: Option<f64>) -> RowVariance {
    let blocks = between_blocks.map_or(0.0, |deviation| deviation * deviation);
    let parts = Parts {
        total: one.total().sqrt(),
        between_blocks,
        between_repetitions: one.own(blocks).sqrt(),
        within_cells: one.within.map(f64::sqrt),
    };
    RowVariance { row: one.row, repetitions: one.logarithms.len(), parts }
}

/// Of several rows together: the means of their variances. The rest of a mean is not biased by rows
/// with a rest below zero.
fn parts(rows: &[&Repeated]) -> Option<Parts> {
    let total = mean(rows, Repeated::total)?;
    let blocks = TwoWay::of(&table(rows)).map(|found| found.between_blocks);
    let within = rows.iter().any(|one| one.within.is_some());
    let within = mean(rows, |one| one.within.unwrap_or(0.0)).filter(|_| within);
    let own = total - blocks.unwrap_or(0.0) - within.unwrap_or(0.0);
    Some(Parts {
        total: total.sqrt(),
        between_blocks: blocks.map(f64::sqrt),
        between_repetitions: own.max(0.0).sqrt(),
        within_cells: within.map(f64::sqrt),
    })
}

fn mean(rows: &[&Repeated], of: impl Fn(&Repeated) -> f64) -> Option<f64> {
    arithmetic_mean(&rows.iter().map(|one| of(one)).collect::<Vec<_>>())
}

/// A line for each row that was measured in every block in which most rows were.
fn table(rows: &[&Repeated]) -> Vec<Vec<f64>> {
    let blocks: BTreeSet<u32> =
        rows.iter().flat_map(|one| one.logarithms.keys().copied()).collect();
    let holds = |block: &u32| {
        rows.iter().filter(|one| one.logarithms.contains_key(block)).count() * 2 > rows.len()
    };
    let blocks: Vec<u32> = blocks.into_iter().filter(holds).collect();
    let line = |one: &Repeated| {
        blocks.iter().map(|block| one.logarithms.get(block).copied()).collect::<Option<Vec<f64>>>()
    };
    rows.iter().filter_map(|one| line(one)).collect()
}

/// The rating is a mean of logarithms over rows: more rows do not reduce the blocks' common part.
fn rating(rows: &[Repeated], blocks: f64) -> RatingSpread {
    let count = rows.len() as f64;
    let most = rows.iter().map(|one| one.logarithms.len()).max().unwrap_or(1) as f64;
    let over = |of: &dyn Fn(&Repeated) -> f64| {
        rows.iter().map(|one| of(one) / one.logarithms.len() as f64).sum::<f64>() / (count * count)
    };
    let by_cells = over(&|one| one.within.unwrap_or(0.0));
    let by_rest = over(&|one| one.total() - blocks);
    let (by_blocks, by_repetitions) = (blocks / most, (by_rest - by_cells).max(0.0));
    RatingSpread {
        total: (by_blocks + by_repetitions + by_cells).sqrt(),
        by_blocks: by_blocks.sqrt(),
        by_repetitions: by_repetitions.sqrt(),
        by_cells: by_cells.sqrt(),
    }
}

fn groups(rows: &[Repeated], context: &Context) -> Vec<GroupVariance> {
    let components = context.rated().map(Group::Component);
    let groups = components
        .chain(context.messages().map(Group::Message))
        .chain(context.loads().map(Group::Load));
    let of = |group: Group| {
        let rows: Vec<&Repeated> = rows.iter().filter(|one| is_in(one.row, group)).collect();
        Some(GroupVariance { group, parts: parts(&rows)? })
    };
    groups.filter_map(of).collect()
}

fn is_in(row: Row, group: Group) -> bool {
    let Row::Network { component, message, load } = row else { return false };
    match group {
        Group::Component(wanted) => wanted == component,
        Group::Message(wanted) => wanted == message,
        Group::Load(wanted) => wanted == load,
    }
}
