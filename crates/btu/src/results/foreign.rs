//! Runs with a program that is not btu: a client or a server of another make, or its file.

use std::fmt;
use std::process::ExitCode;

use anyhow::Context;
use btu_contract::foreign::{ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy, STUDY};
use btu_report::html::Page;
use btu_report::{RawRow, TextOptions, foreign_page, page_text};
use btu_store::{RunId, RunRow, SERVED, Store};
use btu_studies::compare::{ComparedRow, Over, PlanDifference, RunReadings};
use btu_studies::papers::Study;
use btu_studies::rate::{Reading, Unit};
use btu_units::Span;
use serde::Serialize;
use serde_json::Value;

use super::{StoredStudy, first_values, json, lines, refuse_studies, value};
use crate::cli::{Common, Compare};
use crate::exit::Refusal;
use crate::results::compare::{self, Compared};
use crate::stored::Surroundings;
use crate::stored::single::{self, Single};

pub(super) struct Foreign;

/// The profile of such runs that came from a file.
pub(crate) const IMPORTED: &str = "imported";

/// Stores a run with another program. `created` is the wall time of its start, RFC 3339; `profile` says
/// in a word how it came to be, such as `imported`.
pub(crate) fn save(
    store: &mut Store,
    run: &ForeignRun,
    (profile, created): (&str, String),
    duration: Option<Span>,
    label: Option<&str>,
) -> anyhow::Result<RunId> {
    run.check().map_err(|why| Refusal::Usage(format!("the result of {}: {why}", run.program)))?;
    let single = Single {
        study: STUDY,
        profile,
        network: &run.subject,
        label,
        plan: serde_json::json!({"program": run.program, "subject": run.subject}),
        plan_hash: STUDY.to_owned(),
        is_measured_here: run.measured_by == MeasuredBy::Btu,
        created,
        duration,
        is_valid: run.faults.is_empty(),
        record: run,
    };
    single::save(store, &single)
}

impl StoredStudy for Foreign {
    fn has(&self, name: &str) -> bool {
        name == STUDY
    }

    fn command(&self) -> &'static str {
        "btu runs import"
    }

    fn made_by(&self, profile: &str) -> &'static str {
        match profile {
            IMPORTED => self.command(),
            SERVED => "btu iperf3",
            _ => "btu speed",
        }
    }

    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String> {
        let run = row.summary.id;
        Err(format!(
            "run {run} was measured at once, with another program: there is nothing to resume"
        ))
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, record(store, row)?)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        Ok(page_text(&self.page(store, row, &[])?, options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        let quantities = record(store, row)?.quantities;
        lines(&quantities, is_json, &format!("{:<40} values", "result"), |quantity| {
            let values: Vec<String> = quantity.values.iter().map(f64::to_string).collect();
            format!("{:<40} {} ({})", quantity.name, values.join(" "), unit_name(quantity.unit))
        })
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        compare::run_for(self, store, arguments, common)
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let record = record(store, row)?;
        let is_valid = record.faults.is_empty();
        let of = |quantity: &ForeignQuantity| -> Vec<RawRow> {
            let one = |(place, number): (usize, &f64)| {
                let mut raw = first_values(row, is_valid);
                raw.extend([
                    value("repetition", place + 1),
                    value("result", &quantity.name),
                    value("unit", unit_name(quantity.unit)),
                    value("value", number),
                ]);
                raw
            };
            quantity.values.iter().enumerate().map(one).collect()
        };
        Ok(record.quantities.iter().flat_map(of).collect())
    }

    /// Each result by its name, in its unit: lists of values are no gauges.
    fn numbers(&self, store: &Store, row: &RunRow) -> anyhow::Result<Value> {
        let gauge = |quantity: &ForeignQuantity| {
            let typical = quantity.typical();
            serde_json::json!({"result": quantity.name, unit_name(quantity.unit): typical})
        };
        Ok(record(store, row)?.quantities.iter().map(gauge).collect())
    }

    fn answer(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        Ok(record(store, row)?.answer)
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        refuse_studies(row, with)?;
        Ok(foreign_page(&Surroundings::of(store, row).stored(), &record(store, row)?))
    }
}

/// The unit in names of columns and lines.
const fn unit_name(unit: ForeignUnit) -> &'static str {
    match unit {
        ForeignUnit::BitsPerSecond => "bits_per_second",
        ForeignUnit::Seconds => "seconds",
        ForeignUnit::RoundTripsPerMinute => "round_trips_per_minute",
        ForeignUnit::Share => "share",
        ForeignUnit::Count => "count",
    }
}

/// A result that several runs have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ForeignRow {
    name: String,
    unit: ForeignUnit,
}

impl fmt::Display for ForeignRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl ComparedRow for ForeignRow {
    const FURTHER: [&'static str; 2] = ["Times", "Times, ms"];
    const BY: &'static str = "result";

    fn unit(&self) -> Unit {
        match self.unit {
            ForeignUnit::BitsPerSecond => Unit::Bits,
            _ => Unit::Times,
        }
    }

    fn short_name(&self) -> String {
        self.name.clone()
    }

    fn picture(&self) -> [String; 2] {
        ["results", "Goodput"].map(str::to_owned)
    }

    /// Each result by itself: those of other programs have no common weight.
    fn overall(_: &[Self]) -> Option<(Over, Vec<Self>)> {
        None
    }
}

impl Compared for Foreign {
    type Row = ForeignRow;
    /// What was asked for, as it is stored.
    type Plan = Value;

    fn commands(&self) -> &'static str {
        self.command()
    }

    fn is_of(&self, study: &str) -> bool {
        self.has(study)
    }

    fn hash(&self, plan: &Value) -> String {
        plan.to_string()
    }

    /// Other programs say their settings each in its own way: the reader sees both subjects.
    fn differences(&self, _: &Value, _: &Value) -> Vec<PlanDifference> {
        Vec::new()
    }

    fn run(
        &self,
        store: &Store,
        row: &RunRow,
        _: &Value,
    ) -> anyhow::Result<RunReadings<ForeignRow>> {
        let record = record(store, row)?;
        let readings = record.quantities.iter().flat_map(|quantity| {
            let row = ForeignRow { name: quantity.name.clone(), unit: quantity.unit };
            (0..).zip(&quantity.values).filter_map(move |(block, value)| {
                let per_second = quantity.unit.per_second(*value)?;
                Some(Reading { row: row.clone(), block, per_second })
            })
        });
        let readings = readings.filter(|reading| reading.counts() && record.faults.is_empty());
        Ok(RunReadings { name: row.summary.id.to_string(), place: 0, readings: readings.collect() })
    }

    fn asks_the_same(&self, _: &Value, _: &Value, _: &ForeignRow) -> bool {
        true
    }
}

fn record(store: &Store, row: &RunRow) -> anyhow::Result<ForeignRun> {
    store
        .records::<ForeignRun>(row.summary.id)?
        .into_iter()
        .next()
        .context("this run has stored no result")
}
