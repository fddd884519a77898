//! Any study of scripted cells: all outputs follow from its plan, its verdict and its report.

use std::marker::PhantomData;
use std::process::ExitCode;

use btu_report::html::Page;
use btu_report::{RawRow, Reported, TextOptions, page_text};
use btu_store::{RunRow, Store};
use btu_suite::compare::{PlanDifference, Run, StudyRow, study_differences, study_readings};
use btu_suite::experiment::{AnyExperiment, Measured, any};
use btu_suite::history::Study;
use serde_json::Value;

use super::{Suite, first_values, json, lines, refuse_studies, value};
use crate::cli::{Common, Compare};
use crate::compare::{self, Compared};
use crate::resume;
use crate::stored::Surroundings;

/// The study with plans of type `E`.
pub(crate) struct Studied<E>(PhantomData<fn() -> E>);

impl<E> Studied<E> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E: Reported> Suite for Studied<E> {
    fn has(&self, name: &str) -> bool {
        name == E::SUITE
    }

    fn study(&self) -> Option<&'static dyn AnyExperiment> {
        Some(any::<E>())
    }

    fn resumed_by(&self, _: &RunRow) -> Result<&'static str, String> {
        Ok(E::COMMAND)
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, judged::<E>(store, row)?.1)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        Ok(page_text(&self.page(store, row, &[])?, options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        let plan: E = resume::plan(row)?;
        let head = format!("in block {:<38} {:>12} {:>15}", "cell", "duration", "goodput");
        lines(&store.records::<Measured<E::Cell>>(row.summary.id)?, is_json, &head, |cell| {
            line(&plan, cell)
        })
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let plan: E = resume::plan(row)?;
        let cells = store.records::<Measured<E::Cell>>(row.summary.id)?;
        cells.iter().map(|cell| raw_cell(&plan, row, cell)).collect()
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        compare::run_for(self, store, arguments, common)
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        refuse_studies(row, with)?;
        let (plan, verdict) = judged::<E>(store, row)?;
        Ok(plan.page(&verdict, &Surroundings::of(store, row).stored()))
    }
}

impl<E: Reported> Compared for Studied<E> {
    type Row = StudyRow;
    type Plan = E;

    fn commands(&self) -> &'static str {
        E::COMMAND
    }

    fn is_of(&self, suite: &str) -> bool {
        self.has(suite)
    }

    fn hash(&self, plan: &E) -> String {
        plan.hash()
    }

    fn differences(&self, base: &E, other: &E) -> Vec<PlanDifference> {
        study_differences(base, other)
    }

    fn run(&self, store: &Store, row: &RunRow, plan: &E) -> anyhow::Result<Run<StudyRow>> {
        let cells = store.records::<Measured<E::Cell>>(row.summary.id)?;
        let readings = cells.iter().flat_map(|cell| study_readings(plan, cell)).collect();
        Ok(Run { name: row.summary.id.to_string(), readings })
    }

    fn asks_the_same(&self, _: &E, _: &E, _: &StudyRow) -> bool {
        true
    }
}

fn judged<E: Reported>(store: &Store, row: &RunRow) -> anyhow::Result<(E, E::Verdict)> {
    let plan: E = resume::plan(row)?;
    let verdict = plan.judge(&store.records(row.summary.id)?);
    Ok((plan, verdict))
}

/// The levels of every factor as the plan stores them, then the results of a cell.
fn raw_cell<E: Reported>(
    plan: &E,
    row: &RunRow,
    cell: &Measured<E::Cell>,
) -> anyhow::Result<RawRow> {
    let mut raw = first_values(row, cell.is_valid());
    raw.extend([
        value("block", cell.block + 1),
        value("position", cell.position + 1),
        value("cell", &cell.cell),
    ]);
    flatten("", &serde_json::to_value(&cell.cell)?, &mut raw);
    let facts = plan.facts(&cell.cell, &cell.seen);
    raw.push(value(
        "duration_seconds",
        facts.duration.map_or_else(String::new, |span| span.seconds().to_string()),
    ));
    let goodput = facts.goodput_bits_per_second;
    raw.push(value(
        "goodput_bits_per_second",
        goodput.map_or_else(String::new, |rate| rate.to_string()),
    ));
    raw.push(value("faults", cell.faults.join("; ")));
    Ok(raw)
}

/// Every scalar of `from` under its name, those of nested objects under both names.
fn flatten(name: &str, from: &Value, raw: &mut RawRow) {
    match from {
        Value::Object(parts) => {
            for (part, inside) in parts {
                let name = if name.is_empty() { part.clone() } else { format!("{name}_{part}") };
                flatten(&name, inside, raw);
            }
        }
        Value::Null => {}
        Value::String(text) => raw.push(value(name, text)),
        other => raw.push(value(name, other)),
    }
}

fn line<E: Reported>(plan: &E, cell: &Measured<E::Cell>) -> String {
    let facts = plan.facts(&cell.cell, &cell.seen);
    let duration = facts.duration.map_or_else(String::new, |duration| duration.to_string());
    let goodput = facts
        .goodput_bits_per_second
        .map_or_else(String::new, |rate| format!("{:10.2} Mb/s", rate / 1e6));
    let line =
        format!("{:>2} {:<44} {duration:>12} {goodput}", cell.block + 1, cell.cell.to_string());
    let faults = cell.faults.iter().map(|fault| format!("      INVALID: {fault}"));
    std::iter::once(line.trim_end().to_owned()).chain(faults).collect::<Vec<_>>().join("\n")
}
