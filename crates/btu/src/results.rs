//! What the program knows of a study: its command, and the operations on its stored runs. The table
//! of studies is in `main.rs`; `show`, `report`, `compare`, `--resume`, `import` and the list of
//! commands use only that table.

pub(crate) mod compare;
pub(crate) mod foreign;
mod roll_call;
pub(crate) mod shown;
mod studied;

use std::process::ExitCode;

use btu_contract::experiment::AnyExperiment;
use btu_contract::json;
use btu_report::html::Page;
use btu_report::{RawRow, TextOptions};
use btu_store::{RunRow, RunSummary, Store};
use btu_studies::papers::Study;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StudyCommand;
use crate::cli::{Common, Compare};
use crate::exit::Refusal;
use crate::stored::provenance;
use foreign::Foreign;
use roll_call::RollCall;

pub(crate) use studied::{JudgedRun, Studied};

/// The arguments of a command that measures a study. Their comment is the command's line in the
/// help.
pub(crate) trait Measure: Args {
    /// The study of its runs.
    const STUDY: &'static dyn StoredStudy;

    /// Measures, stores and prints what the arguments ask for.
    fn run(self, common: &Common) -> anyhow::Result<ExitCode>;
}

/// Makes the table of studies from lines of `module::Arguments`: the module of each command, the
/// commands, which clap reads, and the studies of stored runs.
macro_rules! table {
    ($($module:ident::$arguments:ident,)+) => {
        /// The commands that measure a study.
        pub(crate) mod studies {
            $(pub(crate) mod $module;)+
        }

        /// The commands that measure a study.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum StudyCommand {
            $(
                #[command(name = stringify!($module))]
                $arguments(Box<studies::$module::$arguments>),
            )+
        }

        impl StudyCommand {
            /// The studies of their runs.
            pub(crate) const STUDIES: &[&dyn crate::results::StoredStudy] =
                &[$(<studies::$module::$arguments as crate::results::Measure>::STUDY,)+];

            fn run(self, common: &crate::cli::Common) -> anyhow::Result<std::process::ExitCode> {
                match self {
                    $(Self::$arguments(arguments) => {
                        crate::results::Measure::run(*arguments, common)
                    })+
                }
            }
        }
    };
}
pub(crate) use table;

/// A study's stored runs.
pub(crate) trait StoredStudy: Sync {
    /// Whether runs of this name in the store are its own.
    fn has(&self, name: &str) -> bool;

    /// The command that measures the study, as users write it.
    fn command(&self) -> &'static str;

    /// The command that made a run with this profile, where that is not always [`Self::command`].
    fn made_by(&self, _profile: &str) -> &'static str {
        self.command()
    }

    /// What reads its plans and records, if its cells are those of an experiment.
    fn experiment(&self) -> Option<&'static dyn AnyExperiment> {
        None
    }

    /// The command that continues a run, or why none does.
    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String>;

    /// The result as JSON: the output of `show --json`.
    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String>;

    /// A JSON whose numbers are the gauges of `btu show --openmetrics`: the result.
    fn numbers(&self, store: &Store, row: &RunRow) -> anyhow::Result<Value> {
        #[derive(Deserialize)]
        struct Stored {
            result: Value,
        }
        let Stored { result } = serde_json::from_str(&self.json(store, row)?)?;
        Ok(result)
    }

    /// The result for a terminal.
    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String>;

    /// All cells: a line for each, or all as JSON.
    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String>;

    /// Compares runs of which one is of this study; the exit code says whether one is slower than
    /// allowed.
    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode>;
    /// Raw values, one row for each repetition; numbers in full, units in the columns' names.
    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>>;

    /// The result in a few words, for a list of runs.
    fn answer(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        Ok(self.page(store, row, &[])?.headline)
    }

    /// The result as a report, with rates of these studies drawn in it.
    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page>;
}

/// The study of this name in the store.
fn named(name: &str) -> Option<&'static dyn StoredStudy> {
    let checks: &[&dyn StoredStudy] = &[&RollCall, &Foreign];
    StudyCommand::STUDIES.iter().chain(checks).copied().find(|study| study.has(name))
}

/// The command that made a run, without `btu`.
pub(crate) fn command(run: &RunSummary) -> Option<&'static str> {
    named(&run.study).map(|study| study.made_by(&run.profile).trim_start_matches("btu "))
}

/// What reads plans and records of the study of this name in the store.
pub(crate) fn experiment(name: &str) -> Option<&'static dyn AnyExperiment> {
    named(name)?.experiment()
}

/// The study of a run.
///
/// # Errors
/// A run of a study that this version does not know.
pub(crate) fn of(row: &RunRow) -> Result<&'static dyn StoredStudy, Refusal> {
    let name = row.summary.study.as_str();
    named(name).ok_or_else(|| {
        let (run, version) = (row.summary.id, &row.summary.btu_version);
        Refusal::Usage(format!(
            "run {run} is of the study `{name}`, which this btu does not know: use btu {version}, which made it"
        ))
    })
}

/// Refuses a run that `command` did not make, and names the command that continues it, if there is
/// one.
pub(crate) fn resumed_by(row: &RunRow, command: &str) -> Result<(), Refusal> {
    let run = row.summary.id;
    let maker = of(row)?.resumed_by(row).map_err(Refusal::Usage)?;
    if maker == command {
        return Ok(());
    }
    Err(Refusal::Usage(format!(
        "run {run} is one of `{maker}`: resume it with `{maker} --resume {run}`"
    )))
}

/// The `--json` output for a run.
#[derive(Serialize)]
pub(crate) struct Document<'a, R> {
    pub(crate) run: &'a RunRow,
    pub(crate) result: R,
    /// Warnings about resumptions on another machine or version, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resumed_elsewhere: Vec<String>,
}

impl<'a, R> Document<'a, R> {
    /// A run with its result.
    pub(crate) fn of(run: &'a RunRow, result: R) -> Self {
        Self { run, result, resumed_elsewhere: provenance::changes(run) }
    }
}

/// Indented for readers.
fn json<R: Serialize>(run: &RunRow, result: R) -> anyhow::Result<String> {
    Ok(json::indented(&Document::of(run, result))? + "\n")
}

/// Records as lines below a head, or as JSON on one line: spread out, the samples of a run would be
/// a hundred megabytes.
fn lines<T: Serialize>(
    records: &[T],
    is_json: bool,
    head: &str,
    line: impl Fn(&T) -> String,
) -> anyhow::Result<String> {
    if is_json {
        return Ok(serde_json::to_string(records)?);
    }
    Ok(std::iter::once(head.to_owned())
        .chain(records.iter().map(line))
        .collect::<Vec<_>>()
        .join("\n"))
}

/// A value of a raw row.
#[expect(
    clippy::needless_pass_by_value,
    reason = "numbers, names and texts alike, most of them made for this"
)]
fn value(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// The first columns of every raw row: the run, and whether the repetition counts.
fn first_values(row: &RunRow, is_valid: bool) -> RawRow {
    vec![value("run", row.summary.id), value("valid", is_valid)]
}

/// Refuses studies if no report draws them.
fn refuse_studies(row: &RunRow, with: &[Study]) -> Result<(), Refusal> {
    if with.is_empty() {
        return Ok(());
    }
    let run = row.summary.id;
    Err(Refusal::Usage(format!(
        "--with draws studies in reports of `btu rate`, and run {run} is none: leave it out"
    )))
}
