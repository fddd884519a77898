//! The conditions under which the cells of a run were measured.

use std::collections::BTreeMap;

use btu_units::{Bytes, Span};

use super::super::earlier::EarlierRuns;
use super::{PlacedReading, UsualReadings, size};
use crate::cell::Row;
use crate::record::{Apart, ProcessorReadings, Slowed};

/// A cell whose conditions are known.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) row: Row,
    /// 1 where the processors were far from each other, 0 where they were near.
    pub(super) far: f64,
    /// The logarithm of the time for arithmetic over that of reference; 0 where it was not timed.
    pub(super) slowness: f64,
    /// The logarithm of the latency of near processors over that of reference; 0 where they were far.
    pub(super) distance: f64,
    /// The logarithm of the goodput.
    pub(super) goodput: f64,
}

/// The rated cells of a run that count, by message size.
pub(super) type Sizes = BTreeMap<Bytes, Vec<Known>>;

/// The conditions of the cells of a run.
pub(super) struct Conditions {
    pub(super) reference: Reference,
    pub(super) sizes: Sizes,
}

/// The conditions that others are compared with: the usual ones of earlier runs, or the best of a run that knows none.
///
/// What processors usually do goes along with what their readings say over some time. A run by itself varies too little in
/// that, and goes by the readings around each cell.
pub(super) struct Reference {
    apart: Apart,
    pub(super) is_usual: bool,
    pub(super) arithmetic: Option<Span>,
    pub(super) core_to_core: Option<Span>,
}

impl Conditions {
    /// By the cells of a run, and what earlier runs tell; cells of other than rated rows do not count.
    pub(super) fn of(cells: &[PlacedReading], known: &EarlierRuns) -> Self {
        let rated = || {
            cells.iter().filter_map(|cell| {
                Some((cell, size(cell.reading.row)?, cell.processors.core_to_core?))
            })
        };
        let apart = Apart::of(rated().map(|(.., latency)| latency)).knowing(known.near);
        let own = Slowed::of(rated().map(|(cell, ..)| cell.processors.arithmetic));
        let usual = known.costs.usual;
        let reference = Reference {
            is_usual: usual.is_some(),
            arithmetic: usual.map(UsualReadings::arithmetic).or(own.map(Slowed::quick)),
            core_to_core: usual.map(UsualReadings::core_to_core).or(apart.near()),
            apart,
        };
        let mut sizes = Sizes::new();
        for (cell, size, _) in rated().filter(|(cell, ..)| cell.reading.counts()) {
            let known = Known {
                row: cell.reading.row,
                far: f64::from(u8::from(reference.is_far(cell.processors))),
                slowness: reference.slowness(cell),
                distance: reference.distance(cell),
                goodput: cell.reading.per_second.ln(),
            };
            sizes.entry(size).or_default().push(known);
        }
        Self { reference, sizes }
    }
}

impl Reference {
    pub(super) fn is_far(&self, processors: ProcessorReadings) -> bool {
        processors.core_to_core.is_some_and(|latency| self.apart.is_far(latency))
    }

    /// The logarithm of the time for arithmetic over that of reference; 0 where it was not timed.
    pub(super) fn slowness(&self, cell: &PlacedReading) -> f64 {
        self.arithmetic.zip(self.told_by(cell).arithmetic).map_or(0.0, logarithm)
    }

    /// The logarithm of the latency of near processors over that of reference; 0 where they were far.
    pub(super) fn distance(&self, cell: &PlacedReading) -> f64 {
        let told = self.told_by(cell);
        let near = told.core_to_core.filter(|_| !self.is_far(told));
        self.core_to_core.zip(near).map_or(0.0, logarithm)
    }

    const fn told_by(&self, cell: &PlacedReading) -> ProcessorReadings {
        if self.is_usual { cell.lasting } else { cell.processors }
    }
}

fn logarithm((reference, time): (Span, Span)) -> f64 {
    let [reference, time] = [reference, time].map(|time| time.nanoseconds().max(1) as f64);
    (time / reference).ln()
}
