//! What far processors cost the rated rows, taken out of them.
//!
//! A hypervisor that moves the processors of the two sides apart makes cells slower, large messages most. Runs
//! have different shares of such cells, so their ratings would differ by what the hypervisor did. Cells near
//! and far of the same rows show what it cost: one shift for each message size, by least squares over all its
//! rows. Goodput of far cells is divided by it, and its error is part of each interval. No cell is left out.

use std::collections::BTreeMap;

use btu_stats::{LogSample, Shift, contrast};
use btu_units::{Bytes, Span};

use super::LEVEL;
use super::warning::FarCost;
use crate::cell::Row;
use crate::compare::{Reading, TakenOut};
use crate::record::Apart;

/// A size's shift counts from this weight on (see [`Shift::weight`]), as from eight near and eight far cells
/// of one row: below, its error is larger than what most cells lose.
const LEAST_WEIGHT: f64 = 4.0;

/// The speed of a valid cell, and the latency between the two sides of the machine after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedReading {
    /// The speed.
    pub reading: Reading,
    /// `None` where it was not measured.
    pub core_to_core: Option<Span>,
}

/// Which cells are far, and what it cost.
pub(super) struct Near {
    apart: Apart,
    shifts: BTreeMap<Bytes, Shift>,
}

impl Near {
    /// By the cells of a run, and the near latency of earlier runs; cells of other than rated rows do
    /// not count.
    pub(super) fn of(cells: &[PlacedReading], known: Option<Span>) -> Self {
        let rated = || {
            cells.iter().filter_map(|cell| {
                Some((cell.reading, size(cell.reading.row)?, cell.core_to_core?))
            })
        };
        let apart = Apart::of(rated().map(|(.., latency)| latency)).knowing(known);
        let mut sizes: BTreeMap<Bytes, BTreeMap<Row, Vec<(bool, f64)>>> = BTreeMap::new();
        for (reading, size, latency) in rated().filter(|(reading, ..)| reading.counts()) {
            let value = (apart.is_far(latency), reading.per_second.ln());
            sizes.entry(size).or_default().entry(reading.row).or_default().push(value);
        }
        let shift = |rows: BTreeMap<Row, Vec<(bool, f64)>>| {
            Shift::within(&rows.into_values().collect::<Vec<_>>())
                .filter(|shift| shift.weight() >= LEAST_WEIGHT && shift.factor().is_normal())
        };
        let shifts = sizes.into_iter().filter_map(|(size, rows)| Some((size, shift(rows)?)));
        Self { shifts: shifts.collect(), apart }
    }

    /// Whether a cell was far, and its row's shift is known.
    pub(super) fn is_shifted(&self, row: Row, latency: Option<Span>) -> bool {
        self.shift(row).is_some() && latency.is_some_and(|latency| self.apart.is_far(latency))
    }

    /// What a far cell's speed is divided by; 1 for others.
    pub(super) fn factor(&self, row: Row, latency: Option<Span>) -> f64 {
        let shift = self.shift(row).filter(|_| self.is_shifted(row, latency));
        shift.map_or(1.0, Shift::factor)
    }

    /// The errors of the shifts in a weighted sum over rows: each row with its weight times its share of
    /// shifted cells.
    pub(super) fn errors(&self, rows: impl Iterator<Item = (Row, f64)>) -> Vec<(f64, LogSample)> {
        let mut weights: BTreeMap<Bytes, f64> = BTreeMap::new();
        for (row, weight) in rows {
            if let Some(size) = size(row) {
                *weights.entry(size).or_default() += weight;
            }
        }
        let error = |(size, weight): (Bytes, f64)| Some((weight, self.shifts.get(&size)?.error()));
        weights.into_iter().filter(|(_, weight)| *weight != 0.0).filter_map(error).collect()
    }

    /// The speed of far cells over that of near ones, by message size.
    pub(super) fn costs(&self) -> Vec<FarCost> {
        self.shifts.iter().filter_map(|(message, shift)| cost(*message, shift)).collect()
    }

    /// The costs with their errors, for a comparison; each row has a share of shifted cells.
    pub(super) fn taken_out(&self, shares: &BTreeMap<Row, f64>) -> Vec<TakenOut> {
        let taken_out = |(&message, shift): (&Bytes, &Shift)| {
            let is_own = |(row, _): &(&Row, &f64)| size(**row) == Some(message);
            let shares = shares.iter().filter(is_own).map(|(row, share)| (*row, *share)).collect();
            Some(TakenOut { cost: cost(message, shift)?, error: shift.error(), shares })
        };
        self.shifts.iter().filter_map(taken_out).collect()
    }

    fn shift(&self, row: Row) -> Option<&Shift> {
        self.shifts.get(&size(row)?)
    }
}

fn cost(message: Bytes, shift: &Shift) -> Option<FarCost> {
    let ratio = contrast(&[(1.0, shift.sample())], LEVEL)?;
    Some(FarCost { message, ratio })
}

/// The message size of a rated row.
fn size(row: Row) -> Option<Bytes> {
    match row {
        Row::Network { component, message, .. } if component.is_rated() => Some(message),
        Row::Network { .. } | Row::Host { .. } => None,
    }
}
