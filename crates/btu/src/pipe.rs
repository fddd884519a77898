//! `btu pipe`: turns the command line into plans, runs them, and shows the results.

mod cancel;
mod compare;
mod ground;
mod here;
mod hint;
mod job;
mod journal;
mod live;
mod load;
mod pin;
mod plan;
mod remote_peer;
mod resume;
mod series;
mod show;
mod watch;
mod worker_error;
mod workers;

use std::path::Path;
use std::process::ExitCode;
use std::thread;

use anyhow::Context;
use btu_control::coordinator::CoordinatorError;
use btu_store::{Level, RunId};
use btu_suite::pipe::{Point, SetPoint, facts};
use btu_testbed::testbed::Signals;

use crate::cli::Common;
use crate::preflight;
use crate::suites::{Measure, Signatures, Suite};

pub(crate) use crate::cli::Pipe;
pub(crate) use compare::compare;
pub(crate) use show::{Outcome, is_ours, outcome, plan, text};

use cancel::CancelToken;
use ground::Ground;
use job::Job;
use journal::Journal;
use live::Screen;
use load::Loads;
use plan::Asked;
use resume::Resumed;
use series::{Place, Series};

impl Measure for Pipe {
    const SUITE: &'static dyn Suite = &Signatures;

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        run(&self, common)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Measures the requested plan.
fn run(pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let (asked, resumed) = match &pipe.aim.resuming.resume {
        Some(name) => {
            let store = preflight::store(common)?;
            let row = store.run(name)?;
            let run = row.summary.id;
            let asked = resume::asked(&row)?;
            plan::refuse_files(pipe, &asked.jobs)?;
            let Some(resumed) = resume::take_up(&store, row, &asked, &pipe.aim.resuming)? else {
                return show::results(&[run], pipe, common);
            };
            (asked, Some(resumed))
        }
        None => (plan::asked(pipe)?, None),
    };
    // Before any thread is started, so that no signal ends this process before the network is down.
    let signals = Signals::take().context("waiting for signals")?;
    let interruption = CancelToken::default();
    let runs = thread::scope(|scope| {
        let work = scope.spawn(|| measure(pipe, common, &asked, resumed, &signals, &interruption));
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
    resumed: Option<Resumed>,
    signals: &Signals,
    interruption: &CancelToken,
) -> anyhow::Result<Vec<RunId>> {
    let mut store = preflight::store(common)?;
    let scratch = preflight::scratch_directory(pipe.aim.scratch.as_deref(), store.path())?;
    let screen = Screen::new(pipe.quiet);
    let mut resumed = resumed;
    let reaching = (&pipe.remote.reaching, resumed.as_ref().map(|resumed| resumed.lock.run()));
    let ground = interruption.instead_of(Ground::prepare(
        asked,
        reaching,
        (signals, interruption),
        &screen.steps,
    ))?;
    if let Some(resumed) = &mut resumed {
        resumed.warnings.extend(
            interruption.instead_of(ground.same_host(&resumed.row, pipe.aim.resuming.force))?,
        );
    }
    let place = Place { ground: &ground, interruption, screen: &screen };
    let mut runs = Vec::new();
    for job in &asked.jobs {
        let (journal, known) = if let Some(Resumed { lock, known, warnings, .. }) = resumed.take() {
            for warning in &warnings {
                screen.steps.clear();
                eprintln!("{warning}");
            }
            (Journal::reopen(&store, lock, known.iter().map(Vec::len).sum(), &warnings)?, known)
        } else {
            let label = pipe.label.as_deref();
            let journal =
                Journal::begin(&mut store, job, &network(job, asked), plan::profile(pipe), label)?;
            (journal, vec![Vec::new(); job.plans().len()])
        };
        let outcome = interruption.instead_of(perform(&place, job, known, &journal, &scratch));
        let state = worker_error::state(&outcome);
        let why = outcome.as_ref().err().map(|error| format!("{error:#}"));
        if let Some(company) = ground.company() {
            journal.note(Level::Warning, &company)?;
        }
        let run = journal.end(state, why.as_deref())?;
        runs.push(run);
        if let Err(error) = outcome {
            screen.steps.clear();
            advise(run, job, &error);
            return Err(error);
        }
    }
    screen.steps.clear();
    ground.lower()?;
    Ok(runs)
}

/// The path between the ends of this job.
fn network(job: &Job, asked: &Asked) -> String {
    let here = job.plans().iter().all(|plan| plan.place == btu_suite::pipe::Place::Here);
    if here { "local".to_owned() } else { asked.network.clone() }
}

/// Measures one run, point by point, into its journal.
fn perform(
    place: &Place<'_>,
    job: &Job,
    known: Vec<Vec<Point>>,
    journal: &Journal<'_>,
    scratch: &Path,
) -> anyhow::Result<()> {
    let plans = job.plans();
    place.ground.begin(journal.run(), plans, journal)?;
    let mut loads = Loads::new(place, scratch, job.seed());
    loads.prepare(plans)?;
    match job {
        Job::Hint(run) => hint::measure(place, run, journal, &mut loads)?,
        Job::One(plan) => {
            Series::new(place, plans, known).measure(journal, &mut loads, &mut |_, point| {
                journal.save(0, &facts(plan, point), point)
            })?;
        }
        Job::Set(set) => Series::new(place, plans, known).measure(
            journal,
            &mut loads,
            &mut |series, point| {
                let record = SetPoint { series, point: point.clone() };
                journal.save(0, &facts(&set.series[series], point), &record)
            },
        )?,
    }
    loads.note(journal)?;
    place.ground.end(journal)
}

fn advise(run: RunId, job: &Job, error: &anyhow::Error) {
    let is_stopped = matches!(error.downcast_ref(), Some(CoordinatorError::Interrupted(_)));
    let why = if is_stopped { "was stopped" } else { "ended early" };
    eprintln!("Run {run} {why}; what it finished is kept: btu show {run}");
    if !matches!(job, Job::Hint(_)) {
        eprintln!("Finish it with: btu pipe --resume {run}");
    }
}
