//! `btu compare`: compares stored runs.

mod conditions;
mod history;
mod readings;
mod sides;

use std::path::PathBuf;
use std::process::ExitCode;

use btu_contract::experiment::Scripts;
use btu_contract::json;
use btu_report::html::{PageWarning, html};
use btu_report::{TextOptions, comparison_page, first_screen, markdown, page_text};
use btu_stats::Level;
use btu_store::{RunRow, Store};
use btu_studies::compare::{
    ComparedRow, ComparedSide, Comparison, Gate, Group, PlanDifference, Question, RunReadings,
    RunWarning, compare,
};
use btu_testbed::note;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::{Common, Compare, CompareFormat};
use crate::exit::SLOWER;
use crate::stored;
use crate::terminal::{again, file_options, print, text_options};
use crate::{files, results};
use sides::Chosen;

pub(crate) use history::of_machine;
use readings::{OfScripts, Ratings};

/// The level of every interval.
const LEVEL: Level = Level::P95;

/// The file of `--format html`.
const PAGE: &str = "btu-compare.html";

/// The parts of a study that a comparison of its runs needs.
pub(crate) trait Compared {
    /// The key of readings in several runs.
    type Row: ComparedRow + Serialize;
    /// The plan of a run.
    type Plan: DeserializeOwned;

    /// The command that measures such runs.
    fn commands(&self) -> &'static str;

    /// Whether runs of this name in the store are its own.
    fn is_of(&self, study: &str) -> bool;

    /// A plan's name, a hash without the seed.
    fn hash(&self, plan: &Self::Plan) -> String;

    /// All differences between two plans.
    fn differences(&self, base: &Self::Plan, other: &Self::Plan) -> Vec<PlanDifference>;

    /// A run with the speeds of its valid cells.
    fn run(
        &self,
        store: &Store,
        row: &RunRow,
        plan: &Self::Plan,
    ) -> anyhow::Result<RunReadings<Self::Row>>;

    /// Whether a row means an equal measurement in both plans, although they differ.
    fn asks_the_same(&self, base: &Self::Plan, other: &Self::Plan, row: &Self::Row) -> bool;
}

/// The data that `--json` prints.
#[derive(Serialize)]
struct ComparisonDocument<'a, R> {
    comparison: &'a Comparison<R>,
    /// One for each of the others, with `--fail-if-slower`.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<Vec<Gate>>,
}

/// Compares, and reports by the exit code whether a side is slower than allowed.
pub(crate) fn run(arguments: &Compare, common: &Common) -> anyhow::Result<ExitCode> {
    let store = stored::open_to_read(common)?;
    let first = sides::first(&store, arguments)?;
    results::of(&first)?.compare(&store, arguments, common)
}

/// Compares runs of a study with scripts.
pub(crate) fn of_scripts<S: Scripts>(
    store: &Store,
    arguments: &Compare,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    run_for(&OfScripts::<S>::new(), store, arguments, common)
}

/// Compares ratings.
pub(crate) fn of_ratings(
    store: &Store,
    arguments: &Compare,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    run_for(&Ratings, store, arguments, common)
}

/// Like `run`, for runs of one study.
pub(crate) fn run_for<C: Compared>(
    study: &C,
    store: &Store,
    arguments: &Compare,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    let sides = sides::chosen(study, store, arguments)?;
    sides::guard(study, &sides, arguments)?;
    let group = |side: &Chosen<C::Plan>| side.group(study, store, &sides[0]);
    let mut groups: Vec<Group<C::Row>> = sides.iter().map(group).collect::<anyhow::Result<_>>()?;
    sides::put_in_time(&sides, &mut groups);
    let question =
        Question { base: &groups[0], others: &groups[1..], level: LEVEL, matter: arguments.matter };
    let mut comparison = compare(&question);
    explain(study, store, &mut comparison, &sides);
    for member in sides.iter().flat_map(|side| &side.members) {
        comparison.warnings.extend(warnings(store, &member.row)?);
    }
    let gates = arguments.fail_if_slower.map(|slower| gates(&comparison, slower));
    show(&comparison, gates.clone(), arguments, common)?;
    Ok(answer(&comparison, &gates.unwrap_or_default()))
}

/// The warnings of a run as its report has them: they are warnings of what it is compared with, too.
fn warnings(store: &Store, row: &RunRow) -> anyhow::Result<Vec<RunWarning>> {
    let page = results::of(row)?.page(store, row, &[])?;
    let warning = |PageWarning { title, observed, .. }| RunWarning {
        run: row.summary.id.to_string(),
        title,
        observed,
    };
    Ok(page.warnings.into_iter().map(warning).collect())
}

/// Adds possible explanations of a difference.
fn explain<C: Compared>(
    study: &C,
    store: &Store,
    comparison: &mut Comparison<C::Row>,
    sides: &[Chosen<C::Plan>],
) {
    for (compared, side) in comparison.others.iter_mut().zip(&sides[1..]) {
        compared.plan_differences = sides::plan_differences_of(study, &sides[0], side);
        compared.environment_differences = conditions::differences(store, &sides[0], side);
        compared.environment_differences.extend(sides::environment_differences(&sides[0], side));
    }
}

fn gates<R>(comparison: &Comparison<R>, slower: f64) -> Vec<Gate> {
    let level = comparison.level;
    let gate = |other: &ComparedSide<R>| match &other.overall {
        Some(overall) => Gate::of(overall, slower, level),
        None => Gate::of_cells(&other.cells, slower, level),
    };
    comparison.others.iter().map(gate).collect()
}

fn show<R: ComparedRow + Serialize>(
    comparison: &Comparison<R>,
    gates: Option<Vec<Gate>>,
    arguments: &Compare,
    common: &Common,
) -> anyhow::Result<()> {
    // `--json` holds for every command, and means that format here.
    let format = if common.json { CompareFormat::Json } else { arguments.format };
    let output =
        arguments.output.clone().or_else(|| (format == CompareFormat::Html).then(|| PAGE.into()));
    let page = comparison_page(comparison, &again());
    deliver(output, |options| {
        Ok(match format {
            CompareFormat::Json => {
                json::indented(&ComparisonDocument { comparison, gates })? + "\n"
            }
            CompareFormat::Text if arguments.all => page_text(&page, options),
            CompareFormat::Text => first_screen(&page, options),
            CompareFormat::Markdown => markdown(&page),
            CompareFormat::Html => html(&page),
        })
    })
}

/// Writes a comparison to `output`, or prints it if that is `None` or `-`.
pub(crate) fn deliver(
    output: Option<PathBuf>,
    text: impl FnOnce(&TextOptions) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let Some(path) = output.filter(|path| path.as_os_str() != "-") else {
        return print(&text(&text_options())?);
    };
    files::save(&path, text(&file_options())?.as_bytes())?;
    print(&format!("The comparison is in {}\n", path.display()))
}

/// The exit code, and a message if scripts could otherwise mistake silence for success.
fn answer<R>(comparison: &Comparison<R>, gates: &[Gate]) -> ExitCode {
    for (other, gate) in comparison.others.iter().zip(gates) {
        let (side, base) = (&other.side.name, &comparison.base.name);
        match gate {
            Gate::Pass => {}
            Gate::Fail => {
                note!("btu: {side} is slower than {base} by more than --fail-if-slower allows");
            }
            Gate::Unsure => note!(
                "btu: cannot tell whether {side} is slower than {base} by more than --fail-if-slower allows: measure more of \
                 both in turns"
            ),
        }
    }
    if gates.contains(&Gate::Fail) { ExitCode::from(SLOWER) } else { ExitCode::SUCCESS }
}
