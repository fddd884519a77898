//! The rating as the runner measures it: its network is checked and its amounts of work
//! are found before the first cell.

use std::path::PathBuf;

use btu_contract::activity::Token;
use btu_contract::experiment::Observation;
use btu_contract::json;
use btu_contract::load::Load;
use btu_contract::network::HostRole;
use btu_contract::program::Programs;
use btu_contract::record::PlacedReport;
use btu_contract::script::Script;
use btu_contract::study::{DiskFile, InputError, Inputs, Play, ScriptedStudy, Study, TimeLimits};
use btu_units::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::accounting;
use super::network_check::{self, NetworkCheck};
use super::plan::Plan;
use super::record::CellRecord;
use super::row::Row;
use super::schedule::{self, Slot};
use super::script::{Amount, DEADLINE_FACTOR, Setting, script};
use super::work::Amounts;
use super::{pilots, so_far};

/// A cell that lasts this much longer than its target, and this much on top, is stuck.
const DEADLINE_MARGIN: Span = Span::from_seconds(15);

/// The results of the preparation before the first cell, stored for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The amounts of work of the cells.
    pub amounts: Amounts,
    /// The network as it was found.
    pub network_check: NetworkCheck,
}

/// A plan of the rating with the inputs of its cells.
pub struct RatingStudy {
    plan: Plan,
    base: Setting,
}

impl RatingStudy {
    /// The rating of `plan`. `scratch` is an existing directory on the disk that the host
    /// activities use; it outlives this. `token` opens the data connections of pilots.
    pub fn new(plan: Plan, scratch: PathBuf, token: Token, ftp_password: String) -> Self {
        let target = plan.profile.target;
        let base = Setting {
            seed: plan.seed,
            token,
            amount: Amount::Pilot(target),
            deadline: Span::from_nanoseconds(target.nanoseconds().saturating_mul(DEADLINE_FACTOR))
                + DEADLINE_MARGIN,
            scratch,
            disk_source: None,
            ftp_password,
        };
        Self { plan, base }
    }
}

impl Study for RatingStudy {
    type Plan = Plan;
    type Cell = Row;

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn seed(&self) -> u64 {
        self.plan.seed
    }

    fn pace(&self) -> TimeLimits {
        let profile = &self.plan.profile;
        TimeLimits {
            most_blocks: profile.most_blocks,
            budget: profile.budget,
            own_time: None,
            guess: Span::from_seconds_f64(profile.target.seconds() * 1.5 + 0.05),
            deadline: self.base.deadline,
        }
    }

    fn missing(&self, block: u32, done: &[CellRecord]) -> Vec<Slot> {
        schedule::missing(&self.plan, block, done)
    }

    fn so_far(&self, records: &[CellRecord]) -> String {
        so_far(records)
    }

    fn sure_after(&self, block: u32, _done: &[CellRecord]) -> usize {
        self.plan.profile.most_blocks.saturating_sub(block + 1) as usize * self.plan.rows().len()
    }

    fn seen<'a>(&self, record: &'a CellRecord) -> (&'a [String], &'a [PlacedReport]) {
        (&record.faults, &record.reports)
    }
}

impl ScriptedStudy for RatingStudy {
    /// The disk activity's source file on the test station, if one is needed.
    fn disk_file(&self) -> Option<DiskFile> {
        let Plan { loads, disk_file, seed, .. } = &self.plan;
        loads.contains(&Load::Disk).then(|| DiskFile {
            host: HostRole::Test.into(),
            directory: self.base.scratch.clone(),
            size: *disk_file,
            seed: *seed,
        })
    }

    fn use_disk_file(&mut self, path: PathBuf) {
        self.base.disk_source = Some(path);
    }

    async fn find_inputs<P: Play>(&mut self, play: &mut P) -> Result<Inputs, InputError<P::Error>> {
        play.checks();
        let network_check = network_check::check(play, &self.plan, &self.base).await?;
        let findings = network_check.findings();
        for finding in &findings {
            play.notice(finding);
        }
        let amounts = pilots::amounts(play, &self.plan, &self.base).await?;
        let calibration = Calibration { amounts, network_check };
        let document = Some(json::to_value(&calibration).map_err(InputError::Document)?);
        self.base.amount = Amount::Fixed(calibration.amounts);
        Ok(Inputs { document, findings })
    }

    fn take_over(&mut self, inputs: Value) -> serde_json::Result<()> {
        let calibration: Calibration = json::from_value(&inputs)?;
        self.base.amount = Amount::Fixed(calibration.amounts);
        Ok(())
    }

    fn script(&self, slot: &Slot, token: Token) -> (Script, Programs) {
        let seed = self.plan.cell_seed(slot.block, slot.position);
        let setting = Setting { seed, token, ..self.base.clone() };
        (script(&self.plan, &slot.cell, &setting), Programs::default())
    }

    fn record(&self, slot: Slot, script: &Script, seen: Observation) -> CellRecord {
        accounting::record(slot, script, seen)
    }

    /// Without the accounts of activities: they never began.
    fn unprepared(&self, slot: Slot, why: String, _: Observation) -> CellRecord {
        let empty = CellRecord::empty(slot.cell, slot.block, slot.position);
        CellRecord { faults: vec![why], ..empty }
    }
}
