//! `btu compare` of signatures.

use std::collections::BTreeSet;
use std::process::ExitCode;

use btu_contract::experiment::Named;
use btu_contract::job::{Job, JobRecord};
use btu_contract::json;
use btu_contract::pipe::PipePlan;
use btu_report::html::html;
use btu_report::{StoredSignature, first_screen, markdown, page_text, signatures_page};
use btu_store::{RunRow, Store};
use btu_studies::pipe::{SignatureCost, cost_over, judge};
use serde::Serialize;

use crate::cli::TAG;
use crate::cli::{Common, Compare, CompareFormat};
use crate::exit::Refusal;
use crate::results::compare::deliver;
use crate::stored::{provenance, resume};
use crate::terminal;

/// The data that `--json` prints.
#[derive(Serialize)]
struct PipeComparison<'a> {
    base: &'a str,
    others: Vec<Other<'a>>,
    /// Warnings about runs that were resumed on another machine or version, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One of the others.
#[derive(Serialize)]
struct Other<'a> {
    run: &'a str,
    #[serde(flatten)]
    cost: SignatureCost,
}

/// A run compared with itself shows no difference, whatever was measured.
fn refuse_twice(rows: &[RunRow]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    let twice = rows.iter().map(|row| row.summary.id).find(|id| !seen.insert(*id));
    twice.map_or(Ok(()), |id| Err(Refusal::Usage(format!("{id}: the same run was given twice"))))
}

/// Compares the named runs, if they are signatures; `None` where none of them is one of `btu pipe`.
pub(super) fn compare(
    store: &Store,
    arguments: &Compare,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    if arguments.sides.len() < 2
        || arguments.sides.iter().any(|side| side.starts_with(TAG) || side.contains(','))
    {
        let problem =
            "signatures are compared run by run: name two or more, such as `btu compare r4 r9`";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let rows = arguments.sides.iter().map(|side| store.run(side)).collect::<Result<Vec<_>, _>>()?;
    refuse_twice(&rows)?;
    guard(arguments, &rows)?;
    let mut warnings: Vec<String> = rows.iter().flat_map(provenance::named_changes).collect();
    for row in &rows[1..] {
        warnings.extend(differences(&rows[0], row)?);
    }
    let signatures =
        rows.iter().map(|row| stored(store, row)).collect::<anyhow::Result<Vec<_>>>()?;
    let page = signatures_page(&signatures, &warnings, &terminal::again());
    let format = if common.json { CompareFormat::Json } else { arguments.format };
    deliver(arguments.output.clone(), |options| {
        Ok(match format {
            CompareFormat::Json => json(&signatures, warnings)?,
            CompareFormat::Text if arguments.all => page_text(&page, options),
            CompareFormat::Text => first_screen(&page, options),
            CompareFormat::Markdown => markdown(&page),
            CompareFormat::Html => html(&page),
        })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses runs that cannot be compared.
fn guard(arguments: &Compare, rows: &[RunRow]) -> anyhow::Result<()> {
    let refuse = |problem: String| Err(Refusal::Usage(problem).into());
    if let Some(row) = rows.iter().find(|row| row.summary.study != Job::STUDY) {
        let (run, study) = (row.summary.id, &row.summary.study);
        return refuse(format!(
            "{run} is a run of `{study}`: ratings are compared with ratings and signatures with signatures; \
             see it with `btu show {run}`"
        ));
    }
    if arguments.baseline.is_some()
        || arguments.fail_if_slower.is_some()
        || !arguments.across.is_empty()
    {
        return refuse(
            "--baseline, --fail-if-slower and --across are for ratings; signatures know --force and --all".to_owned(),
        );
    }
    let first = signature(&rows[0])?;
    for row in &rows[1..] {
        let other = signature(row)?;
        if !arguments.force
            && (other.pattern, other.pairs, other.buffers)
                != (first.pattern, first.pairs, first.buffers)
        {
            return refuse(format!(
                "{} and {} differ in pattern, pairs or buffers, so that their times mean different things; --force compares them",
                rows[0].summary.id, row.summary.id
            ));
        }
    }
    Ok(())
}

/// The differences between the conditions of two runs, a sentence each: processors of the ends,
/// congestion control, transport.
fn differences(base: &RunRow, other: &RunRow) -> anyhow::Result<Vec<String>> {
    let [first, second] = [conditions(base)?, conditions(other)?];
    let both = first.into_iter().zip(second).filter(|((_, first), (_, second))| first != second);
    let (base, other) = (base.summary.id, other.summary.id);
    Ok(both
        .map(|((what, first), (_, second))| {
            format!("{what}: {first} in {base}, {second} in {other}")
        })
        .collect())
}

/// The conditions that a signature depends on, in addition to its sizes.
fn conditions(row: &RunRow) -> anyhow::Result<[(&'static str, String); 8]> {
    let plan = signature(row)?;
    let held = plan
        .processors
        .map_or_else(|| "where the scheduler puts them".to_owned(), |held| held.to_string());
    let sleep = if plan.kept_awake { "kept awake" } else { "free to sleep" };
    let control = plan
        .congestion_control
        .map_or_else(|| "the machine's own".to_owned(), |name| name.to_string());
    Ok([
        ("network", row.summary.network.clone()),
        ("transport", plan.kind.label().to_owned()),
        ("pattern", plan.pattern.name().to_owned()),
        ("pairs", plan.pairs.to_string()),
        ("ends", held),
        ("processors", sleep.to_owned()),
        ("congestion control", control),
        ("load", plan.load.name().to_owned()),
    ])
}

/// The plan of a run of one signature.
fn signature(row: &RunRow) -> Result<PipePlan, Refusal> {
    match resume::plan(row)? {
        Job::One(plan) => Ok(*plan),
        Job::Set(_) | Job::Hint(_) => {
            let run = row.summary.id;
            Err(Refusal::Usage(format!(
                "{run} is not a run of a single signature, and only these are compared; see it with `btu show {run}`"
            )))
        }
    }
}

fn stored(store: &Store, row: &RunRow) -> anyhow::Result<StoredSignature> {
    let run = &row.summary;
    let label = run.label.as_ref().map_or_else(String::new, |label| format!(", {label}"));
    let records: Vec<JobRecord> = store.records(run.id)?;
    let verdict = judge(&signature(row)?, &Job::points(&records, 0));
    let about = format!("{}, {}, {}{label}", run.network, run.profile, run.created);
    Ok(StoredSignature { name: run.id.to_string(), about, verdict })
}

fn json(signatures: &[StoredSignature], warnings: Vec<String>) -> serde_json::Result<String> {
    let base = &signatures[0];
    let other = |one: &'_ StoredSignature| cost_over(&one.verdict, &base.verdict);
    let others =
        signatures[1..].iter().map(|one| Other { run: &one.name, cost: other(one) }).collect();
    Ok(json::indented(&PipeComparison { base: &base.name, others, warnings })? + "\n")
}
