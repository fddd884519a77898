//! `btu rate`: from the command line to a checked plan, the run, and its result.

use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_control::coordinator::{self, CoordinatorError, Ground, Observer, Phase, Settings};
use btu_store::{Level, NewRun, RunLock, Store};
use btu_suite::network::Network;
use btu_suite::plan::{Plan, Profile};

use crate::cli::{Common, Rate};
use crate::exit::Refusal;
use crate::hosts::{self, Gathered};
use crate::progress::Bar;
use crate::{preflight, runs};

pub(crate) use btu_suite::plan::SUITE;

/// Runs the benchmark.
pub(crate) fn run(rate: &Rate, common: &Common) -> anyhow::Result<()> {
    preflight::sizes(rate)?;
    preflight::ftp_server(rate)?;
    let network = network(rate)?;
    let mut store = preflight::store(common)?;
    let resumed = rate.resume.as_deref().map(|run| stored_plan(&store, run)).transpose()?;
    let mut plan = match &resumed {
        Some((_, plan)) => plan.clone(),
        None => plan(rate, network)?,
    };
    let executable = std::env::current_exe().context("finding this program's own file")?;
    let mut bar = Bar::new(rate.quiet);
    let Prepared { ground, scratch, warnings } =
        prepare(rate, &mut plan, &executable, store.path(), resumed.as_ref().map(|(run, _)| run.as_str()), &mut bar)?;
    let lock = match resumed {
        Some((run, _)) => resume(&store, &run)?,
        None => begin(&mut store, rate, &plan)?,
    };
    for warning in &warnings {
        bar.notice(warning);
        store.save_event(&lock, &wall_clock(), Level::Warning, warning)?;
    }
    let settings = Settings {
        plan,
        scratch,
        runtime: preflight::runtime_directory()?,
        executable,
        ftp: rate.ftp_server.clone(),
        wall_clock,
    };
    measure(&store, &lock, &settings, ground, &mut bar)?;
    runs::print_result(&store, lock.run(), common)
}

/// The network that the options name: real hosts, or one that is raised.
fn network(rate: &Rate) -> anyhow::Result<Network> {
    match hosts::machines(&rate.real)? {
        Some(machines) => Ok(Network::Machines(machines)),
        None => Ok(preflight::network(rate)?),
    }
}

/// What a run can begin with.
struct Prepared {
    ground: Ground,
    scratch: PathBuf,
    /// What has to be said of the run before it begins.
    warnings: Vec<String>,
}

/// Sees that this machine, or the hosts, can do it; the plan loses what the hosts cannot.
fn prepare(
    rate: &Rate,
    plan: &mut Plan,
    executable: &Path,
    database: &Path,
    resumed: Option<&str>,
    bar: &mut Bar,
) -> anyhow::Result<Prepared> {
    let Network::Machines(machines) = plan.network.clone() else {
        let scratch = preflight::scratch(rate, plan, database)?;
        preflight::namespaces(executable)?;
        return Ok(Prepared { ground: Ground::Testbed, scratch, warnings: Vec::new() });
    };
    if rate.ftp_server.is_some() {
        return Err(Refusal::Usage(
            "--ftp-server is for runs on this machine; real hosts fetch from the active one".to_owned(),
        )
        .into());
    }
    bar.phase(Phase::Reserve);
    let gathered = hosts::gather(&machines, plan, &rate.real, resumed);
    bar.clear();
    let Gathered { party, warnings } = gathered?;
    // The hosts' own policies say where their scratch directories are.
    Ok(Prepared { ground: Ground::Hosts(Box::new(party)), scratch: PathBuf::from("."), warnings })
}

fn plan(rate: &Rate, network: Network) -> anyhow::Result<Plan> {
    let profile = Profile::named(rate.profile.name()).context("this profile has no numbers")?;
    let seed = match rate.seed {
        Some(seed) => seed,
        // Short enough to be typed.
        None => u64::from(preflight::random()?),
    };
    let mut plan = Plan::whole(seed, profile, network);
    plan.volume = rate.volume;
    plan.window = rate.window;
    plan.ftp_server = rate.ftp_server.as_ref().map(|server| format!("{}/{}", server.server, server.file));
    keep(&mut plan.components, &rate.component);
    keep(&mut plan.messages, &rate.message);
    keep(&mut plan.loads, &rate.load);
    Ok(plan)
}

/// Keeps what was named, in the suite's order; everything when nothing was.
fn keep<T: PartialEq>(all: &mut Vec<T>, named: &[T]) {
    if !named.is_empty() {
        all.retain(|entry| named.contains(entry));
    }
}

fn stored_plan(store: &Store, run: &str) -> anyhow::Result<(String, Plan)> {
    let row = store.run(run)?;
    let plan: Plan =
        serde_json::from_value(row.plan).with_context(|| format!("reading the plan of run {}", row.summary.id))?;
    if plan.version != Plan::VERSION {
        let problem = format!(
            "run {} was planned by another btu (plan version {}, this one has {}): finish it with that one",
            row.summary.id,
            plan.version,
            Plan::VERSION
        );
        return Err(Refusal::Usage(problem).into());
    }
    Ok((row.summary.id.to_string(), plan))
}

fn begin(store: &mut Store, rate: &Rate, plan: &Plan) -> anyhow::Result<RunLock> {
    let document = serde_json::to_value(plan)?;
    let rows = plan.rows().len() as u32;
    Ok(store.create_run(&NewRun {
        suite: SUITE,
        profile: &plan.profile.name,
        network: &plan.network.to_string(),
        label: rate.label.as_deref(),
        tags: &rate.tag,
        created: &wall_clock(),
        seed: plan.seed,
        btu_version: env!("CARGO_PKG_VERSION"),
        plan: &document,
        plan_hash: &plan.hash(),
        planned_cells: rows * plan.profile.most_blocks,
    })?)
}

fn resume(store: &Store, run: &str) -> anyhow::Result<RunLock> {
    let lock = store.lock(store.find(run)?)?;
    store.reopen(&lock)?;
    Ok(lock)
}

fn measure(store: &Store, lock: &RunLock, settings: &Settings, ground: Ground, bar: &mut Bar) -> anyhow::Result<()> {
    let result = coordinator::run(store, lock, settings, ground, bar);
    bar.clear();
    if let Err(error) = &result {
        advise(error, lock, store.path());
    }
    Ok(result?)
}

/// What can be done about a run that ended early.
fn advise(error: &CoordinatorError, lock: &RunLock, database: &Path) {
    let run = lock.run();
    eprintln!("Run {run} ended early; its cells are kept in {}.", database.display());
    let again = if matches!(error, CoordinatorError::Interrupted(_)) { "Finish it" } else { "Then finish it" };
    eprintln!("{again} with: btu rate --resume {run}");
}

/// Wall time for the record; nothing is measured with it.
pub(crate) fn wall_clock() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
