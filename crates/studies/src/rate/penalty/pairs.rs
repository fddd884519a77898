//! Pairs of cells: an activity alone and under load.

use std::collections::BTreeMap;

use btu_stats::{Estimate, arithmetic_mean};
use btu_units::Bytes;

use btu_contract::load::Load;

use super::super::cells::Cells;
use super::super::goodputs::over_rows;
use crate::rate::row::{Component, Row};

/// One activity, alone and together with another.
pub(super) struct ActivityPair {
    base: ActivityRepetitions,
    loaded: ActivityRepetitions,
    /// Time together over time alone, for the same work, by block: what a block's cells have in common cancels.
    slowdowns: BTreeMap<u32, f64>,
}

/// An activity's repetitions.
struct ActivityRepetitions {
    /// Seconds per unit of work, by block.
    costs: BTreeMap<u32, f64>,
    /// Arithmetic mean of these seconds.
    seconds_per_work: f64,
    /// Mean work of a repetition: bytes or rounds.
    work: f64,
}

impl ActivityRepetitions {
    /// From block, seconds and work of each repetition; `None` when there is none that took time and did
    /// work.
    fn of(repetitions: impl Iterator<Item = (u32, f64, u64)>) -> Option<Self> {
        let done: Vec<(u32, f64, u64)> =
            repetitions.filter(|(_, seconds, work)| *seconds > 0.0 && *work > 0).collect();
        let cost = |(block, seconds, work): &(u32, f64, u64)| (*block, seconds / *work as f64);
        let costs: BTreeMap<u32, f64> = done.iter().map(cost).collect();
        let works: Vec<f64> = done.iter().map(|(.., work)| *work as f64).collect();
        Some(Self {
            seconds_per_work: arithmetic_mean(&costs.values().copied().collect::<Vec<_>>())?,
            costs,
            work: arithmetic_mean(&works)?,
        })
    }
}

impl ActivityPair {
    /// `None` unless both were measured in one block.
    fn of(base: ActivityRepetitions, loaded: ActivityRepetitions) -> Option<Self> {
        let slowdown = |(block, cost): (&u32, &f64)| Some((*block, cost / base.costs.get(block)?));
        let slowdowns: BTreeMap<u32, f64> = loaded.costs.iter().filter_map(slowdown).collect();
        (!slowdowns.is_empty()).then_some(Self { base, loaded, slowdowns })
    }

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
    pub(super) network: Vec<ActivityPair>,
    pub(super) host: Vec<ActivityPair>,
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
        let network = combinations().filter_map(|(component, message)| {
            let base = network_times(cells, row(component, message, Load::Idle))?;
            ActivityPair::of(base, network_times(cells, row(component, message, load))?)
        });
        let host = combinations().filter_map(|(component, message)| {
            let base = host_times(cells, Row::Host { load })?;
            ActivityPair::of(base, host_times(cells, row(component, message, load))?)
        });
        Self { network: network.collect(), host: host.collect() }
    }
}

fn network_times(cells: &Cells, row: Row) -> Option<ActivityRepetitions> {
    ActivityRepetitions::of(cells.of(row).iter().filter_map(|record| {
        let network = record.network.as_ref()?;
        Some((record.block, network.duration.seconds(), network.bytes.count()))
    }))
}

fn host_times(cells: &Cells, row: Row) -> Option<ActivityRepetitions> {
    ActivityRepetitions::of(cells.of(row).iter().filter_map(|record| {
        let host = record.host.as_ref()?;
        Some((record.block, host.duration.seconds(), host.work))
    }))
}

/// The geometric mean over `pairs` of together / alone.
pub(super) fn slowdown(pairs: &[ActivityPair]) -> Option<Estimate> {
    over_rows(pairs.iter().map(|pair| &pair.slowdowns)).map(|over| over.estimate)
}
