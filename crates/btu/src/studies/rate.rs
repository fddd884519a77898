//! `btu rate`: turns the command line into a checked plan, runs it, and shows the result.

mod arguments;
mod challenge;
mod network;
mod room;

use std::process::ExitCode;

use anyhow::Context;
use btu_contract::experiment::{Experiment, Named};
use btu_contract::json;
use btu_contract::load::Load;
use btu_contract::network::{HostRole, Network, Topology};
use btu_contract::processors::{Division, ProcessorList};
use btu_contract::protocol_work::ProtocolWork;
use btu_control::awake::Wakefulness;
use btu_control::controller::{Ground, Observer, Phase, Processors, Testbed, secret};
use btu_control::environment;
use btu_store::{NewRun, RunLock, RunRow, Store};
use btu_studies::rate::{Plan, Profile, RatingStudy, STUDY, Verifies, predicted};

use arguments::ProcessorsOption;

use crate::cli::Common;
use crate::exit::Refusal;
use crate::results::compare::{of_machine, of_ratings};
use crate::results::shown::{self, Form, Shown};
use crate::results::{self, JudgedRun, Measure, StoredStudy, Studied};
use crate::start::hosts::{self, Gathered};
use crate::start::preflight;
use crate::start::progress::{Bar, ProgressDisplay};
use crate::start::study::{Prepared, Resumed, Session, resuming, seed};
use crate::stored::{self, resume, wall_clock};

pub(crate) use arguments::Rate;

impl Measure for Rate {
    const STUDY: &'static dyn StoredStudy =
        &Studied::<Plan>::new(of_ratings).with_earlier(of_machine);

    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        run(&self, common)
    }
}

/// Runs the benchmark of `btu rate`.
fn run(rate: &Rate, common: &Common) -> anyhow::Result<ExitCode> {
    room::sizes(rate)?;
    match &rate.resuming.resume {
        None if rate.verify.is_some() => {
            let store = stored::open(common)?;
            let plan = verifying(rate, &store)?;
            carry_out(rate, store, plan, None, common)
        }
        None => {
            let plan = plan(rate, network::named(rate)?)?;
            rate.challenge.iter().try_for_each(|board| challenge::check(board, &plan))?;
            carry_out(rate, stored::open(common)?, plan, None, common)
        }
        Some(name) => {
            let store = stored::open(common)?;
            let row = store.run(name)?;
            let plan = stored_plan(&row)?;
            let Some(lock) = resume::lock(&store, &row)? else {
                let run = row.summary.id;
                shown::print_result(&store, run, Shown::by(rate.tables), Form::of(common))?;
                return shown::code(&store, run);
            };
            let machines = match &plan.network {
                Network::Machines(machines) => Some(machines),
                Network::Veth | Network::Path(_) | Network::Drawing(_) => None,
            };
            let warning = resume::same_ground(&row, machines, &rate.resuming)?;
            carry_out(rate, store, plan, Some((lock, warning)), common)
        }
    }
}

/// Measures the plan, or the missing cells of a resumed run, with its warnings, and prints the
/// result.
fn carry_out(
    rate: &Rate,
    store: Store,
    mut plan: Plan,
    resumed: Option<Resumed>,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(
        Some(resuming("btu rate", &rate.real.launching)),
        Bar::new(rate.quiet, ProgressDisplay::Never),
        store,
        resumed,
    )?;
    let Prepared { ground, scratch, warnings } = prepare(rate, &mut plan, &mut session)?;
    if let Some(board) = &rate.challenge {
        // Nothing is in the way any more: a number that does not come back is shown.
        plan.seed = challenge::seed(board)?;
    }
    let lock = session.open(warnings, |store| begin(store, rate, &plan))?;
    let mut rating = RatingStudy::new(plan, scratch, secret::token()?, secret::password()?);
    let store = session.measure(&lock, &mut rating, ground, Shown::by(rate.tables), common)?;
    shown::code(&store, lock.run())
}

