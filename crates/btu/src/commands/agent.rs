//! `btu hosts agent`: lets other machines measure with this host.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use btu_control::agent::{
    AgentError, Entrance, Launched, PolicyError, Ready, ServiceSettings, Trust, serve,
};
use btu_control::arrival::{self, Arrival};
use btu_control::trust::Bundle;
use btu_network::AGENT_PORT as PORT;
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
                Box::new(move |place, _| arrived(&arrival, place)),
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
            "this process does not know its number in the job: neither Slurm, MPI nor Kubernetes says it here; give --index"
                .to_owned(),
        )
    })?;
    let node = arrival::node(variable).or_else(|| arrival::label(name));
    let listen = agent.listen.as_deref().map_or(Ok(ANY_PORT), |text| address(text, PORT))?;
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
    let trust = match &agent.identity {
        Some(identity) => {
            Trust::Identity { identity: identity.clone(), revoked: agent.revoked.clone() }
        }
        None if agent.pair => Trust::Pair,
        None => return Err(Refusal::Usage(UNTRUSTED.to_owned())),
    };
    let listen = agent.listen.as_deref().map_or(Ok(EVERYWHERE), |text| address(text, PORT))?;
    Ok(Entrance::Network { listen, trust })
}

/// Without a certificate any client could give orders to the agent; on loopback, every user of the
/// machine could.
const UNTRUSTED: &str = "an agent listens only to controllers it can tell from strangers: give it --identity FILE (see \
                         `btu hosts keys issue`), --pair for a quick try, --unix PATH for this user alone, or --stdio under ssh";

/// A port that is free.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT);

/// Reads an address of the form `ADDR`, which means `port`, or `ADDR:PORT`.
pub(crate) fn address(text: &str, port: u16) -> Result<SocketAddr, Refusal> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = text.parse().ok();
    with_port.or_else(|| Some(SocketAddr::new(bare.parse().ok()?, port))).ok_or_else(|| {
        Refusal::Usage(format!(
            "`{text}` is no address to listen on: write 192.0.2.10, 192.0.2.10:{port} or [::]:{port}"
        ))
    })
}

/// Like [`address`]; without a text, other hosts do not reach the port.
pub(crate) fn address_or_loopback(text: Option<&str>, port: u16) -> Result<SocketAddr, Refusal> {
    let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    text.map_or(Ok(loopback), |text| address(text, port))
}

/// The code goes to standard output only, because other users may read a log. A service manager is
/// told, so that what it starts after the agent finds it listening (`sd_notify(3)`).
fn ready(place: &str, code: Option<&str>) {
    note!("agent: listening on {place}");
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        note!("agent: cannot tell the service manager that it listens: {error}");
    }
    if let Some(code) = code {
        let said = writeln!(std::io::stdout(), "{}", invitation(code));
        drop(said);
    }
}

/// The example does not hold the code: every user of a machine sees the command lines of all.
fn invitation(code: &str) -> String {
    format!(
        "pairing code {code}, good for ten minutes and one command on the other machine, which asks for it, for example:\n  \
         btu speed NAME=ADDRESS --pair NAME"
    )
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

    /// A copied example must put no secret into the list of processes.
    #[test]
    fn the_printed_example_does_not_hold_the_code() {
        let said = invitation("K7QF-9M2R");
        let (told, example) = said.split_once('\n').expect("two lines");
        assert!(
            told.contains("K7QF-9M2R")
                && !example.contains("K7QF")
                && example.contains("btu speed NAME=ADDRESS --pair NAME"),
            "{said}"
        );
    }

    #[test]
    fn an_address_may_leave_its_port_out() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:7417"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("::1", "[::1]:7417"),
            ("[::1]", "[::1]:7417"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(address(text, PORT).unwrap().to_string(), expected);
        }
        assert!(address("alpha", PORT).is_err());
    }
}
