//! A stored run with the data that `show`, `report` and `compare` need.

mod database;
pub(crate) mod provenance;
pub(crate) mod resume;
pub(crate) mod single;

use std::collections::BTreeMap;

use btu_contract::activity::Receiving;
use btu_contract::experiment::{HostClocks, LoadBefore, Named, RunFacts};
use btu_contract::job::Job;
use btu_contract::json;
use btu_contract::network::Network;
use btu_contract::pipe::{PipePlan, Place, Remote};
use btu_contract::record::HostClock;
use btu_control::environment::{self, Environment, differences, settings};
use btu_report::{Origin, RunHead, StoredRun};
use btu_store::{Level, Moment, RunId, RunRow, RunSummary, State, Store, StoreError};
use btu_studies::rate::{Context, Obstacle, Plan, Rating, Reading, rating_of};
use btu_studies::speed::SpeedPlan;
use btu_units::{Bytes, Span};

pub(crate) use database::{
    DATABASE, directory, open, open_to_read, tagged, wall_clock, wall_clock_before,
};

fn changes(row: &RunRow) -> Vec<String> {
    match (before(row), after(row)) {
        (Some(before), Some(after)) => differences(&before, &after),
        _ => Vec::new(),
    }
}

/// The environment after the last session, of the machine of [`before`].
pub(crate) fn after(row: &RunRow) -> Option<Environment> {
    // For real hosts the first one: in a rating the one under test.
    let first = row.environments.iter().find(|(moment, _)| *moment == Moment::Before);
    let station = first.map(|(_, found)| &found["station"]);
    let is_first = |environment: &serde_json::Value| station == Some(&environment["station"]);
    // The far end of a pipe has a name; this machine has none.
    let is_here = |environment: &serde_json::Value| {
        environment["name"].is_null() || !environment["station"].is_null()
    };
    let mut after = row.environments.iter();
    let after = after
        .rfind(|(moment, found)| *moment == Moment::After && is_first(found) && is_here(found));
    after.and_then(|(_, after)| json::from_value(after).ok())
}

/// The origin of a run.
fn origin(row: &RunRow) -> Origin {
    let run = &row.summary;
    Origin {
        uuid: run.uuid.clone(),
        label: run.label.clone(),
        version: run.btu_version.clone(),
        plan_hash: row.plan_hash.clone(),
    }
}

/// The part of a report that every stored run has in addition to its result.
pub(crate) struct Surroundings {
    head: RunHead,
    origin: Origin,
    settings: BTreeMap<String, String>,
    changes: Vec<String>,
}

impl Surroundings {
    /// The data of this run with a readable plan.
    pub(crate) fn of(store: &Store, row: &RunRow) -> Self {
        let before = before(row);
        let settings = before.as_ref().map(settings).unwrap_or_default();
        let load = before.and_then(|before| load_before(&before, row));
        let busy = load.map(|load| load.warning());
        let head = RunHead { busy, ..head(store, row) };
        Self { head, origin: origin(row), settings, changes: changes(row) }
    }

    /// The form for reports.
    pub(crate) fn stored(&self) -> StoredRun<'_> {
        let Self { head, origin, settings, changes } = self;
        StoredRun { run: head, origin, settings, changes, earlier: None, studies: &[] }
    }
}

/// The parts of a run for its rating: the raw samples of its cells are not read.
#[derive(Debug)]
pub(crate) struct Rated {
    /// Its stored data, except its cells.
    pub(crate) row: RunRow,
    /// The plan of the run.
    pub(crate) plan: Plan,
    /// The speeds of its valid cells, without request and response.
    pub(crate) readings: Vec<Reading>,
    /// The verdict.
    pub(crate) rating: Option<Rating>,
    /// Why it may not be called a BTU rating.
    pub(crate) obstacles: Vec<Obstacle>,
}

impl Rated {
    /// Reads `run`, which is one of the BTU benchmark.
    pub(crate) fn read(store: &Store, run: RunId) -> anyhow::Result<Self> {
        let row = store.run(&run.to_string())?;
        let plan: Plan = resume::plan(&row)?;
        let readings = store.speeds(run, Reading::of_columns)?;
        let context = Context { plan: plan.clone(), run: run_facts(&row) };
        let (rating, obstacles) = rating_of(&readings, &context);
        Ok(Self { row, plan, readings, rating, obstacles })
    }
}

/// One run among others, or why it cannot be read: the others are shown in any case.
pub(crate) fn among_others<T>(read: anyhow::Result<T>) -> anyhow::Result<Result<T, String>> {
    match read {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::DamagedRun { .. })) => {
            Ok(Err(error.to_string()))
        }
        read => read.map(Ok),
    }
}

