//! Plans with cells that are scripts and need no inputs.

use std::path::PathBuf;

use btu_units::written_rate;

use super::{Record, ScriptedStudy, Study, TimeLimits};
use crate::activity::Token;
use crate::experiment::{CellSetting, Measured, Observation, Scripts, Slot};
use crate::program::Programs;
use crate::record::PlacedReport;
use crate::script::Script;

/// A plan as the runner measures it.
#[derive(Debug, Clone)]
pub struct Scripted<E> {
    /// The plan.
    pub plan: E,
    /// An existing directory for files of the hosts' activities; each makes one of its own in it.
    pub scratch: PathBuf,
}

impl<E: Scripts> Study for Scripted<E> {
    type Plan = E;
    type Cell = E::Cell;

    const IN_BLOCKS: bool = E::IN_BLOCKS;
    const GOES_ON: bool = E::GOES_ON;
    const HOSTS_APART: bool = E::HOSTS_APART;

    fn plan(&self) -> &E {
        &self.plan
    }

    fn seed(&self) -> u64 {
        self.plan.frame().seed
    }

    fn pace(&self) -> TimeLimits {
        let frame = self.plan.frame();
        TimeLimits {
            most_blocks: frame.blocks,
            budget: frame.budget,
            own_time: None,
            guess: self.plan.forecast(),
            deadline: frame.deadline,
        }
    }

    fn missing(&self, block: u32, done: &[Record<Self>]) -> Vec<Slot<E::Cell>> {
        self.plan.missing(block, done)
    }

    fn sure_after(&self, block: u32, done: &[Record<Self>]) -> usize {
        self.plan.sure_after(block, done)
    }

    fn so_far(&self, records: &[Record<Self>]) -> String {
        let Some(last) = records.iter().rfind(|record| record.is_valid()) else {
            return String::new();
        };
        let facts = self.plan.facts(&last.cell, &last.seen);
        let took = facts.duration.or(facts.round_trip).map(|duration| duration.to_string());
        let rate = facts.goodput_bits_per_second.map(written_rate);
        let known: Vec<String> = took.into_iter().chain(rate).collect();
        format!("last: {}: {}", last.cell, known.join(", "))
    }

    fn seen<'a>(&self, record: &'a Record<Self>) -> (&'a [String], &'a [PlacedReport]) {
        (&record.faults, &record.seen.reports)
    }
}

impl<E: Scripts> ScriptedStudy for Scripted<E> {
    fn script(&self, slot: &Slot<E::Cell>, token: Token) -> (Script, Programs) {
        let setting = CellSetting {
            seed: self.plan.cell_seed(slot.block, slot.position),
            token,
            deadline: self.plan.frame().deadline,
            scratch: self.scratch.clone(),
        };
        (self.plan.script(&slot.cell, &setting), self.plan.programs(&slot.cell, &setting))
    }

    fn network_of(&self, cell: &E::Cell) -> usize {
        self.plan.network_of(cell)
    }

    fn record(&self, slot: Slot<E::Cell>, _: &Script, seen: Observation) -> Record<Self> {
        self.plan.record(slot, seen)
    }

    fn unprepared(&self, slot: Slot<E::Cell>, why: String, seen: Observation) -> Record<Self> {
        let Slot { cell, block, position } = slot;
        Measured { cell, block, position, faults: vec![why], seen }
    }
}
