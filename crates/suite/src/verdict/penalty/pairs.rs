//! Pairs of cells: an activity alone and under load.

use std::collections::BTreeMap;

use btu_stats::{Estimate, LogSample, arithmetic_mean, contrast};
use btu_units::Bytes;

use super::super::LEVEL;
use super::super::cells::Cells;
use super::super::processor_costs::Exposure;
use crate::cell::{Component, Load, Row};

/// One activity, alone and together with another.
pub(super) struct Pair {
    /// Row of the baseline, which several pairs may share.
    base_row: Row,
    base: Measured,
    loaded_row: Row,
    loaded: Measured,
}

/// Seconds of an activity's repetitions.
struct Measured {
    /// Arithmetic mean of the seconds per unit of work.
    seconds_per_work: f64,
    /// The repetitions' seconds per unit of work, for inference.
    sample: LogSample,
    /// Mean work of a repetition: bytes or rounds.
    work: f64,
    /// What the repetitions were exposed to on average.
    exposure: Exposure,
}

impl Measured {
    /// From (seconds, work) of each repetition; `None` when there is none that took time and did
    /// work.
    fn of(repetitions: impl Iterator<Item = (f64, u64)>) -> Option<Self> {
        let done: Vec<(f64, u64)> =
            repetitions.filter(|(seconds, work)| *seconds > 0.0 && *work > 0).collect();
        let costs: Vec<f64> = done.iter().map(|(seconds, work)| seconds / *work as f64).collect();
        let works: Vec<f64> = done.iter().map(|(_, work)| *work as f64).collect();
        Some(Self {
            seconds_per_work: arithmetic_mean(&costs)?,
            sample: LogSample::of(&costs)?,
            work: arithmetic_mean(&works)?,
            exposure: Exposure::default(),
        })
    }
}

impl Pair {
    pub(super) fn base_seconds(&self) -> f64 {
        self.base.seconds_per_work * self.base.work
    }

    /// The time together, scaled to the baseline's work: it is the measured time if the work was
    /// equal.
    pub(super) fn loaded_seconds(&self) -> f64 {
        self.loaded.seconds_per_work * self.base.work
    }
}

/// Both sides of every combination that was measured alone and together.
pub(super) struct Pairs {
    pub(super) network: Vec<Pair>,
    pub(super) host: Vec<Pair>,
}

impl Pairs {
    pub(super) fn of(
        cells: &Cells,
        components: &[Component],
        messages: &[Bytes],
        load: Load,
    ) -> Self {
        let combinations = || {
            components
                .iter()
                .flat_map(|&component| messages.iter().map(move |&message| (component, message)))
        };
        let row = |component, message, load| Row::Network { component, message, load };
        let network = combinations()
            .filter_map(|(component, message)| {
                let base_row = row(component, message, Load::Idle);
                let base = network_times(cells, base_row)?;
                let loaded_row = row(component, message, load);
                let loaded = network_times(cells, loaded_row)?;
                Some(Pair { base_row, base, loaded_row, loaded })
            })
            .collect();
        let base_row = Row::Host { load };
        let host = combinations()
            .filter_map(|(component, message)| {
                let base = host_times(cells, base_row)?;
                let loaded_row = row(component, message, load);
                let loaded = host_times(cells, loaded_row)?;
                Some(Pair { base_row, base, loaded_row, loaded })
            })
            .collect();
        Self { network, host }
    }
}

fn network_times(cells: &Cells, row: Row) -> Option<Measured> {
    let exposure = cells.exposure(row);
    let measured = Measured::of(cells.times(row))?;
    let sample = measured.sample.knowing(cells.known_spread(row));
    Some(Measured { sample, exposure, ..measured })
}

fn host_times(cells: &Cells, row: Row) -> Option<Measured> {
    Measured::of(cells.host(row).map(|host| (host.duration.seconds(), host.work)))
}

/// The geometric mean over `pairs` of together / alone. A baseline that several pairs share enters
/// once with the sum of their weights, so its own spread is not averaged away.
pub(super) fn slowdown(cells: &Cells, pairs: &[Pair]) -> Option<Estimate> {
    let weight = 1.0 / pairs.len() as f64;
    let mut terms: Vec<(f64, LogSample)> =
        pairs.iter().map(|pair| (weight, pair.loaded.sample)).collect();
    let mut bases: BTreeMap<Row, (f64, LogSample)> = BTreeMap::new();
    for pair in pairs {
        bases.entry(pair.base_row).or_insert((0.0, pair.base.sample)).0 -= weight;
    }
    terms.extend(bases.into_values());
    let exposures = pairs.iter().flat_map(|pair| {
        [(pair.loaded_row, pair.loaded.exposure), (pair.base_row, pair.base.exposure * -1.0)]
    });
    let weighted = exposures.map(|(row, exposure)| (row, exposure * weight));
    terms.extend(cells.processor_costs().errors(weighted));
    contrast(&terms, LEVEL)
}