/// A run of any study in words, with the warnings that were stored during it.
pub(crate) fn head(store: &Store, row: &RunRow) -> RunHead {
    let run = &row.summary;
    let noted = row
        .events
        .iter()
        .filter(|event| event.level != Level::Info && !provenance::is_change(&event.text));
    let noted = noted.map(|event| event.text.clone());
    RunHead {
        id: run.id.to_string(),
        started: run.created.clone(),
        network: run.network.clone(),
        profile: run.profile.clone(),
        seed: row.seed,
        machine: before(row).as_ref().map_or_else(|| "unknown machine".to_owned(), machine),
        hosts: hosts(row),
        conditions: congestion_control(row)
            .into_iter()
            .chain(virtual_time(row))
            .chain(ends_held(row))
            .chain(divided(row))
            .chain(receiving(row))
            .chain(job_of_hosts(row))
            .collect(),
        database: store.path().display().to_string(),
        duration: duration(run).unwrap_or_default(),
        own_cost: row.calibration.as_ref().and_then(own_cost),
        notes: provenance::changes(row).into_iter().chain(noted).collect(),
        busy: None,
    }
}

/// The measuring time of a run, where it is known.
pub(crate) fn duration(run: &RunSummary) -> Option<Span> {
    run.spent.filter(|spent| *spent > Span::ZERO)
}

/// What a verdict knows of a run in addition to its plan and its cells.
pub(crate) fn run_facts(row: &RunRow) -> RunFacts {
    let before = before(row);
    RunFacts {
        complete: row.summary.state == State::Complete,
        resumed_elsewhere: !provenance::changes(row).is_empty(),
        cpus: before.as_ref().map_or(1, |before| before.processor.online),
        load_before: before.and_then(|before| load_before(&before, row)),
        clocks: clocks(row),
    }
}

/// Other programs that used the machine before or after the run.
fn load_before(before: &Environment, row: &RunRow) -> Option<LoadBefore> {
    let busy = [before.busy, after(row).and_then(|after| after.busy)];
    LoadBefore::of(before.load.as_ref()?.one_minute, before.processor.online, busy)
}

