//! Turns the names of hosts into a way to reach each of them and its address on the measured
//! network.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::process::{Command, Stdio};

use btu_contract::network::{HostName, Machine, Machines, Reached};
use btu_control::controller::{HostCall, Launch, LaunchedAgent};
use btu_network::{Control, Host, Inventory, SshDestination};

use crate::cli::Reaching;
use crate::exit::Refusal;
use crate::files;

/// The hosts of an inventory file.
pub(super) fn inventory(file: &Path) -> anyhow::Result<Inventory> {
    let name = file.display().to_string();
    let text = files::text(file)?;
    Ok(Inventory::read(&text, &name).map_err(|error| Refusal::Usage(error.to_string()))?)
}

/// The way to a host.
pub(super) fn call(host: &Host) -> HostCall {
    let reached = match &host.control {
        Control::Agent(address) => Reached::Tls { address: address.to_string() },
        Control::Ssh(destination) => Reached::Ssh { destination: destination.to_string() },
        Control::Launched => Reached::Launched,
    };
    HostCall { name: host.name.clone(), reached }
}

/// The hosts' names, for an error about an unknown one.
pub(super) fn names(hosts: &[Host]) -> String {
    hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Hosts in their stored form, each with its name in scripts.
pub(super) fn machines<'a>(
    hosts: impl Iterator<Item = (HostName, &'a Host)>,
    reaching: &Reaching,
    family: Family,
) -> Result<Machines, Refusal> {
    let machine = |(station, host): (HostName, &Host)| {
        let HostCall { name, reached } = call(host);
        Ok::<_, Refusal>(Machine {
            station,
            name,
            reached,
            measured: measured(host, reaching, family)?,
        })
    };
    Ok(Machines { hosts: hosts.map(machine).collect::<Result<_, _>>()? })
}

/// Refuses two hosts of one name, which hosts by ssh can be.
pub(super) fn check_names(hosts: &[Host]) -> Result<(), Refusal> {
    let is_twice = |(number, host): &(usize, &Host)| {
        hosts[..*number].iter().any(|other| other.name == host.name)
    };
    hosts.iter().enumerate().find(is_twice).map_or(Ok(()), |(_, host)| {
        Err(Refusal::Usage(format!(
            "two hosts are called {}: give them names in an inventory",
            host.name
        )))
    })
}

/// A host that is reached by ssh, with the first label of the destination as its name.
pub(super) fn by_ssh(destination: &SshDestination) -> Host {
    let text = destination.as_str();
    let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
    let place = place.trim_start_matches("ssh://");
    let is_address = place.parse::<IpAddr>().is_ok();
    let label = if is_address { place } else { place.split(['.', ':']).next().unwrap_or(place) };
    let name: String =
        label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Host { name, role: None, control: Control::Ssh(destination.clone()), measured: None }
}

/// The hosts whose agents a launcher started.
pub(super) fn launched(launch: &Launch) -> Vec<Host> {
    let host = |agent: &LaunchedAgent| Host {
        name: agent.name.to_string(),
        role: None,
        control: Control::Launched,
        measured: Some(agent.address),
    };
    launch.agents().iter().map(host).collect()
}

/// The address family for measurements on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4 if it has such an address: most measured networks use it.
    Either,
    /// Only addresses of IPv4 are allowed.
    Ipv4,
    /// Only addresses of IPv6 are allowed.
    Ipv6,
}

impl Family {
    pub(crate) fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Either => true,
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
        }
    }

    /// What a host without such an address does not have.
    pub(crate) fn missing(self) -> &'static str {
        match self {
            Self::Either => "address",
            Self::Ipv4 => "IPv4 address",
            Self::Ipv6 => "IPv6 address",
        }
    }

    /// The option that asks for it.
    fn option(self) -> &'static str {
        if self == Self::Ipv4 { "-4" } else { "-6" }
    }
}

/// A host's address on the measured network: the one that was named, else that of its agent.
pub(super) fn measured(
    host: &Host,
    reaching: &Reaching,
    family: Family,
) -> Result<IpAddr, Refusal> {
    if let Some(address) = host.measured {
        return of_family(host.name.as_str(), address, family);
    }
    let place = match &host.control {
        Control::Agent(address) => address.host.clone(),
        Control::Ssh(destination) => ssh_host(&reaching.ssh_program, destination),
        Control::Launched => host.name.clone(),
    };
    let found = (place.as_str(), 0).to_socket_addrs().map_err(|error| {
        let name = &host.name;
        Refusal::Usage(format!(
            "host {name}: finding the address of {place}: {error}; is the name right? If ssh alone knows it, write its address on the \
             measured network (`measured = ...` in an inventory)"
        ))
    })?;
    let all: Vec<IpAddr> =
        found.map(|address| address.ip()).filter(|address| family.has(*address)).collect();
    let first = all.iter().find(|address| address.is_ipv4()).or(all.first()).copied();
    let advice = if family == Family::Either {
        String::new()
    } else {
        let option = family.option();
        format!(": write one in an inventory (`measured = ...`), or leave {option} out")
    };
    first.ok_or_else(|| {
        let missing = family.missing();
        Refusal::Usage(format!("host {}: {place} has no {missing}{advice}", host.name))
    })
}

/// The address that was named for a host, if it is of this family.
fn of_family(host: &str, address: IpAddr, family: Family) -> Result<IpAddr, Refusal> {
    if family.has(address) {
        return Ok(address);
    }
    let (wanted, option) = (family.missing(), family.option());
    Err(Refusal::Usage(format!(
        "host {host}: its measured address, {address}, is not an {wanted}: leave {option} out"
    )))
}

/// The destination of ssh, by the user's own configuration.
fn ssh_host(program: &Path, destination: &SshDestination) -> String {
    let asked = Command::new(program)
        .args(["-G", "--", destination.as_str()])
        .stdin(Stdio::null())
        .output();
    let said = asked
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let found = said.lines().find_map(|line| line.strip_prefix("hostname ")).map(str::to_owned);
    found.unwrap_or_else(|| {
        let text = destination.as_str();
        text.rsplit_once('@').map_or(text, |(_, place)| place).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_by_ssh_are_named_for_their_first_label() {
        for (text, name) in [
            ("alpha", "alpha"),
            ("me@beta.example.org", "beta"),
            ("me@192.0.2.7", "192-0-2-7"),
            ("lab_3", "lab-3"),
        ] {
            assert_eq!(by_ssh(&text.parse().unwrap()).name, name);
        }
    }

    #[test]
    fn a_measured_address_is_of_the_family_that_was_asked_for() {
        for (address, family, said) in [
            ("192.0.2.7", Family::Ipv6, "is not an IPv6 address: leave -6 out"),
            ("2001:db8::7", Family::Ipv4, "is not an IPv4 address: leave -4 out"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let refused = of_family("alpha", address, family).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
            assert_eq!(of_family("alpha", address, Family::Either).unwrap(), address);
        }
    }
}
