//! The three hosts of `btu rate`: their roles, and their features.

use btu_contract::network::{HostName, HostRole, Machines};
use btu_control::controller::{ControllerError, HostSet, secret};
use btu_network::Host;
use btu_studies::rate::{Component, Plan, survey};
use btu_units::BitRate;

use super::access::access;
use super::named;
use crate::cli::RatedHosts;
use crate::exit::Refusal;

/// The hosts that the options name; `None` if they name none.
pub(crate) fn machines(options: &RatedHosts) -> anyhow::Result<Option<Machines>> {
    let Some(hosts) = hosts(options)? else { return Ok(None) };
    named::check_names(&hosts)?;
    let stations = HostRole::ALL.into_iter().map(HostName::from);
    Ok(Some(named::machines(stations.zip(&hosts), &options.reaching, named::Family::Either)?))
}

/// Test, active and passive, in this order.
fn hosts(options: &RatedHosts) -> anyhow::Result<Option<Vec<Host>>> {
    if let Some(file) = &options.hosts {
        let inventory = named::inventory(file)?;
        let found = HostRole::ALL.map(|role| {
            inventory.hosts.iter().find(|host| host.role == Some(role)).cloned().ok_or_else(|| {
                let (file, role) = (file.display(), role.name());
                Refusal::Usage(format!(
                    "{file} has no host that is {role}: write `role = \"{role}\"` under one"
                ))
            })
        });
        return Ok(Some(found.into_iter().collect::<Result<_, _>>()?));
    }
    if let Some(launch) = options.launching.started(options.reconnect_timeout)? {
        let hosts = named::launched(&launch);
        if hosts.len() < HostRole::ALL.len() {
            let found = hosts.len();
            return Err(usage(format!("--launcher started {found} agents: a rating has three hosts, test, active and passive")).into());
        }
        return Ok(Some(hosts));
    }
    if !options.ssh.is_empty() {
        if options.ssh.len() != HostRole::ALL.len() {
            return Err(
                Refusal::Usage("--ssh takes three hosts: TEST,ACTIVE,PASSIVE".to_owned()).into()
            );
        }
        return Ok(Some(options.ssh.iter().map(named::by_ssh).collect()));
    }
    if [&options.test, &options.active, &options.passive].into_iter().any(Option::is_some) {
        let problem = "--test, --active and --passive name stations of --network FILE; hosts are reached by ssh \
                       (--ssh TEST,ACTIVE,PASSIVE), or have their roles in an inventory (--hosts FILE)";
        return Err(usage(problem.to_owned()).into());
    }
    Ok(None)
}

fn usage(problem: String) -> Refusal {
    Refusal::Usage(problem)
}

/// Reserved hosts.
pub(crate) struct Gathered {
    pub(crate) party: HostSet,
    /// Warnings about the run before it begins.
    pub(crate) warnings: Vec<String>,
}

/// Reaches the hosts of `plan` and removes the rows that cannot be measured on them; a resumed plan
/// must not change.
pub(crate) fn gather(
    machines: &Machines,
    plan: &mut Plan,
    options: &RatedHosts,
    resumed: Option<&str>,
) -> anyhow::Result<Gathered> {
    let launch = options.launching.started(options.reconnect_timeout)?;
    let access = access(&options.reaching, launch, options.reconnect_timeout)?;
    let mut party = HostSet::connect_all(machines, &access, resumed).map_err(refused)?;
    let Survey { unimpaired, udp_offered } = surveyed(&mut party, plan).map_err(refused)?;
    let impaired = |component: &Component| !component.impairment().is_none();
    let mut warnings = Vec::new();
    if !unimpaired.is_empty() && plan.components.iter().any(impaired) {
        let why = unimpaired.join("; ");
        if resumed.is_some() {
            return Err(Refusal::Machine(format!(
                "this run has components with impaired packets: {why}"
            ))
            .into());
        }
        warnings.extend(leave_out(
            plan,
            impaired,
            &format!("packets cannot be delayed and dropped there ({why})"),
        )?);
    }
    if resumed.is_none() {
        plan.udp_offered = udp_offered;
    }
    Ok(Gathered { party, warnings })
}

/// What was found out about the hosts.
struct Survey {
    /// Why components with impaired packets cannot be measured, a sentence for each peer;
    /// empty when they can.
    unimpaired: Vec<String>,
    /// The rate for the UDP row.
    udp_offered: BitRate,
}

/// Checks that the hosts reach each other on the measured network, and which parts of `plan` are possible there.
fn surveyed(party: &mut HostSet, plan: &Plan) -> Result<Survey, ControllerError> {
    let of = |role: HostRole| [HostRole::Test, role].map(HostName::from);
    let black_boxes = HostRole::ALL.into_iter().filter(|role| role.is_black_box());
    party.reach(&black_boxes.map(of).collect::<Vec<_>>())?;
    let script = survey::script(plan, secret::token()?);
    let udp_offered = party
        .probe(&script, of(HostRole::Active).each_ref(), |seen| survey::offered(&script, seen))?;
    let unimpaired = party.unimpaired(&survey::impairments(plan), plan.seed)?;
    Ok(Survey { unimpaired, udp_offered })
}

/// Removes components that cannot be measured from a plan; returns a warning that names them, if
/// there were any.
pub(crate) fn leave_out(
    plan: &mut Plan,
    which: impl Fn(&Component) -> bool,
    why: &str,
) -> Result<Option<String>, Refusal> {
    let (left_out, kept): (Vec<Component>, Vec<Component>) =
        plan.components.iter().partition(|one| which(one));
    if left_out.is_empty() {
        return Ok(None);
    }
    if kept.is_empty() {
        return Err(Refusal::Machine(format!("nothing is left to measure: {why}")));
    }
    plan.components = kept;
    let names: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    Ok(Some(format!("left out, since {why}: {}", names.join(", "))))
}

/// The measurement has not begun yet.
pub(super) fn refused(error: ControllerError) -> anyhow::Error {
    match error {
        ControllerError::Interrupted(_) => error.into(),
        other => Refusal::Machine(other.to_string()).into(),
    }
}
