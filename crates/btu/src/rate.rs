//! `btu rate`: from the command line to a checked plan, the run, and its result.

mod network;

use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_control::coordinator::{self, CoordinatorError, Ground, Observer, Phase, Settings};
use btu_control::environment;
use btu_store::{Level, NewRun, RunLock, RunRow, Store};
use btu_suite::network::Network;
use btu_suite::plan::{Plan, Profile};

use crate::cli::{Common, Rate};
use crate::exit::Refusal;
use crate::hosts::{self, Gathered};
use crate::progress::Bar;
use crate::resume;
use crate::{preflight, runs};

pub(crate) use btu_suite::plan::SUITE;

/// Runs the benchmark.
pub(crate) fn run(rate: &Rate, common: &Common) -> anyhow::Result<()> {
    preflight::sizes(rate)?;
    preflight::ftp_server(rate)?;
    match &rate.resuming.resume {
        None => {
            let plan = plan(rate, network::named(rate)?)?;
            carry_out(rate, preflight::store(common)?, plan, None, common)
        }
        Some(name) => {
            let store = preflight::store(common)?;
            let row = store.run(name)?;
            let plan = stored_plan(&row, rate)?;
            let Some(lock) = resume::lock(&store, &row)? else {
                return runs::print_result(&store, row.summary.id, common);
            };
            if let Network::Machines(machines) = &plan.network {
                let hosts: Vec<String> = machines.hosts.iter().map(ToString::to_string).collect();
                resume::may_call(&row, &hosts, rate.resuming.call_hosts)?;
            }
            let warning = same_ground(&row, &plan, rate.resuming.force)?;
            carry_out(rate, store, plan, Some((lock, warning)), common)
        }
    }
}

/// Measures what the plan asks for, or what a run lacks that is resumed, with what has to be said of that, and prints the
/// result.
fn carry_out(
    rate: &Rate,
    mut store: Store,
    mut plan: Plan,
    resumed: Option<(RunLock, Option<String>)>,
    common: &Common,
) -> anyhow::Result<()> {
    let executable = std::env::current_exe().context("finding this program's own file")?;
    let mut bar = Bar::new(rate.quiet);
    let name = resumed.as_ref().map(|(lock, _)| lock.run().to_string());
    let Prepared { ground, scratch, mut warnings } =
        prepare(rate, &mut plan, &executable, store.path(), name.as_deref(), &mut bar)?;
    let lock = match resumed {
        None => begin(&mut store, rate, &plan)?,
        Some((lock, warning)) => {
            store.reopen(&lock)?;
            warnings.extend(warning);
            lock
        }
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
        let topology = network::topology(&plan.network)?
            .context("the network file has no longer the stations that this run is for")?;
        let warnings = if resumed.is_none() { network::fit(plan, &topology)? } else { Vec::new() };
        let scratch = preflight::scratch(rate, plan, database)?;
        preflight::namespaces(executable)?;
        return Ok(Prepared { ground: Ground::Testbed(Box::new(topology)), scratch, warnings });
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
    plan.ftp_server = ftp_server(rate);
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

/// The plan of a run that is to be resumed, which is one of ours and as it was.
fn stored_plan(row: &RunRow, rate: &Rate) -> anyhow::Result<Plan> {
    resume::made_by(row, "btu rate")?;
    let plan: Plan = resume::plan(row)?;
    resume::is_its_plan(row, (plan.version, Plan::VERSION), &plan.hash())?;
    let given = ftp_server(rate);
    if plan.ftp_server != given {
        let name = |server: &Option<String>| server.clone().unwrap_or_else(|| "the embedded server".to_owned());
        let (run, began, now) = (row.summary.id, name(&plan.ftp_server), name(&given));
        let problem = format!("run {run} fetches files from {began}, and not from {now}: see --ftp-server");
        return Err(Refusal::Usage(problem).into());
    }
    Ok(plan)
}

/// The external FTP server as the plan has it, without its password.
fn ftp_server(rate: &Rate) -> Option<String> {
    rate.ftp_server.as_ref().map(|server| format!("{}/{}", server.server, server.file))
}

/// Whether the rest can be measured on what the run was begun on; the warning that it keeps where it was forced.
fn same_ground(row: &RunRow, plan: &Plan, force: bool) -> Result<Option<String>, Refusal> {
    match &plan.network {
        // What is under test is elsewhere.
        Network::Machines(_) => resume::same_version(row, force),
        _ => resume::same_machine(row, None, &environment::collect(), force),
    }
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