/// The real hosts of a run, a line for each.
fn hosts(row: &RunRow) -> Vec<String> {
    if let Some(remote) = far_host(row) {
        return vec![format!("the far end is on {remote}")];
    }
    match json::from_value::<Network>(&row.plan["network"]) {
        Ok(Network::Machines(machines)) => machines.hosts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// The use of processors in a rating with stations on one machine.
fn divided(row: &RunRow) -> Option<String> {
    if row.summary.study != btu_studies::rate::STUDY {
        return None;
    }
    let plan: Plan = json::from_value(&row.plan).ok()?;
    let sleep = sleep(plan.kept_awake);
    match (&plan.network, &plan.processors) {
        (Network::Machines(_), _) => None,
        (_, Some(division)) => Some(format!(
            "processors: {} under test, {} for the rest, {}; {sleep}",
            division.test(),
            division.rest(),
            plan.protocol_work
        )),
        (_, None) => {
            Some(format!("processors: shared by the machine under test and the rest; {sleep}"))
        }
    }
}

/// The other machine of a pipe.
fn far_host(row: &RunRow) -> Option<Remote> {
    match pipes(row).into_iter().next()?.place {
        Place::Machines(remote) => Some(remote),
        _ => None,
    }
}

/// The processors of a pipe's ends, and whether processors slept.
fn ends_held(row: &RunRow) -> Option<String> {
    let pipe = pipes(row).into_iter().next()?;
    let held = pipe.processors.map_or_else(
        || "the ends are where the scheduler puts them".to_owned(),
        |held| held.to_string(),
    );
    Some(format!("{held}; processors are {}", sleep(pipe.kept_awake)))
}

/// The congestion control and the queues of each real host, as they were before the run.
fn transport_of_hosts(row: &RunRow) -> Option<String> {
    each_host(row, "congestion control, queueing", |found| Some(transport(&found.network)))
}

/// What the scheduler gave each real host, or this machine.
fn job_of_hosts(row: &RunRow) -> Option<String> {
    each_host(row, "job", |found| {
        let words = found.job.iter().map(|(name, value)| format!("{name}={value}"));
        let words = words.collect::<Vec<_>>().join(" ");
        (!words.is_empty()).then_some(words)
    })
}

/// A line with what is said of each real host, as it was before the run; once of hosts that are
/// alike, and without names if all are.
fn each_host(
    row: &RunRow,
    title: &str,
    say: impl Fn(&Environment) -> Option<String>,
) -> Option<String> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (moment, environment) in &row.environments {
        let Some(name) = environment["name"].as_str().filter(|_| *moment == Moment::Before) else {
            continue;
        };
        let Ok(found) = json::from_value::<Environment>(environment) else { continue };
        if hosts.contains(&name) {
            continue;
        }
        hosts.push(name);
        let Some(what) = say(&found) else { continue };
        match said.iter_mut().find(|(known, _)| *known == what) {
            Some((_, alike)) => alike.push(name),
            None => said.push((what, vec![name])),
        }
    }
    let each = said.iter().map(|(what, alike)| {
        if alike.len() == hosts.len() {
            what.clone()
        } else {
            format!("{} {what}", alike.join(", "))
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{title}: {}", each.join("; ")))
}

/// `bbr, eth0 fq_codel`; loopback and interfaces without a queue have no discipline to speak of.
fn transport(network: &environment::Network) -> String {
    let control = network.settings.get("net.ipv4.tcp_congestion_control");
    let control = control.map_or("unknown", String::as_str);
    let queues = network.interfaces.iter().filter_map(|(name, interface)| {
        let queueing = interface.queueing.as_deref().filter(|queueing| *queueing != "noqueue")?;
        Some(format!("{name} {queueing}"))
    });
    std::iter::once(control.to_owned())
        .chain(queues.take(MOST_QUEUES))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Interfaces whose queues are named for each host.
const MOST_QUEUES: usize = 3;

/// The congestion control of the stations' TCP: the requested one, else the machine's own; of real
/// hosts that of each.
fn congestion_control(row: &RunRow) -> Option<String> {
    let is_elsewhere = far_host(row).is_some() || row.plan["network"]["kind"] == "machines";
    if is_elsewhere {
        return transport_of_hosts(row);
    }
    // A factor of `btu run`: its rows name it.
    let of = |network: &serde_json::Value| network["congestion_control"].clone();
    let further = row.plan["networks"].as_array().into_iter().flatten();
    if further.into_iter().any(|other| of(other) != of(&row.plan["network"])) {
        return None;
    }
    let in_plan = ["/congestion_control", "/network/congestion_control"];
    let asked = in_plan.iter().find_map(|path| row.plan.pointer(path)?.as_str().map(str::to_owned));
    let of_pipe = || Some(pipes(row).first()?.congestion_control.as_ref()?.to_string());
    let asked = asked.or_else(of_pipe);
    let own = || before(row)?.network.settings.get("net.ipv4.tcp_congestion_control").cloned();
    let has_none = [btu_contract::roll::STUDY, btu_contract::foreign::STUDY];
    let used = asked.or_else(own).filter(|_| !has_none.contains(&row.summary.study.as_str()))?;
    let usual =
        own().filter(|usual| *usual != used).map(|usual| format!(" (this machine's own: {usual})"));
    Some(format!("congestion control: {used}{}", usual.unwrap_or_default()))
}

/// The note that receivers of a rating read in batches, unlike most programs.
fn receiving(row: &RunRow) -> Option<String> {
    if ![btu_studies::rate::STUDY, SpeedPlan::STUDY].contains(&row.summary.study.as_str()) {
        return None;
    }
    let receiving: Receiving = json::from_value(&row.plan["receiving"]).ok()?;
    let batches =
        "receivers read in batches, not by one call that waits for each message (--receive plain)";
    receiving.is_batched().then(|| batches.to_owned())
}

/// Whether processors were kept awake.
fn sleep(are_kept_awake: bool) -> &'static str {
    if are_kept_awake { "kept awake" } else { "free to sleep" }
}

/// The pipes of a run of `btu pipe`.
fn pipes(row: &RunRow) -> Vec<PipePlan> {
    let job = (row.summary.study == Job::STUDY).then(|| resume::plan::<Job>(row).ok()).flatten();
    job.map(|job| job.plans().to_vec()).unwrap_or_default()
}

/// The clock offsets of real hosts in the last session.
fn clocks(row: &RunRow) -> Vec<HostClocks> {
    let mut found: Vec<HostClocks> = Vec::new();
    for (moment, environment) in &row.environments {
        let Some(name) = environment["name"].as_str() else { continue };
        let clock: Option<HostClock> = json::from_value(&environment["clock"]).ok();
        if !found.iter().any(|clocks| clocks.name == name) {
            found.push(HostClocks { name: name.to_owned(), before: None, after: None });
        }
        let Some(clocks) = found.iter_mut().find(|clocks| clocks.name == name) else { continue };
        match moment {
            Moment::Before => (clocks.before, clocks.after) = (clock, None),
            Moment::After => clocks.after = clock,
        }
    }
    found
}

/// The machine as it was before the run; `None` if the run ended before it was recorded.
pub(crate) fn before(row: &RunRow) -> Option<Environment> {
    let (_, before) = row.environments.iter().find(|(moment, _)| *moment == Moment::Before)?;
    json::from_value(before).ok()
}

/// The word for a run of virtual time.
fn virtual_time(row: &RunRow) -> Option<String> {
    before(row).filter(|before| before.kernel.has_virtual_time()).map(|_| "virtual time".to_owned())
}

/// The time of an empty cell in the run's calibration.
fn own_cost(calibration: &serde_json::Value) -> Option<Span> {
    calibration["amounts"]["null_cell_ns"].as_u64().map(Span::from_nanoseconds)
}

/// Processor, kernel and memory in one line.
fn machine(environment: &Environment) -> String {
    let processor = &environment.processor;
    let model = processor.model.as_deref().unwrap_or("unknown processor");
    let kernel = environment.kernel.release.as_deref().unwrap_or("unknown");
    let memory = environment
        .memory
        .total_bytes
        .map_or_else(String::new, |total| format!(", {}", Bytes::new(total)));
    let virtual_machine = if processor.virtual_machine { ", virtual machine" } else { "" };
    format!("{} x {model}, Linux {kernel}{memory}{virtual_machine}", processor.online)
}
