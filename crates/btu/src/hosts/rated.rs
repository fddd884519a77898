//! The three hosts of `btu rate`: who they are, and what can be measured on them.

use btu_control::coordinator::{CoordinatorError, Party};
use btu_network::Host;
use btu_suite::network::{Machine, Machines, Station};
use btu_suite::plan::Plan;

use super::access::access;
use super::named;
use crate::cli::{RatedHosts, Reaching};
use crate::exit::Refusal;

/// The hosts that the options name; nothing where they name none.
pub(crate) fn machines(options: &RatedHosts) -> anyhow::Result<Option<Machines>> {
    let Some(hosts) = hosts(options)? else { return Ok(None) };
    named::check_pairings(&hosts, &options.reaching)?;
    for (number, host) in hosts.iter().enumerate() {
        if hosts[..number].iter().any(|other| other.name == host.name) {
            return Err(
                Refusal::Usage(format!("two hosts are called {}: give them names in an inventory", host.name)).into()
            );
        }
    }
    let hosts = Station::ALL.into_iter().zip(&hosts).map(|(station, host)| machine(station, host, &options.reaching));
    Ok(Some(Machines { hosts: hosts.collect::<Result<_, Refusal>>()? }))
}

fn machine(station: Station, host: &Host, reaching: &Reaching) -> Result<Machine, Refusal> {
    let call = named::call(host, reaching);
    Ok(Machine { station, name: call.name, reached: call.reached, measured: named::measured(host, reaching)? })
}

/// Test, active and passive, in this order.
fn hosts(options: &RatedHosts) -> anyhow::Result<Option<Vec<Host>>> {
    if let Some(file) = &options.hosts {
        let inventory = named::inventory(file)?;
        let found = Station::ALL.map(|role| {
            inventory.hosts.iter().find(|host| host.role == Some(role)).cloned().ok_or_else(|| {
                let (file, role) = (file.display(), role.name());
                Refusal::Usage(format!("{file} has no host that is {role}: write `role = \"{role}\"` under one"))
            })
        });
        return Ok(Some(found.into_iter().collect::<Result<_, _>>()?));
    }
    if !options.ssh.is_empty() {
        if options.ssh.len() != Station::ALL.len() {
            return Err(Refusal::Usage("--ssh takes three hosts: TEST,ACTIVE,PASSIVE".to_owned()).into());
        }
        return Ok(Some(options.ssh.iter().map(named::by_ssh).collect()));
    }
    let named = [&options.test, &options.active, &options.passive];
    Ok(named.into_iter().cloned().collect::<Option<Vec<_>>>())
}

/// Hosts that are ours.
pub(crate) struct Gathered {
    pub(crate) party: Party,
    /// What has to be said of the run before it begins.
    pub(crate) warnings: Vec<String>,
}

/// Reaches the hosts of `plan` and takes what cannot be measured on them out of it; a plan that is resumed has to stay
/// as it is.
pub(crate) fn gather(
    machines: &Machines,
    plan: &mut Plan,
    options: &RatedHosts,
    resumed: Option<&str>,
) -> anyhow::Result<Gathered> {
    let access = access(&options.reaching, options.patience)?;
    let mut party = Party::gather(machines, &access, resumed).map_err(refused)?;
    let survey = party.survey(plan).map_err(refused)?;
    let impaired = |plan: &Plan| plan.components.iter().filter(|one| !one.impairment().is_none()).count();
    let mut warnings = Vec::new();
    if !survey.unimpaired.is_empty() && impaired(plan) > 0 {
        let why = survey.unimpaired.join("; ");
        if resumed.is_some() {
            return Err(Refusal::Machine(format!("this run has components with impaired packets: {why}")).into());
        }
        let left_out: Vec<String> =
            plan.components.iter().filter(|one| !one.impairment().is_none()).map(ToString::to_string).collect();
        plan.components.retain(|component| component.impairment().is_none());
        warnings.push(format!(
            "left out, since packets cannot be delayed and dropped there: {} ({why})",
            left_out.join(", ")
        ));
        if plan.components.is_empty() {
            return Err(Refusal::Machine(format!("nothing is left to be measured: {why}")).into());
        }
    }
    if resumed.is_none() {
        plan.udp_offered = survey.udp_offered;
    }
    Ok(Gathered { party, warnings })
}

/// Nothing has begun yet.
pub(super) fn refused(error: CoordinatorError) -> anyhow::Error {
    match error {
        CoordinatorError::Interrupted(_) => error.into(),
        other => Refusal::Machine(other.to_string()).into(),
    }
}
