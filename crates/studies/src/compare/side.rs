//! The input of a comparison: runs as speeds of cells.

use crate::rate::{Reading, Row};

use super::Side;

/// A run as its readings.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReadings<R = Row> {
    /// The name of the run.
    pub name: String,
    /// Its place in time among all runs that are compared.
    pub place: usize,
    /// Its valid cells, in any order.
    pub readings: Vec<Reading<R>>,
}

/// Runs that repeat one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<R = Row> {
    /// As the user named it.
    pub name: String,
    /// The network they were made on.
    pub network: String,
    /// The runs of the group, which repeat one another.
    pub runs: Vec<RunReadings<R>>,
}

// By hand, since no row needs a default for it.
impl<R> Default for RunReadings<R> {
    fn default() -> Self {
        Self { name: String::new(), place: 0, readings: Vec::new() }
    }
}

impl<R> Default for Group<R> {
    fn default() -> Self {
        Self { name: String::new(), network: String::new(), runs: Vec::new() }
    }
}

impl<R> Group<R> {
    /// The group without its readings.
    pub(super) fn side(&self) -> Side {
        let runs = self.runs.iter().map(|run| run.name.clone()).collect();
        Side { name: self.name.clone(), runs, network: self.network.clone() }
    }
}
