//! Any study: all outputs follow from its plan, its verdict and its report.

use std::marker::PhantomData;
use std::process::ExitCode;

use btu_contract::experiment::{AnyExperiment, any};
use btu_report::html::Page;
use btu_report::{
    CellTable, EarlierRuns, RawRow, Reported, StoredRun, TextOptions, page_text, raw_value,
};
use btu_store::{RunId, RunRow, Store};
use btu_studies::papers::Study;

use super::{StoredStudy, json, refuse_studies};
use crate::cli::{Common, Compare};
use crate::stored::{Surroundings, resume, run_facts};

/// Compares runs of a study; the exit code says whether one is slower than allowed.
pub(crate) type CompareRuns = fn(&Store, &Compare, &Common) -> anyhow::Result<ExitCode>;

/// Finds earlier runs of a run's plan on its machine.
pub(crate) type FindEarlier = fn(&Store, RunId) -> anyhow::Result<Option<EarlierRuns>>;

/// The study with plans of type `E`.
pub(crate) struct Studied<E> {
    compare: CompareRuns,
    earlier: Option<FindEarlier>,
    plan: PhantomData<fn() -> E>,
}

/// A stored run with its verdict.
pub(crate) struct JudgedRun<E: Reported> {
    /// The plan of the run.
    pub(crate) plan: E,
    /// The records, in the order of their measurement.
    pub(crate) records: Vec<E::Record>,
    /// The verdict.
    pub(crate) verdict: E::Verdict,
}

impl<E: Reported> JudgedRun<E> {
    /// Reads a run of this study and judges it.
    pub(crate) fn read(store: &Store, row: &RunRow) -> anyhow::Result<Self> {
        let plan: E = resume::plan(row)?;
        let records = store.records(row.summary.id)?;
        let verdict = plan.judge(&records, &run_facts(row));
        Ok(Self { plan, records, verdict })
    }
}

impl<E: Reported> Studied<E> {
    pub(crate) const fn new(compare: CompareRuns) -> Self {
        Self { compare, earlier: None, plan: PhantomData }
    }

    /// With the spread from run to run in its reports.
    pub(crate) const fn with_earlier(self, earlier: FindEarlier) -> Self {
        Self { earlier: Some(earlier), ..self }
    }

    fn cells_of(store: &Store, row: &RunRow) -> anyhow::Result<CellTable> {
        Ok(resume::plan::<E>(row)?.cell_table(&store.records(row.summary.id)?))
    }
}

impl<E: Reported> StoredStudy for Studied<E> {
    fn has(&self, name: &str) -> bool {
        name == E::STUDY
    }

    fn command(&self) -> &'static str {
        E::COMMAND
    }

    fn experiment(&self) -> Option<&'static dyn AnyExperiment> {
        Some(any::<E>())
    }

    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String> {
        let run = row.summary.id;
        let plan = resume::plan::<E>(row).ok();
        match plan.and_then(|plan| plan.never_resumed()) {
            None => Ok(E::COMMAND),
            Some(why) => Err(format!("run {run} {why}: begin a new one with `{}`", E::COMMAND)),
        }
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, JudgedRun::<E>::read(store, row)?.verdict)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        Ok(page_text(&self.page(store, row, &[])?, options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        if is_json {
            let records: Vec<E::Record> = store.records(row.summary.id)?;
            return Ok(serde_json::to_string(&records)?);
        }
        let CellTable { head, lines, .. } = Self::cells_of(store, row)?;
        Ok(std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n"))
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let mut raw = Self::cells_of(store, row)?.raw;
        for one in &mut raw {
            one.insert(0, raw_value("run", row.summary.id));
        }
        Ok(raw)
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        (self.compare)(store, arguments, common)
    }

    fn answer(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        let run = JudgedRun::<E>::read(store, row)?;
        let short = run.plan.answer(&run.verdict);
        short.map_or_else(|| Ok(self.page(store, row, &[])?.headline), Ok)
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        if !E::DRAWS_STUDIES {
            refuse_studies(row, with)?;
        }
        let JudgedRun { plan, records, verdict } = JudgedRun::<E>::read(store, row)?;
        let earlier = self.earlier.map(|find| find(store, row.summary.id)).transpose()?.flatten();
        let surroundings = Surroundings::of(store, row);
        let stored =
            StoredRun { earlier: earlier.as_ref(), studies: with, ..surroundings.stored() };
        Ok(plan.page(&verdict, &records, &stored))
    }
}
