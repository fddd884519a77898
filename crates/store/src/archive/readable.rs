//! The runs of an archive that this program can read: their plans and cells are checked before they
//! are stored.

use btu_contract::experiment::{AnyCells, AnyPlan, Columns, FindStudy, Head};
use btu_contract::foreign::{self, ForeignRun};
use btu_contract::roll::{self, Roll};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::line::{CellLine, RunLine};
use crate::State;
use crate::readings::column;

/// The required form of a run's cells.
#[derive(Debug)]
pub(super) enum Readable {
    /// Cells of a study.
    Study { plan: Box<dyn AnyPlan>, cells: Box<dyn AnyCells>, is_complete: bool },
    /// Roll calls of hosts.
    Roll,
    /// Measurements with programs that are not btu.
    Foreign,
    /// Cells of a study that this program does not know; they are stored unchanged.
    Unknown,
}

impl Readable {
    /// Reads the plan of a run, which `plan_hash` names. An unreadable plan would make every
    /// list of runs fail; a plan under the name of another one would be mistaken for it.
    pub(super) fn of(run: &RunLine, find_study: FindStudy) -> Result<Self, String> {
        let plan = match run.study.as_str() {
            roll::STUDY => return Ok(Self::Roll),
            foreign::STUDY => return Ok(Self::Foreign),
            name => match find_study(name) {
                Some(study) => study.plan(run.plan.get())?,
                None => return Ok(Self::Unknown),
            },
        };
        if let Some(found) = plan.hash().filter(|found| *found != run.plan_hash) {
            return Err(format!("its plan is {found}, and is called {}", run.plan_hash));
        }
        let cells = plan.cells(run.calibration.as_deref().map(RawValue::get))?;
        Ok(Self::Study { plan, cells, is_complete: run.state == State::Complete.name() })
    }

    /// The correct name of the plan of a run of `study`; `None` if it cannot be read, or its study
    /// or version names no plans.
    pub(super) fn name_of(study: &str, plan: &str, find_study: FindStudy) -> Option<String> {
        find_study(study)?.plan(plan).ok()?.hash()
    }

    /// What the plan says of its run, where this version knows it.
    pub(super) fn head(&self) -> Option<Head> {
        if let Self::Study { plan, .. } = self { plan.head() } else { None }
    }

    /// Whether a cell can be read, its columns agree with it, and it agrees with itself and with its plan.
    pub(super) fn check(&mut self, line: &CellLine) -> Result<(), String> {
        let same = match self {
            Self::Unknown => true,
            Self::Roll => read_cell::<Roll>(line).map(|_| true)?,
            Self::Foreign => read_cell::<ForeignRun>(line)?.check().map(|()| true)?,
            Self::Study { cells, .. } => agrees(&cells.add(line.record.get())?, line),
        };
        if same { Ok(()) } else { Err("its cell and what is said of it differ".to_owned()) }
    }

    /// Whether all cells are there that the run is said to have.
    pub(super) fn check_whole(&mut self) -> Result<(), String> {
        match self {
            Self::Study { cells, is_complete: true, .. } => cells.check_whole(),
            _ => Ok(()),
        }
    }
}

fn read_cell<T: DeserializeOwned>(line: &CellLine) -> Result<T, String> {
    serde_json::from_str(line.record.get())
        .map_err(|error| format!("its cell cannot be read ({error})"))
}

fn agrees(columns: &Columns, line: &CellLine) -> bool {
    let message_bytes = i64::try_from(columns.message.count()).unwrap_or(i64::MAX);
    (columns.block, columns.position) == (line.block, line.position)
        && columns.component == line.component
        && message_bytes == line.message_bytes
        && columns.load == line.load
        && columns.valid == line.valid
        && columns.goodput_bits_per_second == line.goodput_bits_per_second
        && columns.duration.map(column) == line.duration_ns
        && columns.host_duration.map(column) == line.host_duration_ns
}
