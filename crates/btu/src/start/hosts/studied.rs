//! The hosts of a study: those of an inventory, or some by ssh. The study chooses the hosts that
//! take part.

use std::net::IpAddr;
use std::path::Path;

use btu_contract::experiment::{Scripts, calls};
use btu_contract::network::{HostName, Machine, Machines, Reached};
use btu_control::arrival::leaving_for;
use btu_control::controller::HostSet;
use btu_network::Host;

use super::access::access;
use super::named::{self, Family};
use super::rated::refused;
use crate::cli::{Reaching, StudyHosts};
use crate::exit::Refusal;

/// All hosts that the options name, in their order; an empty list if the options name none.
pub(crate) fn named_hosts(options: &StudyHosts) -> anyhow::Result<Vec<Host>> {
    if let Some(file) = &options.hosts {
        return listed_hosts(file);
    }
    if let Some(launch) = options.launching.started(options.reconnect_timeout)? {
        return Ok(named::launched(&launch));
    }
    let hosts: Vec<Host> = options.ssh.iter().map(named::by_ssh).collect();
    named::check_names(&hosts)?;
    Ok(hosts)
}

/// All hosts of this inventory.
pub(crate) fn listed_hosts(file: &Path) -> anyhow::Result<Vec<Host>> {
    Ok(named::inventory(file)?.hosts)
}

/// The name of this machine when it takes part itself.
pub(crate) const HERE: &str = "here";

/// The name of a host in a study's scripts.
pub(crate) fn host_name(host: &Host) -> Result<HostName, Refusal> {
    HostName::try_from(host.name.as_str()).map_err(|error| Refusal::Usage(error.to_string()))
}

/// Those of `hosts` that take part, in this order, and this machine if it was chosen.
pub(crate) fn taking_part(
    hosts: &[Host],
    chosen: Vec<HostName>,
    reaching: &Reaching,
    family: Family,
) -> Result<Machines, Refusal> {
    let place = chosen.iter().position(|name| hosts.iter().all(|host| host.name != name.as_str()));
    let found = chosen.into_iter().filter_map(|name| {
        let host = hosts.iter().find(|host| host.name == name.as_str())?;
        Some((name, host))
    });
    let mut machines = named::machines(found, reaching, family)?;
    if let (Some(place), Some(other)) = (place, machines.hosts.first().map(|host| host.measured)) {
        machines.hosts.insert(place, here(other)?);
    }
    Ok(machines)
}

/// This machine, measured at the interface by which packets for the other host leave it.
fn here(other: IpAddr) -> Result<Machine, Refusal> {
    let measured = leaving_for(other).map_err(|error| {
        Refusal::Machine(format!("finding this machine's address on the way to {other}: {error}"))
    })?;
    let station = HostName::try_from(HERE).map_err(|error| Refusal::Usage(error.to_string()))?;
    Ok(Machine { station, name: HERE.to_owned(), reached: Reached::Here, measured })
}

/// Reaches and reserves the hosts of `plan`, for the named run, if it has a name already, and
/// checks that they reach each other.
pub(crate) fn gather_for<E: Scripts>(
    machines: &Machines,
    plan: &E,
    options: &StudyHosts,
    run: Option<&str>,
) -> anyhow::Result<HostSet> {
    let launch = options.launching.started(options.reconnect_timeout)?;
    let access = access(&options.reaching, launch, options.reconnect_timeout)?;
    let mut party = HostSet::connect_all(machines, &access, run).map_err(refused)?;
    party.reach(&calls(plan)).map_err(refused)?;
    Ok(party)
}
