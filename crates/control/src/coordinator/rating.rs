//! The rating as the runner measures it: the runner checks its network and finds its amounts of
//! work before the first cell.

use std::path::PathBuf;

use btu_store::{RunId, RunLock, Store};
use btu_suite::cell::{Load, Row};
use btu_suite::network::HostRole;
use btu_suite::plan::Plan;
use btu_suite::record::{CellRecord, PlacedReport};
use btu_suite::schedule::{self, Slot};
use btu_suite::script::{Amount, DEADLINE_FACTOR, Setting};
use btu_suite::work::Amounts;
use btu_units::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{self, NetworkCheck};
use super::error::CoordinatorError;
use super::stage::Stage;
use super::study::{Calibrated, Study, TimeLimits};
use super::{Observer, Phase, calibrate, cell, document, secret};

/// A cell that lasts this much longer than its target, and this much on top, is stuck.
const DEADLINE_MARGIN: Span = Span::from_seconds(15);

/// The results of the preparation before the first cell, stored for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    amounts: Amounts,
    network_check: NetworkCheck,
}

/// A plan of the rating with the inputs of its cells.
pub struct Rating {
    plan: Plan,
    base: Setting,
    so_far: fn(&[CellRecord]) -> String,
}

impl Rating {
    /// The rating of `plan`. `scratch` is an existing directory on the disk that the host
    /// activities use; it outlives this. `so_far` says the intermediate result in a line.
    ///
    /// # Errors
    /// A kernel without random bytes.
    pub fn new(
        plan: Plan,
        scratch: PathBuf,
        so_far: fn(&[CellRecord]) -> String,
    ) -> Result<Self, CoordinatorError> {
        let target = plan.profile.target;
        let base = Setting {
            seed: plan.seed,
            token: secret::token()?,
            amount: Amount::Pilot(target),
            deadline: Span::from_nanoseconds(target.nanoseconds().saturating_mul(DEADLINE_FACTOR))
                + DEADLINE_MARGIN,
            scratch,
            disk_source: None,
            ftp_password: secret::password()?,
        };
        Ok(Self { plan, base, so_far })
    }
}

impl Study for Rating {
    type Cell = Row;
    type Record = CellRecord;

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
            deadline: self.base.deadline.into(),
        }
    }

    fn missing(&self, block: u32, done: &[CellRecord]) -> Vec<Slot> {
        schedule::missing(&self.plan, block, done)
    }

    fn so_far(&self, records: &[CellRecord]) -> String {
        (self.so_far)(records)
    }

    fn sure_after(&self, block: u32, _done: &[CellRecord]) -> usize {
        self.plan.profile.most_blocks.saturating_sub(block + 1) as usize * self.plan.rows().len()
    }

    fn stored(&self, store: &Store, run: RunId) -> Result<Vec<CellRecord>, CoordinatorError> {
        Ok(store.records(run)?)
    }

    fn save(
        &self,
        store: &Store,
        lock: &RunLock,
        record: &CellRecord,
    ) -> Result<(), CoordinatorError> {
        Ok(store.save(lock, &self.plan, record)?)
    }

    /// The disk activity's source file on the test station, if one is needed.
    async fn prepare_disk_file(&mut self, stage: &mut Stage) -> Result<(), CoordinatorError> {
        let Plan { loads, disk_file, seed, .. } = &self.plan;
        if loads.contains(&Load::Disk) {
            let scratch = &self.base.scratch;
            self.base.disk_source = Some(
                stage.prepare_disk_file(&HostRole::Test.into(), scratch, *disk_file, *seed).await?,
            );
        }
        Ok(())
    }

    async fn calibrate(
        &mut self,
        stage: &mut Stage,
        observer: &mut dyn Observer,
    ) -> Result<Calibrated, CoordinatorError> {
        observer.phase(Phase::Check);
        let network_check = check::check(stage, &self.plan, &self.base).await?;
        let findings = network_check.findings();
        for finding in &findings {
            observer.notice(finding);
        }
        let amounts = calibrate::calibrate(stage, &self.plan, &self.base, observer).await?;
        let calibration = Calibration { amounts, network_check };
        let document = Some(document(&calibration)?);
        self.base.amount = Amount::Fixed(calibration.amounts);
        Ok(Calibrated { document, findings })
    }

    fn take_over(&mut self, calibration: Value) -> Result<(), CoordinatorError> {
        let calibration: Calibration =
            serde_json::from_value(calibration).map_err(CoordinatorError::Document)?;
        self.base.amount = Amount::Fixed(calibration.amounts);
        Ok(())
    }

    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot,
        _done: &[CellRecord],
        observer: &mut dyn Observer,
    ) -> Result<Option<CellRecord>, CoordinatorError> {
        let seed = self.plan.cell_seed(slot.block, slot.position);
        // A token opens the data ports of one attempt: a caller with an earlier one gets no answer.
        let setting = Setting { seed, token: secret::token()?, ..self.base.clone() };
        cell::measure(stage, &self.plan, *slot, &setting, observer).await.map(Some)
    }

    fn seen<'a>(&self, record: &'a CellRecord) -> (&'a [String], &'a [PlacedReport]) {
        (&record.faults, &record.reports)
    }
}
