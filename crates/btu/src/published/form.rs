//! The published form of a run: an archive that holds what is listed here and in the modules next to
//! this one, and nothing else. Publishing a published run again gives the same lines, so that a board
//! can check an archive by making it once more.

use btu_contract::experiment::Named;
use btu_contract::json;
use btu_contract::network::Network;
use btu_control::environment::Environment;
use btu_store::{
    ArchiveError, CellLine, EnvironmentLine, EventLine, Level, Rewrite, RunId, RunLine, State,
    Store,
};
use btu_studies::rate::work::Amounts;
use btu_studies::rate::{Plan, STUDY};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::cell::{WITHHELD, cell};
use super::environment::environment;
use crate::cli::Board;
use crate::exit::Refusal;
use crate::stored::provenance;

/// The form of runs that one board is given.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    board: Board,
}

impl Published {
    /// The form for this board: no two boards can tell that runs are of one machine.
    pub(crate) const fn on(board: Board) -> Self {
        Self { board }
    }
}

/// Refuses runs that have no published form.
pub(crate) fn check(store: &Store, run: RunId) -> anyhow::Result<()> {
    let summary = store.summary(run)?;
    let problem = if summary.study != STUDY {
        format!("run {run} {}", other_study(&summary.study))
    } else if summary.state == State::Running {
        format!("run {run} is being written; publish it when it has ended")
    } else {
        return Ok(());
    };
    Err(Refusal::Usage(problem).into())
}

fn other_study(study: &str) -> String {
    format!("is of the study `{study}`; only ratings are published: `btu rate` makes one")
}

/// The published part of what was calibrated: numbers alone. What the network check says in words
/// follows from nothing that is rated.
#[derive(Serialize, Deserialize)]
struct Calibrated {
    amounts: Amounts,
}

/// A run without a published form is the user's choice of a run, not a fault of the store.
pub(crate) fn explain(error: ArchiveError) -> anyhow::Error {
    match error {
        ArchiveError::Refused { .. } => Refusal::Usage(error.to_string()).into(),
        error => error.into(),
    }
}

impl Rewrite for Published {
    /// Without label and tags; the plan without what this program does not know.
    fn run(&self, line: RunLine) -> Result<RunLine, String> {
        if line.study != STUDY {
            return Err(other_study(&line.study));
        }
        let plan: Plan = read("plan", &line.plan)?;
        if plan.version != Plan::VERSION {
            return Err(unread("plan"));
        }
        if matches!(plan.network, Network::Machines(_)) {
            return Err("was measured between real hosts, and its plan names them; publish a run of one machine".to_owned());
        }
        let plan = json::to_value(&plan).map_err(|_| unread("plan"))?;
        let calibration = line.calibration.as_deref().map(|stored| {
            let calibrated: Calibrated = read("calibration", stored)?;
            written("calibration", &calibrated)
        });
        Ok(RunLine {
            label: None,
            tags: Vec::new(),
            plan: written("plan", &plan)?,
            calibration: calibration.transpose()?,
            ..line
        })
    }

    fn environment(&self, line: EnvironmentLine) -> Result<EnvironmentLine, String> {
        const WHAT: &str = "environment";
        let document: Value = read(WHAT, &line.document)?;
        if !document["name"].is_null() || !document["station"].is_null() {
            return Err(
                "holds the environment of a real host; publish a run of one machine".to_owned()
            );
        }
        let found: Environment = json::from_value(&document).map_err(|_| unread(WHAT))?;
        let document = written(WHAT, &environment(found, &self.board))?;
        Ok(EnvironmentLine { document, ..line })
    }

    /// Only that the run was resumed elsewhere, because its mark depends on that: without what
    /// differed, which may name hosts.
    fn event(&self, line: EventLine) -> Result<Option<EventLine>, String> {
        let is_mark = line.level == Level::Warning.name() && provenance::is_change(&line.text);
        Ok(is_mark.then(|| EventLine { text: provenance::change(WITHHELD), ..line }))
    }

    fn cell(&self, line: CellLine) -> Result<CellLine, String> {
        let record = cell(read("cell", &line.record)?)?;
        Ok(CellLine { record: written("cell", &record)?, ..line })
    }
}

fn read<T: DeserializeOwned>(what: &str, stored: &RawValue) -> Result<T, String> {
    serde_json::from_str(stored.get()).map_err(|_| unread(what))
}

fn written(what: &str, published: &impl Serialize) -> Result<Box<RawValue>, String> {
    serde_json::to_string(published).and_then(RawValue::from_string).map_err(|_| unread(what))
}

fn unread(what: &str) -> String {
    format!("has a {what} that this btu does not know: publish it with the version that made it")
}
