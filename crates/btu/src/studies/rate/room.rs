//! Checks of what `btu rate` is asked for: sizes, and the room for its files.

use std::path::{Path, PathBuf};

use btu_contract::load::Load;
use btu_studies::rate::Plan;
use btu_units::Bytes;

use super::Rate;
use crate::exit::Refusal;
use crate::start::preflight;

/// The range of valid volumes and windows.
const LARGEST_VOLUME: Bytes = Bytes::new(100_000_000_000);
const SMALLEST_WINDOW: Bytes = Bytes::new(1024);
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// Refuses implausible sizes.
pub(super) fn sizes(rate: &Rate) -> Result<(), Refusal> {
    if let Some(volume) = rate.volume
        && !(Bytes::new(1)..=LARGEST_VOLUME).contains(&volume)
    {
        return Err(Refusal::Usage(format!(
            "--volume {volume} makes no sense: allowed are 1 B to {LARGEST_VOLUME}"
        )));
    }
    if let Some(window) = rate.window
        && !(SMALLEST_WINDOW..=LARGEST_WINDOW).contains(&window)
    {
        return Err(Refusal::Usage(format!(
            "--window {window} makes no sense: allowed are {SMALLEST_WINDOW} to {LARGEST_WINDOW}"
        )));
    }
    Ok(())
}

/// The scratch directory, if it has room for the files of the plan.
pub(super) fn scratch(rate: &Rate, plan: &Plan, database: &Path) -> Result<PathBuf, Refusal> {
    let directory = preflight::scratch_directory(rate.scratch.as_deref(), database)?;
    let needed = scratch_needed(plan);
    if needed > rate.scratch_limit {
        return Err(Refusal::Machine(format!(
            "this run writes up to {needed} to its scratch directory and --scratch-limit is {}: raise it",
            rate.scratch_limit
        )));
    }
    preflight::scratch_room(&directory, needed)?;
    Ok(directory)
}

/// The disk activity's source and copy, and the fetched file with room for a fast machine.
fn scratch_needed(plan: &Plan) -> Bytes {
    let disk = if plan.loads.contains(&Load::Disk) { plan.disk_file * 2 } else { Bytes::ZERO };
    let transfer =
        if plan.loads.contains(&Load::Transfer) { btu_load::FETCH_ROOM } else { Bytes::ZERO };
    disk + transfer
}
