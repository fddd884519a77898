//! One other host, for measurements between this machine and that host.

use btu_control::coordinator::{HostCall, Stop, WorkerHost};
use btu_suite::pipe::Remote;
use btu_units::Span;

use super::access::access;
use super::named;
use super::rated::refused;
use crate::cli::{Reaching, RemoteEnd};
use crate::exit::Refusal;

/// The host that the options name: `to` is one of an inventory's, or one with its addresses; `None`
/// if they name none.
pub(crate) fn remote(end: &RemoteEnd, to: Option<&str>) -> anyhow::Result<Option<Remote>> {
    let usage = |problem: String| anyhow::Error::from(Refusal::Usage(problem));
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
        (None, None, Some(text)) => text.parse().map_err(|error| {
            usage(format!("--to {text}: {error}; a station needs its --network FILE"))
        })?,
        (None, None, None) => return Ok(None),
    };
    named::check_pairings(std::slice::from_ref(&host), &end.reaching)?;
    let HostCall { name, reached } = named::call(&host, &end.reaching);
    Ok(Some(Remote {
        name,
        reached,
        measured: named::measured(&host, &end.reaching, named::Family::Either)?,
    }))
}

/// Reaches and reserves that host. A run that is resumed gets the host at once, even if the host is
/// still reserved for an earlier process of the same run.
pub(crate) fn reach(
    remote: &Remote,
    reaching: &Reaching,
    resumed: Option<&str>,
    stop: Stop,
) -> anyhow::Result<WorkerHost> {
    let call = HostCall { name: remote.name.clone(), reached: remote.reached.clone() };
    // A lost host is not called again: the user resumes the run instead.
    WorkerHost::reach(&call, &access(reaching, Span::ZERO)?, resumed, stop).map_err(refused)
}