/// Checks that this machine, or the hosts, can measure it; removes the rows from the plan that the
/// hosts cannot measure.
fn prepare(rate: &Rate, plan: &mut Plan, session: &mut Session) -> anyhow::Result<Prepared> {
    let resumed = session.resumed();
    let Network::Machines(machines) = plan.network.clone() else {
        let topology = network::topology(&plan.network)?
            .context("the network file has no longer the stations that this run is for")?;
        let warnings = if resumed.is_none() { network::fit(plan, &topology)? } else { Vec::new() };
        let scratch = room::scratch(rate, plan, session.store.path())?;
        let grants = preflight::namespaces(&session.settings.executable, &receivers(plan))?;
        check_work(plan, grants.own_protocol_work)?;
        return Ok(Prepared {
            ground: Ground::Testbed(Box::new(testbed(plan, topology))),
            scratch,
            warnings,
        });
    };
    session.bar.phase(Phase::Reserve);
    let gathered = hosts::gather(&machines, plan, &rate.real, resumed.as_deref());
    session.bar.clear();
    let Gathered { party, warnings } = gathered?;
    Ok(Prepared::on_hosts(party, warnings))
}

/// The network to raise: an agent in every station with a role, and an input before every peer.
fn testbed(plan: &Plan, topology: Topology) -> Testbed {
    let test = topology
        .roles
        .iter()
        .find(|(role, _)| *role == HostRole::Test)
        .map(|&(_, station)| station);
    let processors = Processors {
        divided: test.zip(plan.processors.clone()),
        protocol_work: plan.protocol_work,
        awake: plan.kept_awake,
        ..Processors::default()
    };
    Testbed {
        name: "rate",
        hosts: topology.roles.iter().map(|&(role, station)| (role.into(), station)).collect(),
        inputs: topology.black_boxes().collect(),
        drawing: topology.drawing,
        source: plan.network.to_string(),
        processors,
        congestion_control: plan.congestion_control.clone(),
        ..Testbed::default()
    }
}

/// The plan of a run again, for its activities that wait under the CPU load, with a load that gives way.
fn verifying(rate: &Rate, store: &Store) -> anyhow::Result<Plan> {
    let name = rate.verify.as_deref().unwrap_or_default();
    let row = store.run(name)?;
    let run = row.summary.id;
    results::resumed_by(&row, Plan::COMMAND)?;
    let JudgedRun { plan, verdict, .. } = JudgedRun::<Plan>::read(store, &row)?;
    let predicted = predicted(&verdict.added_time);
    if predicted.is_empty() || plan.verifies.is_some() {
        let problem = format!(
            "run {run} has no activity that waits for a processor under the CPU load beyond chance: there is nothing to take away"
        );
        return Err(Refusal::Usage(problem).into());
    }
    let number = run.to_string().trim_start_matches('r').parse()?;
    Ok(Plan {
        seed: seed(rate.seed)?,
        components: predicted.iter().map(|one| one.component).collect(),
        loads: vec![Load::Idle, Load::Cpu],
        verifies: Some(Verifies { run: number, predicted }),
        ..plan
    })
}

