//! `btu compare` of signatures.

use btu_report::{StoredSignature, beside_text};
use btu_store::{RunRow, Store};
use btu_suite::pipe::{Beside, PipePlan, SUITE, beside};
use serde::Serialize;

use super::show::{plan, signature};
use crate::archive::TAG;
use crate::cli::{Compare, CompareFormat};
use crate::compare::deliver;
use crate::exit::Refusal;
use crate::provenance;

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    base: &'a str,
    others: Vec<Other<'a>>,
    /// Of runs that were resumed on something else, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One of the others.
#[derive(Serialize)]
struct Other<'a> {
    run: &'a str,
    #[serde(flatten)]
    beside: Beside,
}

/// Holds the runs that were named side by side, where they are signatures; `None` where none of them is one of `btu pipe`.
pub(crate) fn compare(store: &Store, arguments: &Compare, as_json: bool) -> anyhow::Result<()> {
    if arguments.sides.len() < 2 || arguments.sides.iter().any(|side| side.starts_with(TAG) || side.contains(',')) {
        let problem = "signatures are compared run by run: name two or more, such as `btu compare r4 r9`";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let rows = arguments.sides.iter().map(|side| store.run(side)).collect::<Result<Vec<_>, _>>()?;
    guard(arguments, &rows)?;
    let warnings: Vec<String> = rows.iter().flat_map(provenance::named_changes).collect();
    let signatures = rows.iter().map(|row| stored(store, row)).collect::<anyhow::Result<Vec<_>>>()?;
    deliver(arguments.output.clone(), |options| {
        if as_json || arguments.format == CompareFormat::Json {
            Ok(json(&signatures, warnings)?)
        } else {
            Ok(beside_text(&signatures, &warnings, arguments.all, options))
        }
    })
}

/// Refuses what cannot be held side by side.
fn guard(arguments: &Compare, rows: &[RunRow]) -> anyhow::Result<()> {
    let refuse = |problem: String| Err(Refusal::Usage(problem).into());
    if let Some(row) = rows.iter().find(|row| row.summary.suite != SUITE) {
        let (run, suite) = (row.summary.id, &row.summary.suite);
        return refuse(format!(
            "{run} is a run of `{suite}`: ratings are compared with ratings and signatures with signatures; \
             see it with `btu show {run}`"
        ));
    }
    if arguments.baseline.is_some() || arguments.fail_if_slower.is_some() || !arguments.across.is_empty() {
        return refuse(
            "--baseline, --fail-if-slower and --across are for ratings; signatures know --force and --all".to_owned(),
        );
    }
    if matches!(arguments.format, CompareFormat::Markdown | CompareFormat::Html) {
        return refuse("signatures are compared as text or JSON".to_owned());
    }
    let first: PipePlan = plan(&rows[0])?;
    for row in &rows[1..] {
        let other: PipePlan = plan(row)?;
        if !arguments.force
            && (other.pattern, other.pairs, other.buffers) != (first.pattern, first.pairs, first.buffers)
        {
            return refuse(format!(
                "{} and {} differ in pattern, pairs or buffers, so that their times mean different things; --force compares them",
                rows[0].summary.id, row.summary.id
            ));
        }
    }
    Ok(())
}

fn stored(store: &Store, row: &RunRow) -> anyhow::Result<StoredSignature> {
    let run = &row.summary;
    let label = run.label.as_ref().map_or_else(String::new, |label| format!(", {label}"));
    let about = format!("{}, {}, {}{label}", run.network, run.profile, run.created);
    Ok(StoredSignature { name: run.id.to_string(), about, verdict: signature(store, row)? })
}

fn json(signatures: &[StoredSignature], warnings: Vec<String>) -> serde_json::Result<String> {
    let base = &signatures[0];
    let other = |one: &'_ StoredSignature| beside(&one.verdict, &base.verdict);
    let others = signatures[1..].iter().map(|one| Other { run: &one.name, beside: other(one) }).collect();
    Ok(serde_json::to_string_pretty(&Document { base: &base.name, others, warnings })? + "\n")
}
