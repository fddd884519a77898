//! `btu pipe`: from the command line to plans, a run for each transport, and what came of them.

mod ends;
mod ground;
mod interruption;
mod plan;
mod series;
mod show;

use std::thread;

use anyhow::Context;
use btu_control::coordinator::CoordinatorError;
use btu_store::RunId;
use btu_testbed::house::Signals;

use crate::cli::{Common, Pipe};
use crate::preflight;
use crate::progress::Steps;

pub(crate) use show::{SUITE, cells, stored};

use ground::Ground;
use interruption::Interruption;
use plan::Asked;

/// Measures a signature for each transport that was asked for.
pub(crate) fn run(pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let asked = plan::asked(pipe)?;
    // Before any thread is started, so that no signal ends this process before the network is down.
    let signals = Signals::take().context("waiting for signals")?;
    let interruption = Interruption::default();
    let runs = thread::scope(|scope| {
        let work = scope.spawn(|| measure(pipe, common, &asked, &signals, &interruption));
        if let Some(signal) = signals.await_request_while(|| !work.is_finished())? {
            interruption.raise(signal);
        }
        work.join().map_err(|_| anyhow::anyhow!("the thread that measures panicked"))?
    })?;
    show::results(&runs, pipe, common)
}

/// One run after the other, on one network.
fn measure(
    pipe: &Pipe,
    common: &Common,
    asked: &Asked,
    signals: &Signals,
    interruption: &Interruption,
) -> anyhow::Result<Vec<RunId>> {
    let mut store = preflight::store(common)?;
    let steps = Steps::new(pipe.quiet);
    let raised = Ground::prepare(asked, interruption, &steps);
    let ground = interruption.instead_of(raised)?;
    let mut runs = Vec::new();
    for plan in &asked.plans {
        let series = series::Series { plan, ground: &ground, signals, interruption, steps: &steps };
        let (run, outcome) = series.run(&mut store, asked, pipe.label.as_deref())?;
        runs.push(run);
        if let Err(error) = outcome {
            steps.clear();
            advise(run, &error);
            return Err(error);
        }
    }
    steps.clear();
    ground.lower()?;
    Ok(runs)
}

fn advise(run: RunId, error: &anyhow::Error) {
    let why = if error.is::<CoordinatorError>() { "was stopped" } else { "ended early" };
    eprintln!("Run {run} {why}; the sizes it finished are kept: btu show {run}");
}
