//! From a slot of the schedule to a stored cell.

use btu_suite::accounting::{self, CellAccounting, record};
use btu_suite::cell::Row;
use btu_suite::experiment::Observation;
use btu_suite::program::Programs;
use btu_suite::record::CellRecord;
use btu_suite::schedule::Slot;
use btu_suite::script::{Script, Setting, script};

use super::Observer;
use super::error::CoordinatorError;
use super::stage::Stage;
use btu_suite::plan::Plan;

/// Measures one cell. Faults inside it are part of the record; an error means that the stage is
/// broken.
pub(super) async fn measure(
    stage: &mut Stage,
    plan: &Plan,
    slot: Slot,
    setting: &Setting,
    observer: &mut dyn Observer,
) -> Result<CellRecord, CoordinatorError> {
    let script = script(plan, &slot.cell, setting);
    match stage.play_watched(&script, &Programs::default(), observer).await {
        Ok(scene) => Ok(record(slot, &script, scene)),
        Err(error @ CoordinatorError::Prepare { .. }) => Ok(unprepared(slot, &error)),
        Err(error) => Err(error),
    }
}

/// Reconciles the accounts of a scene.
pub(super) fn balance(row: &Row, script: &Script, scene: &Observation) -> CellAccounting {
    accounting::balance(Some(row), script, scene)
}

fn unprepared(slot: Slot, error: &CoordinatorError) -> CellRecord {
    let faults = vec![error.to_string()];
    CellRecord { faults, ..CellRecord::empty(slot.cell, slot.block, slot.position) }
}
