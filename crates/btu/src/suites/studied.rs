//! Any study of scripted cells: all outputs follow from its plan, its verdict and its report.

use std::marker::PhantomData;
use std::process::ExitCode;

use btu_report::html::Page;
use btu_report::{RawRow, Reported, TextOptions, page_text};
use btu_store::{RunRow, Store};
use btu_studies::compare::{
    PlanDifference, RunReadings, StudyRow, study_differences, study_readings,
};
use btu_studies::papers::Study;
use btu_suite::experiment::{AnyExperiment, Facts, Measured, any};
use btu_units::{Span, written_rate};
use serde_json::Value;

use super::{Suite, first_values, json, lines, refuse_studies, value};
use crate::cli::{Common, Compare};
use crate::commands::compare::{self, Compared};
use crate::stored::Surroundings;
use crate::stored::resume;

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

    fn command(&self) -> &'static str {
        E::COMMAND
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
        let cells = store.records::<Measured<E::Cell>>(row.summary.id)?;
        let columns = OptionalColumns::of(&plan, &cells);
        lines(&cells, is_json, &columns.head(), |cell| columns.line(&plan, cell))
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let plan: E = resume::plan(row)?;
        let cells = store.records::<Measured<E::Cell>>(row.summary.id)?;
        let columns = OptionalColumns::of(&plan, &cells);
        cells.iter().map(|cell| columns.raw(&plan, row, cell)).collect()
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        compare::run_for(self, store, arguments, common)
    }

    fn answer(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        let (plan, verdict) = judged::<E>(store, row)?;
        let short = plan.answer(&verdict);
        short.map_or_else(|| Ok(self.page(store, row, &[])?.headline), Ok)
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

    fn run(&self, store: &Store, row: &RunRow, plan: &E) -> anyhow::Result<RunReadings<StudyRow>> {
        let cells = store.records::<Measured<E::Cell>>(row.summary.id)?;
        let readings = cells.iter().flat_map(|cell| study_readings(plan, cell)).collect();
        Ok(RunReadings { name: row.summary.id.to_string(), place: 0, readings })
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

/// The columns for what not every study has.
struct OptionalColumns {
    durations: bool,
    round_trips: bool,
    both_ways: bool,
}

impl OptionalColumns {
    /// Those that a cell of the run has a value for.
    fn of<E: Reported>(plan: &E, cells: &[Measured<E::Cell>]) -> Self {
        let facts: Vec<Facts> =
            cells.iter().map(|cell| plan.facts(&cell.cell, &cell.seen)).collect();
        let round_trips = facts.iter().any(|facts| facts.round_trip.is_some());
        Self {
            durations: !round_trips || facts.iter().any(|facts| facts.duration.is_some()),
            round_trips,
            both_ways: facts.iter().any(|facts| facts.both_ways.is_some()),
        }
    }

    /// The times of a cell in their columns, with their names.
    fn times(&self, facts: &Facts) -> Vec<(&'static str, Option<Span>)> {
        let times = [
            (self.durations, "duration", facts.duration),
            (self.round_trips, "round trip", facts.round_trip),
        ];
        times
            .into_iter()
            .filter(|(is_there, ..)| *is_there)
            .map(|(_, name, time)| (name, time))
            .collect()
    }

    fn head(&self) -> String {
        let times = self.times(&Facts::default());
        let times: Vec<String> = times.iter().map(|(name, _)| format!(" {name:>12}")).collect();
        format!("in block {:<38}{} {:>15}", "cell", times.concat(), "goodput")
    }

    fn line<E: Reported>(&self, plan: &E, cell: &Measured<E::Cell>) -> String {
        let facts = plan.facts(&cell.cell, &cell.seen);
        let times = self.times(&facts).into_iter().map(|(_, time)| {
            format!(" {:>12}", time.map_or_else(String::new, |time| time.to_string()))
        });
        let goodput = match (facts.goodput_bits_per_second, facts.both_ways) {
            (Some(goodput), _) => written_rate(goodput),
            (None, Some([up, down])) => {
                format!("{} up, {} down", written_rate(up), written_rate(down))
            }
            (None, None) => String::new(),
        };
        let (block, name) = (cell.block + 1, cell.cell.to_string());
        let times = times.collect::<Vec<_>>().concat();
        let line = format!("{block:>2} {name:<44}{times} {goodput:>15}");
        let faults = cell.faults.iter().map(|fault| format!("      INVALID: {fault}"));
        std::iter::once(line.trim_end().to_owned()).chain(faults).collect::<Vec<_>>().join("\n")
    }

    /// The levels of every factor as the plan stores them, then the results of a cell.
    fn raw<E: Reported>(
        &self,
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
        let number =
            |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        for (name, time) in self.times(&facts) {
            let name = format!("{}_seconds", name.replace(' ', "_"));
            raw.push(value(&name, number(time.map(Span::seconds))));
        }
        raw.push(value("goodput_bits_per_second", number(facts.goodput_bits_per_second)));
        if self.both_ways {
            let [up, down] = [0, 1].map(|way| facts.both_ways.map(|both| both[way]));
            raw.push(value("goodput_up_bits_per_second", number(up)));
            raw.push(value("goodput_down_bits_per_second", number(down)));
        }
        raw.push(value("faults", cell.faults.join("; ")));
        Ok(raw)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A study of round trips has no column of durations, and others none of round trips.
    #[test]
    fn columns_are_those_that_have_values() {
        let of =
            |durations, round_trips| OptionalColumns { durations, round_trips, both_ways: false };
        let facts = Facts { round_trip: Some(Span::from_milliseconds(1870)), ..Facts::default() };
        let names = |columns: &OptionalColumns| -> Vec<&str> {
            columns.times(&facts).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&of(false, true)), ["round trip"]);
        assert_eq!(names(&of(true, true)), ["duration", "round trip"]);
        assert_eq!(names(&of(true, false)), ["duration"]);
        let head = of(false, true).head();
        assert!(head.contains("round trip") && !head.contains("duration"), "{head}");
    }
}
