//! `btu pipe`: turns the command line into plans, runs them, and shows the results.

mod arguments;
mod compare;
mod ground;
mod live;
mod pin;
mod plan;
mod resume;
mod show;

use std::process::ExitCode;

use btu_contract::experiment::{Experiment, Named};
use btu_contract::job::Job;
use btu_contract::json;
use btu_contract::load::Load;
use btu_contract::pipe::{PipePlan, Place};
use btu_control::controller::{DISK_LOAD_FILE, Signatures};
use btu_load::FETCH_ROOM;
use btu_store::{Level, NewRun, RunId, RunLock, Store};
use btu_units::Bytes;

use crate::cli::Common;
use crate::results::{Measure, StoredStudy, Studied, shown};
use crate::start::preflight;
use crate::start::progress::{Bar, ProgressDisplay};
use crate::start::study::{Session, resuming};
use crate::stored::{self, wall_clock};

pub(crate) use arguments::Pipe;
use compare::compare;
use ground::{RunHosts, remote_of};
use resume::Resumed;

impl Measure for Pipe {
    const STUDY: &'static dyn StoredStudy = &Studied::<Job>::new(compare);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        run(&self, common)
    }
}

/// Measures the requested plans, one run after the other.
fn run(pipe: &Pipe, common: &Common) -> anyhow::Result<ExitCode> {
    let (asked, mut resumed) = match &pipe.aim.resuming.resume {
        Some(name) => {
            let store = stored::open(common)?;
            let row = store.run(name)?;
            let run = row.summary.id;
            let asked = resume::asked(&row)?;
            plan::refuse_files(pipe, &asked.jobs)?;
            let Some(resumed) = resume::take_up(&store, row, &asked, &pipe.aim.resuming)? else {
                return shown(&[run], pipe, common);
            };
            (asked, Some(resumed))
        }
        None => (plan::asked(pipe)?, None),
    };
    let runs = asked.jobs.iter().map(|job| {
        let network = if is_here(job) { "local" } else { &asked.network };
        measure(pipe, common, (job, network), resumed.take())
    });
    shown(&runs.collect::<anyhow::Result<Vec<_>>>()?, pipe, common)
}

/// Shows the results, of which each must have something that counts.
fn shown(all: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<ExitCode> {
    show::results(all, pipe, common)?;
    let store = stored::open(common)?;
    for run in all {
        shown::code(&store, *run)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a run, or the missing sizes of a resumed one.
fn measure(
    pipe: &Pipe,
    common: &Common,
    (job, network): (&Job, &str),
    resumed: Option<Resumed>,
) -> anyhow::Result<RunId> {
    let store = stored::open(common)?;
    let scratch = preflight::scratch_directory(pipe.aim.scratch.as_deref(), store.path())?;
    preflight::scratch_room(&scratch, scratch_needed(job))?;
    let command =
        (!matches!(job, Job::Hint(_))).then(|| resuming("btu pipe", &pipe.remote.launching));
    let (row, resumed) =
        resumed.map(|Resumed { lock, row, warning }| (row, (lock, warning))).unzip();
    let bar = Bar::new(pipe.quiet, ProgressDisplay::Never);
    let mut session = Session::new(command, bar, store, resumed)?;
    let RunHosts { ground, ends, warning } =
        ground::prepare((job, network), pipe, &mut session, row.as_ref())?;
    let warnings = warning.into_iter().collect();
    let lock = session.open(warnings, |store| begin(store, pipe, job, network))?;
    let meetings = session.directory().to_owned();
    let draw = live::drawn(pipe.quiet);
    let mut signatures = Signatures::new(job.clone(), ends, scratch, meetings, draw);
    session.carry_out(&lock, &mut signatures, ground)?;
    Ok(lock.run())
}

/// Begins a run in the store.
fn begin(store: &mut Store, pipe: &Pipe, job: &Job, network: &str) -> anyhow::Result<RunLock> {
    let now = wall_clock();
    let lock = store.create_run(&NewRun {
        study: Job::STUDY,
        profile: plan::profile(pipe),
        network: &job.called(network),
        label: pipe.label.as_deref(),
        tags: &[],
        created: &now,
        seed: job.seed(),
        btu_version: env!("CARGO_PKG_VERSION"),
        plan: &json::to_value(job)?,
        plan_hash: &job.hash(),
        planned_cells: job.planned() as u32,
    })?;
    if let Some(remote) = remote_of(job) {
        let text = format!("the far end is on {remote}");
        store.save_event(&lock, &now, Level::Info, &text)?;
    }
    Ok(lock)
}

/// Whether both ends of all its signatures are on this machine, outside of stations.
fn is_here(job: &Job) -> bool {
    job.plans().iter().all(|plan| plan.place == Place::Here)
}

/// The space of the files of its loads.
fn scratch_needed(job: &Job) -> Bytes {
    let needs = |load| move |plan: &PipePlan| plan.load == load;
    let of = |load, room| if job.plans().iter().any(needs(load)) { room } else { Bytes::ZERO };
    of(Load::Disk, DISK_LOAD_FILE * 2) + of(Load::Transfer, FETCH_ROOM)
}
