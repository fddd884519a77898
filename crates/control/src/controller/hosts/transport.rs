//! The ways to an agent, on another machine or on this one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use btu_contract::network::{Machine, Reached};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::client::{AgentLink, GREETING};
use super::super::error::ControllerError;
use super::launch::{Launch, LaunchedAgent};
use super::pipe::AgentPipe;
use super::ssh::{self, SshCall};
use super::{Access, HostCall};
use crate::protocol::{Client, ConnectError, Duplex, HelloReply, Life};
use crate::trust::{self, TrustError};

/// Connecting takes a round trip or two; a host that needs longer cannot keep a lease.
const CONNECT_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

const LIFE: Life = Life { every: Duration::from_secs(2), limit: Duration::from_secs(8) };

/// The time for the first line of an agent that is connected.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

impl Access {
    fn config(&self, call: &HostCall) -> Result<Arc<ClientConfig>, ControllerError> {
        let launched = self.launch.as_ref().filter(|_| call.reached == Reached::Launched);
        let identity = launched.map(|launch| &launch.identity).or(self.identity.as_ref());
        let untrusted =
            |source: TrustError| ControllerError::Keys { host: call.name.clone(), source };
        trust::client_config(identity.ok_or_else(|| no_identity(call))?).map_err(untrusted)
    }

    /// Refuses a host of a launcher that has another address than in the plan.
    pub(super) fn check_address(&self, host: &Machine) -> Result<(), ControllerError> {
        if host.reached != Reached::Launched {
            return Ok(());
        }
        let (now, planned) = (self.agent(&host.name)?.address, host.measured);
        if now == planned {
            return Ok(());
        }
        let message = format!("it is measured at {planned}, and its agent is at {now}: see --over");
        Err(ControllerError::Host { host: host.name.clone(), message })
    }

    /// The launcher's agent of this host.
    fn agent(&self, host: &str) -> Result<&LaunchedAgent, ControllerError> {
        let missing = |message: String| ControllerError::Host { host: host.to_owned(), message };
        let launch = self.launch.as_ref().ok_or_else(|| {
            missing(
                "a launcher started its agent: give --launcher again, in a job that has this node"
                    .to_owned(),
            )
        })?;
        launch.agent(host).ok_or_else(|| {
            let found: Vec<&str> =
                launch.agents().iter().map(|agent| agent.name.as_str()).collect();
            missing(format!("this job does not have its node; it has {}", found.join(", ")))
        })
    }
}

fn no_identity(call: &HostCall) -> ControllerError {
    ControllerError::Host {
        host: call.name.clone(),
        message: "an agent is reached over the network only by the controller of its job (--identity FILE, as `btu hosts \
                  kubernetes` makes it); write `ssh = \"user@host\"` to reach the host by ssh"
            .to_owned(),
    }
}

/// The way to one host, for repeated calls.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    Tls { address: String, config: Arc<ClientConfig>, agent: String, launch: Option<Arc<Launch>> },
    Ssh(SshCall),
    Here(PathBuf),
}

impl Transport {
    /// The way of this call.
    pub(super) fn of(call: &HostCall, access: &Access) -> Result<Self, ControllerError> {
        let tls = |address: &String, agent: &str| {
            Ok(Self::Tls {
                address: address.clone(),
                config: access.config(call)?,
                agent: agent.to_owned(),
                launch: access.launch.clone().filter(|_| call.reached == Reached::Launched),
            })
        };
        match &call.reached {
            Reached::Tls { address } => tls(address, &call.name),
            Reached::Launched => {
                let agent = access.agent(&call.name)?;
                tls(&agent.place(), &agent.certified)
            }
            Reached::Ssh { destination } => Ok(Self::Ssh(SshCall {
                host: call.name.clone(),
                destination: destination.clone(),
                program: access.ssh_program.clone(),
                binary: access.binary.clone(),
            })),
            Reached::Here => Ok(Self::Here(access.executable.clone())),
        }
    }

    /// Connects to the agent and exchanges versions.
    pub(super) async fn connect(
        &self,
        host: &str,
    ) -> Result<(AgentLink, HelloReply), ControllerError> {
        let stream: Box<dyn Duplex> = match self {
            Self::Tls { launch: Some(launch), .. } if launch.has_ended() => {
                let message =
                    "its launcher has ended, as at the end of a job, and its agent with it";
                return Err(ControllerError::Host {
                    host: host.to_owned(),
                    message: message.to_owned(),
                });
            }
            Self::Tls { address, config, agent, .. } => {
                Box::new(tls(host, address, config, agent).await?)
            }
            Self::Ssh(call) => Box::new(ssh::start(call).await?),
            Self::Here(program) => {
                let pipe = AgentPipe::here(program).map_err(|error| ControllerError::Host {
                    host: host.to_owned(),
                    message: format!(
                        "starting an agent of this machine, {}: {error}",
                        program.display()
                    ),
                })?;
                Box::new(pipe)
            }
        };
        let greeting = timeout(GREETING_LIMIT, Client::connect(stream, Some(LIFE))).await;
        let who = format!("host {host}");
        let client = match greeting.unwrap_or_else(|late| Err(io::Error::from(late).into())) {
            Ok(client) => client,
            Err(ConnectError::Version(message)) => {
                return Err(ControllerError::Version { who, message });
            }
            Err(ConnectError::Broken(error)) => return Err(self.ungreeted(host, &error)),
        };
        let link = AgentLink::over(who, client);
        let hello = link.hello().await?;
        Ok((link, hello))
    }

    /// A refusal of the controller's certificate arrives after the handshake, instead of the
    /// greeting.
    fn ungreeted(&self, host: &str, error: &io::Error) -> ControllerError {
        let lost = || ControllerError::Lost {
            who: format!("host {host}"),
            operation: GREETING,
            message: error.to_string(),
        };
        match self {
            Self::Tls { .. } => trust::explain(host, error)
                .map_or_else(lost, |message| ControllerError::NotTrusted { message }),
            Self::Ssh(_) | Self::Here(_) => lost(),
        }
    }
}

async fn tls(
    host: &str,
    address: &str,
    config: &Arc<ClientConfig>,
    agent: &str,
) -> Result<TlsStream<TcpStream>, ControllerError> {
    let out_of_reach =
        |message: String| ControllerError::OutOfReach { host: host.to_owned(), message };
    let late = |what: &str| {
        out_of_reach(format!("{what} {address}: no answer within {} s", CONNECT_LIMIT.as_secs()))
    };
    let tcp = timeout(CONNECT_LIMIT, TcpStream::connect(address))
        .await
        .map_err(|_| late("connecting to"))?;
    let tcp = tcp.map_err(|error| out_of_reach(refused(address, &error)))?;
    // Nagle's algorithm would hold a request back until the one before is acknowledged.
    tcp.set_nodelay(true)
        .map_err(|error| out_of_reach(format!("connecting to {address}: {error}")))?;
    let name = trust::server_name(agent)
        .map_err(|source| ControllerError::Keys { host: host.to_owned(), source })?;
    let handshake = TlsConnector::from(Arc::clone(config)).connect(name, tcp);
    let stream =
        timeout(CONNECT_LIMIT, handshake).await.map_err(|_| late("greeting what listens at"))?;
    stream.map_err(|error| match trust::explain(host, &error) {
        Some(message) => ControllerError::NotTrusted { message },
        None => out_of_reach(format!("greeting what listens at {address}: {error}")),
    })
}

fn refused(address: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused => ": does `btu hosts agent` run there, and on this port?",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            ": is the address right, and the host up?"
        }
        _ => "",
    };
    format!("connecting to {address}: {error}{advice}")
}
