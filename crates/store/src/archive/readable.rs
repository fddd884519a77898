//! The runs of an archive that this program can read: their plans and cells are checked before they
//! are stored.

use btu_suite::experiment::{AnyExperiment, FindStudy, Head};
use btu_suite::foreign::{self, ForeignRun};
use btu_suite::hint::{self, HintRecord, HintRun};
use btu_suite::pipe::{self, Facts, PipePlan, Point, Purpose, SetPlan, SetPoint, facts};
use btu_suite::plan::{self, Plan};
use btu_suite::record::CellRecord;
use btu_suite::roll::{self, Roll};
use serde::de::DeserializeOwned;

use super::line::CellLine;
use crate::cells::{Columns, column};

/// The required form of a run's cells.
#[derive(Debug)]
pub(super) enum Readable {
    /// A cell of the rating.
    Rating,
    /// Sizes of a signature.
    Pipe(Box<PipePlan>),
    /// Sizes of several signatures.
    Set(SetPlan),
    /// Steps of HINT and the messages that were measured in addition to them.
    Hint(Box<HintRun>),
    /// Cells of a study with scripts, with its plan.
    Experiment(&'static dyn AnyExperiment, String),
    /// Roll calls of hosts.
    Roll,
    /// Measurements with programs that are not btu.
    Foreign,
    /// Cells of a suite that this program does not know; they are stored unchanged.
    Unknown,
}

impl Readable {
    /// Reads the plan of a run of `suite`, which `hash` names. An unreadable plan would make every
    /// list of runs fail; a plan under the name of another one would be mistaken for it.
    pub(super) fn of(
        suite: &str,
        plan: &str,
        hash: &str,
        study: FindStudy,
    ) -> Result<Self, String> {
        let readable = Self::read(suite, plan, study)?;
        match readable.hash(plan)? {
            Some(found) if found != hash => {
                Err(format!("its plan is {found}, and is called {hash}"))
            }
            _ => Ok(readable),
        }
    }

    /// The correct name of the plan of a run of `suite`; `None` if it cannot be read, or its suite
    /// or version names no plans.
    pub(super) fn name_of(suite: &str, plan: &str, study: FindStudy) -> Option<String> {
        Self::read(suite, plan, study).ok()?.hash(plan).ok()?
    }

    /// The name of the plan; `None` if another version wrote it, because its form may differ.
    fn hash(&self, plan: &str) -> Result<Option<String>, String> {
        let is_ours =
            |plans: &[PipePlan]| plans.iter().all(|plan| plan.version == PipePlan::VERSION);
        Ok(match self {
            Self::Rating => Some(read_plan::<Plan>(plan)?)
                .filter(|plan| plan.version == Plan::VERSION)
                .map(|plan| plan.hash()),
            Self::Pipe(plan) => is_ours(std::slice::from_ref(plan)).then(|| plan.hash()),
            Self::Set(set) => is_ours(&set.series).then(|| set.hash()),
            Self::Hint(run) => (run.version == HintRun::VERSION
                && is_ours(std::slice::from_ref(&run.pipe)))
            .then(|| run.hash()),
            Self::Experiment(study, plan) => {
                study.hash(plan).map_err(|error| unreadable_plan(&error))?
            }
            Self::Roll | Self::Foreign | Self::Unknown => None,
        })
    }

    /// What the plan says of its run, where this version knows it.
    pub(super) fn head(&self, plan: &str) -> Result<Option<Head>, String> {
        match self {
            Self::Rating => {
                let plan: Plan = read_plan(plan)?;
                let (profile, network) = (plan.profile.name.clone(), plan.network.to_string());
                let head = Head { profile, network, seed: plan.seed };
                Ok((plan.version == Plan::VERSION).then_some(head))
            }
            Self::Experiment(study, plan) => {
                study.head(plan).map_err(|error| unreadable_plan(&error))
            }
            Self::Pipe(_)
            | Self::Set(_)
            | Self::Hint(_)
            | Self::Roll
            | Self::Foreign
            | Self::Unknown => Ok(None),
        }
    }

    fn read(suite: &str, plan: &str, study: FindStudy) -> Result<Self, String> {
        Ok(match suite {
            plan::SUITE => read_plan::<Plan>(plan).map(|_| Self::Rating)?,
            pipe::SUITE => Self::Pipe(read_plan(plan)?),
            hint::SUITE => Self::Hint(read_plan(plan)?),
            roll::SUITE => Self::Roll,
            foreign::SUITE => Self::Foreign,
            _ if Purpose::of_suite(suite).is_some() => Self::Set(read_plan(plan)?),
            _ => match study(suite) {
                Some(study) => Self::Experiment(study, plan.to_owned()),
                None => Self::Unknown,
            },
        })
    }

    /// Whether a cell can be read, and its columns agree with it.
    pub(super) fn check(&self, line: &CellLine) -> Result<(), String> {
        let same = match self {
            Self::Unknown => true,
            Self::Roll => read_cell::<Roll>(line).map(|_| true)?,
            Self::Foreign => read_cell::<ForeignRun>(line)?.check().map(|()| true)?,
            Self::Rating => {
                let cell: CellRecord = read_cell(line)?;
                (cell.block, cell.position) == (line.block, line.position)
                    && agrees(&Columns::of(&cell), line)
            }
            Self::Pipe(plan) => agrees_with(&facts(plan, &read_cell::<Point>(line)?), line),
            Self::Set(plan) => {
                let SetPoint { series, point } = read_cell(line)?;
                let plan = plan
                    .series
                    .get(series)
                    .ok_or("its cell belongs to none of the run's signatures")?;
                agrees_with(&facts(plan, &point), line)
            }
            Self::Experiment(study, plan) => {
                let (block, position, facts) = study
                    .facts(plan, line.record.get())
                    .map_err(|error| unreadable_cell(&error))?;
                (block, position) == (line.block, line.position) && agrees_with(&facts, line)
            }
            Self::Hint(run) => {
                agrees_with(&hint::facts(run, &read_cell::<HintRecord>(line)?), line)
            }
        };
        if same { Ok(()) } else { Err("its cell and what is said of it differ".to_owned()) }
    }
}

fn read_plan<T: DeserializeOwned>(plan: &str) -> Result<T, String> {
    serde_json::from_str(plan).map_err(|error| unreadable_plan(&error))
}

fn read_cell<T: DeserializeOwned>(line: &CellLine) -> Result<T, String> {
    serde_json::from_str(line.record.get()).map_err(|error| unreadable_cell(&error))
}

fn unreadable_plan(error: &serde_json::Error) -> String {
    format!("its plan cannot be read ({error})")
}

fn unreadable_cell(error: &serde_json::Error) -> String {
    format!("its cell cannot be read ({error})")
}

fn agrees_with(facts: &Facts, line: &CellLine) -> bool {
    let columns = Columns {
        component: &facts.component,
        message_bytes: i64::try_from(facts.message.count()).unwrap_or(i64::MAX),
        load: facts.load,
        valid: facts.valid,
        goodput_bits_per_second: facts.goodput_bits_per_second,
        duration_ns: Some(column(facts.duration)),
        host_duration_ns: None,
    };
    agrees(&columns, line)
}

fn agrees(columns: &Columns<'_>, line: &CellLine) -> bool {
    columns.component == line.component
        && columns.message_bytes == line.message_bytes
        && columns.load == line.load
        && columns.valid == line.valid
        && columns.goodput_bits_per_second == line.goodput_bits_per_second
        && columns.duration_ns == line.duration_ns
        && columns.host_duration_ns == line.host_duration_ns
}
