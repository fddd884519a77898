//! One other host, for measurements between this machine and that host.

use std::path::Path;

use btu_contract::network::{HostName, Machine, Machines, Reached};
use btu_contract::pipe::Remote;
use btu_control::arrival::own_addresses;
use btu_control::controller::{HostCall, HostSet, Launch, LaunchedAgent};
use btu_units::{Span, shell_word};

use super::access::access;
use super::named;
use super::rated::refused;
use super::studied::HERE;
use crate::cli::RemoteEnd;
use crate::exit::Refusal;

/// The host that the options name: `to` is one of an inventory's, or one with its addresses; `None`
/// if they name none.
pub(crate) fn remote(end: &RemoteEnd, to: Option<&str>) -> anyhow::Result<Option<Remote>> {
    let usage = |problem: String| anyhow::Error::from(Refusal::Usage(problem));
    if let Some(launch) = end.launching.started(Span::ZERO)? {
        return started_by_a_launcher(&launch, to).map(Some);
    }
    let host = match (&end.hosts, &end.ssh, to) {
        (Some(file), _, Some(name)) => {
            let inventory = named::inventory(file)?;
            let found = inventory.hosts.iter().find(|host| host.name == name).cloned();
            found.ok_or_else(|| {
                let known = named::names(&inventory.hosts);
                usage(format!(
                    "--to {name}: {} has no host `{name}`; there are {known}",
                    file.display()
                ))
            })?
        }
        (Some(file), _, None) => {
            return Err(usage(format!("which host of {}? name it with --to", file.display())));
        }
        (None, Some(destination), _) => named::by_ssh(destination),
        (None, None, Some(text)) => {
            return Err(usage(format!(
                "--to {text}: a station needs its --network FILE, and a host its inventory, --hosts FILE; any host is reached \
                 by ssh: --ssh {}",
                shell_word(text)
            )));
        }
        (None, None, None) => return Ok(None),
    };
    let HostCall { name, reached } = named::call(&host);
    Ok(Some(Remote {
        name,
        reached,
        measured: named::measured(&host, &end.reaching, named::Family::Either)?,
    }))
}

/// The node of this name, or the first one that has none of this machine's addresses.
fn started_by_a_launcher(launch: &Launch, to: Option<&str>) -> anyhow::Result<Remote> {
    let own = own_addresses()?;
    let is_meant = |agent: &&LaunchedAgent| match to {
        Some(name) => agent.name.as_str() == name,
        None => !own.contains(&agent.address),
    };
    let found = launch.agents().iter().find(is_meant).ok_or_else(|| {
        let names: Vec<&str> = launch.agents().iter().map(|agent| agent.name.as_str()).collect();
        let problem = match to {
            Some(name) => format!("--to {name}: there is no such node; there are"),
            None => "every agent is on this machine; name one with --to:".to_owned(),
        };
        Refusal::Usage(format!("{problem} {}", names.join(", ")))
    })?;
    let (name, measured) = (found.name.to_string(), found.address);
    Ok(Remote { name, reached: Reached::Launched, measured })
}

/// This machine with an agent that has its socket in `directory`, and that host, if there is one. A
/// run that is resumed gets the host at once, even if the host is still reserved for an earlier
/// process of the same run. Returns the names of both in scripts.
pub(crate) fn near_and(
    remote: Option<&Remote>,
    end: &RemoteEnd,
    resumed: Option<&str>,
    directory: &Path,
) -> anyhow::Result<(HostSet, [HostName; 2])> {
    let named =
        |name: &str| HostName::try_from(name).map_err(|error| Refusal::Usage(error.to_string()));
    let here = named(HERE)?;
    let far = remote.map_or(Ok(here.clone()), |remote| named(&remote.name))?;
    let machine = |remote: &Remote| {
        let Remote { name, reached, measured } = remote.clone();
        Machine { station: far.clone(), name, reached, measured }
    };
    let machines = Machines { hosts: remote.map(machine).into_iter().collect() };
    // A lost host is not called again: the user resumes the run instead.
    let access = access(&end.reaching, end.launching.started(Span::ZERO)?, Span::ZERO)?;
    let hosts = HostSet::connect_all(&machines, &access, resumed).map_err(refused)?;
    let hosts = hosts.and_here(here.clone(), &access.executable, directory).map_err(refused)?;
    Ok((hosts, [here, far]))
}
