//! The result of a run for scripts: the exit code, and `JUnit` XML.

use std::process::ExitCode;

use btu_contract::experiment::RunFacts;
use btu_report::junit;
use btu_stats::Level;
use btu_store::{RunId, Store};
use btu_studies::Judged;
use btu_studies::compare::Gate;
use btu_studies::run::{RunPlan, RunVerdict};

use super::arguments::RunStudy;
use crate::exit::SLOWER;
use crate::files;
use crate::stored::resume;

/// The exit code of a run, after what is asked for was written: 1 where no repetition counts, 4
/// where a row is slower than allowed.
pub(super) fn answer(options: &RunStudy, store: &Store, run: RunId) -> anyhow::Result<ExitCode> {
    let row = store.run(&run.to_string())?;
    let plan: RunPlan = resume::plan(&row)?;
    let verdict = plan.judge(&store.records(run)?, &RunFacts::default());
    let gates = gates(&verdict, options.fail_if_slower);
    if let Some(path) = &options.junit {
        files::save(path, junit(&plan, &verdict, &gates).as_bytes())?;
    }
    let nothing_counts =
        verdict.values.iter().any(|value| value.rows.iter().any(|row| row.count == 0));
    Ok(match gates.iter().flatten().any(|gate| *gate == Some(Gate::Fail)) {
        true => ExitCode::from(SLOWER),
        false if nothing_counts => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// For each row of each value whether it is slower than allowed; `None` for the baseline, and
/// without a limit.
fn gates(verdict: &RunVerdict, slower: Option<f64>) -> Vec<Vec<Option<Gate>>> {
    let of_value = |value: &btu_studies::run::ValueVerdict| {
        let gate = |row: &btu_studies::run::RowVerdict| {
            Some(Gate::judge(&row.speed()?, row.adjusted_p, slower?, Level::P95))
        };
        value.rows.iter().map(gate).collect()
    };
    verdict.values.iter().map(of_value).collect()
}
