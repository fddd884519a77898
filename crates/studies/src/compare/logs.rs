//! Runs in logarithms, found by row and block.

use std::collections::{BTreeMap, BTreeSet};

use super::row::ComparedRow;
use super::side::{Group, RunReadings};

/// The logarithms of a run's speeds. Ordered, so that sums do not depend on the order of the cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logs<R> {
    /// Its place in time among all runs.
    pub(super) place: usize,
    rows: BTreeMap<R, BTreeMap<u32, f64>>,
}

impl<R: ComparedRow> Logs<R> {
    pub(super) fn of_group(group: &Group<R>) -> Vec<Self> {
        group.runs.iter().map(Self::of).collect()
    }

    fn of(run: &RunReadings<R>) -> Self {
        let mut rows: BTreeMap<R, BTreeMap<u32, f64>> = BTreeMap::new();
        for reading in run.readings.iter().filter(|reading| reading.counts()) {
            rows.entry(reading.row.clone())
                .or_default()
                .insert(reading.block, reading.per_second.ln());
        }
        Self { place: run.place, rows }
    }

    /// The number of repetitions of `row`.
    pub(super) fn repetitions(&self, row: &R) -> usize {
        self.rows.get(row).map_or(0, BTreeMap::len)
    }

    /// The mean over `rows` of each row's mean over its blocks; `None` unless every row is there.
    pub(super) fn mean(&self, rows: &[R]) -> Option<f64> {
        let means: Option<Vec<f64>> =
            rows.iter().map(|row| mean(self.rows.get(row)?.values().copied())).collect();
        mean(means?.into_iter())
    }
}

/// The rows that every run of both sides has, and those that only some have.
pub(super) fn common_rows<R: ComparedRow>(base: &[Logs<R>], other: &[Logs<R>]) -> (Vec<R>, Vec<R>) {
    let runs = || base.iter().chain(other);
    let all: BTreeSet<R> = runs().flat_map(|run| run.rows.keys().cloned()).collect();
    all.into_iter().partition(|row| runs().all(|run| run.rows.contains_key(row)))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
