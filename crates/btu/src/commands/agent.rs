//! `btu hosts agent`: lets other machines measure with this host.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use btu_control::agent::{
    AgentError, Entrance, Launched, PolicyError, Ready, ServiceSettings, serve,
};
use btu_control::arrival::{self, Arrival};
use btu_control::trust::Bundle;
use btu_network::AGENT_PORT;
use btu_testbed::note;

use crate::cli::Agent;
use crate::exit::Refusal;
use crate::start::hosts;

/// Serves until a signal ends it.
pub(crate) fn run(agent: &Agent) -> anyhow::Result<()> {
    let name = agent.name.clone().or_else(hosts::own_name).unwrap_or_else(|| "host".to_owned());
    let (entrance, ready): (_, Ready) = match &agent.launched {
        Some(bundle) => {
            let (launched, arrival) = launched(agent, bundle, &name)?;
            (
                Entrance::Launched(Arc::new(launched)),
                Box::new(move |place| arrived(&arrival, place)),
            )
        }
        None => (entrance(agent)?, Box::new(ready)),
    };
    let settings = ServiceSettings {
        name,
        executable: std::env::current_exe()?,
        policy: agent.policy.clone(),
        entrance,
        ready,
    };
    serve(&settings).map_err(refusal)
}

/// An agent of one job, and what it says when it listens, but for the port.
fn launched(agent: &Agent, bundle: &Path, name: &str) -> anyhow::Result<(Launched, Arrival)> {
    let by_input = bundle == Path::new("-");
    let bundle =
        if by_input { Bundle::read(std::io::stdin().lock())? } else { Bundle::load(bundle)? };
    let variable = |name: &str| std::env::var(name).ok();
    let said = arrival::index(variable);
    let index = agent.index.or(said.map(|(index, _)| index)).ok_or_else(|| {
        Refusal::Usage(
            "the number of this process in the job is unknown: neither Slurm, MPI nor Kubernetes sets it here; give --index"
                .to_owned(),
        )
    })?;
    let node = arrival::node(variable).or_else(|| arrival::label(name));
    let listen = agent.listen.as_deref().map_or(Ok(ANY_PORT), |text| address(text, AGENT_PORT))?;
    let arrival = Arrival {
        index,
        address: arrival::address(bundle.limits()).map_err(Refusal::Machine)?,
        port: listen.port(),
        node: node
            .ok_or_else(|| Refusal::Usage("this node has no name: give --name".to_owned()))?,
        agents: said.and_then(|(_, agents)| agents),
    };
    let identity = bundle.identity(index)?;
    let limits = bundle.limits().clone();
    Ok((Launched { identity, limits, listen, ends_with_input: by_input }, arrival))
}

/// The launcher's line, on standard output.
fn arrived(arrival: &Arrival, place: &str) {
    let port = place.parse().map_or(arrival.port, |place: SocketAddr| place.port());
    let said = writeln!(std::io::stdout(), "{}", Arrival { port, ..arrival.clone() });
    // Without a launcher that listens, the agent ends by itself.
    drop(said);
}

fn entrance(agent: &Agent) -> Result<Entrance, Refusal> {
    if agent.stdio {
        return Ok(Entrance::Stdio);
    }
    if let Some(path) = &agent.unix {
        return Ok(Entrance::Unix(path.clone()));
    }
    Err(Refusal::Usage(UNTRUSTED.to_owned()))
}

/// On a network every client could give orders to the agent; on loopback, every user of the machine
/// could.
const UNTRUSTED: &str = "an agent serves only authenticated controllers: run it with --stdio under ssh, where `btu speed \
                         --ssh HOST` and the like start it; docs/hosts.md says how a host's owner limits what it does";

/// A port that is free.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

/// Reads an address of the form `ADDR`, which means `port`, or `ADDR:PORT`.
pub(crate) fn address(text: &str, port: u16) -> Result<SocketAddr, Refusal> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = text.parse().ok();
    with_port.or_else(|| Some(SocketAddr::new(bare.parse().ok()?, port))).ok_or_else(|| {
        Refusal::Usage(format!(
            "`{text}` is not an address to listen on: write 192.0.2.10, 192.0.2.10:{port} or [::]:{port}"
        ))
    })
}

/// Like [`address`]; without a text, other hosts do not reach the port.
pub(crate) fn address_or_loopback(text: Option<&str>, port: u16) -> Result<SocketAddr, Refusal> {
    let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    text.map_or(Ok(loopback), |text| address(text, port))
}

fn ready(place: &str) {
    note!("agent: listening on {place}");
}

/// An invalid file is a usage error, a missing right is an error of the machine.
fn refusal(error: AgentError) -> anyhow::Error {
    match error {
        AgentError::Policy(PolicyError::Wrong(_)) => Refusal::Usage(error.to_string()).into(),
        AgentError::Trust(error) => error.into(),
        AgentError::Policy(_)
        | AgentError::Open { .. }
        | AgentError::Listen { .. }
        | AgentError::Stdio(_)
        | AgentError::Scratch { .. } => Refusal::Machine(error.to_string()).into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_its_port_out() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:7417"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("::1", "[::1]:7417"),
            ("[::1]", "[::1]:7417"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(address(text, AGENT_PORT).unwrap().to_string(), expected);
        }
        assert!(address("alpha", AGENT_PORT).is_err());
    }
}