fn plan(rate: &Rate, network: Network) -> anyhow::Result<Plan> {
    let mut profile = Profile::named(rate.profile.name()).context("this profile has no numbers")?;
    (profile.most_blocks, profile.budget) = rate.limit.over((profile.most_blocks, profile.budget));
    let mut plan = Plan::whole(seed(rate.seed)?, profile, network);
    if matches!(plan.network, Network::Machines(_)) {
        rate.congestion.refused()?;
    }
    if !matches!(plan.network, Network::Machines(_)) {
        plan.processors = processors(rate.processors.as_ref())?;
        plan.protocol_work = protocol_work(rate, plan.processors.as_ref())?;
        plan.kept_awake = !rate.idle_states && Wakefulness::is_possible();
        plan.congestion_control = rate.congestion.checked()?;
    } else if rate.processors.is_some() || rate.idle_states || rate.protocol_work.is_receiver() {
        let problem = "--processors, --protocol-work and --idle-states are for this machine only; other hosts are measured as \
                       they are set up";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    plan.receiving = rate.reading.receive;
    plan.volume = rate.volume;
    plan.window = rate.window;
    keep(&mut plan.components, &rate.component);
    keep(&mut plan.messages, &rate.message);
    keep(&mut plan.loads, &rate.load);
    Ok(plan)
}

/// The division of this machine's processors: by the option, else by default, if there are two of
/// them.
fn processors(asked: Option<&ProcessorsOption>) -> Result<Option<Division>, Refusal> {
    let cores = environment::cores();
    match asked {
        None => Ok(Division::usual(&cores)),
        Some(ProcessorsOption::Shared) => Ok(None),
        Some(ProcessorsOption::Divided(division)) => {
            let all = ProcessorList::of(cores.iter().flat_map(|core| core.numbers().to_vec()));
            let checked = all.map_or(Ok(()), |all| division.check(&all));
            checked.map_err(|error| Refusal::Usage(format!("--processors: {error}")))?;
            Ok(Some(division.clone()))
        }
    }
}

/// Where the protocol work of received frames is to be done: at the receiver if that was asked for
/// and the processors are divided.
fn protocol_work(rate: &Rate, divided: Option<&Division>) -> Result<ProtocolWork, Refusal> {
    let work = rate.protocol_work;
    if work.is_receiver() && divided.is_none() {
        let problem = "--protocol-work receiver needs processors that are divided: on one processor, or with --processors \
                       shared, leave it out";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    Ok(work)
}

/// The sets of processors that are to do protocol work.
fn receivers(plan: &Plan) -> Vec<Vec<u32>> {
    let division = plan.processors.as_ref().filter(|_| plan.protocol_work.is_receiver());
    let sides = division
        .map(|division| [division.test(), division.rest()].map(|side| side.numbers().to_vec()));
    sides.into_iter().flatten().collect()
}

/// Refuses protocol work at the receiver if the kernel cannot do it there.
fn check_work(plan: &Plan, is_possible: bool) -> Result<(), Refusal> {
    if plan.protocol_work.is_sender() || is_possible {
        return Ok(());
    }
    let problem = "this kernel cannot do the protocol work of received frames on the receiver's processors: it takes no \
                   net.core.rps_default_mask in a network namespace (Linux 6.3 does); measure with --protocol-work sender";
    Err(Refusal::Machine(problem.to_owned()))
}

/// Keeps the named entries, in the rating's order; all if none was named.
fn keep<T: PartialEq>(all: &mut Vec<T>, named: &[T]) {
    if !named.is_empty() {
        all.retain(|entry| named.contains(entry));
    }
}

/// The plan of a run to resume, of this study and unchanged.
fn stored_plan(row: &RunRow) -> anyhow::Result<Plan> {
    results::resumed_by(row, Plan::COMMAND)?;
    let plan: Plan = resume::plan(row)?;
    resume::is_its_plan(row, (plan.version, Plan::VERSION), &plan.hash())?;
    Ok(plan)
}

fn begin(store: &mut Store, rate: &Rate, plan: &Plan) -> anyhow::Result<RunLock> {
    let document = json::to_value(plan)?;
    let rows = plan.rows().len() as u32;
    Ok(store.create_run(&NewRun {
        study: STUDY,
        profile: &plan.profile.name,
        network: &plan.network.to_string(),
        label: rate.naming.label.as_deref(),
        tags: &rate.naming.tag,
        created: &wall_clock(),
        seed: plan.seed,
        btu_version: env!("CARGO_PKG_VERSION"),
        plan: &document,
        plan_hash: &plan.hash(),
        planned_cells: rows * plan.profile.most_blocks,
    })?)
}
