//! The ways to an agent, on another machine or on this one.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use btu_suite::network::Reached;
use btu_units::shell_word;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint, Uri};

use super::super::client::AgentLink;
use super::super::error::{CoordinatorError, with_reasons};
use super::pipe::AgentPipe;
use super::ssh::{self, SshCall};
use super::{Access, HostCall};
use crate::protocol::HelloReply;
use crate::trust::{self, Identity, PAIRED, Pairing, Revocations, TrustError};

/// Connecting takes a round trip or two; a host that needs longer cannot keep a lease.
const CONNECT_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// The interval of keep-alive requests, and the silence after which a connection is given up.
const LIFE_EVERY: Duration = Duration::from_secs(2);
const LIFE_LIMIT: Duration = Duration::from_secs(8);

/// The identity of this controller for agents.
#[derive(Debug, Default)]
pub struct Keys {
    /// The identity of a controller; absent when it has none.
    pub identity: Option<Identity>,
    /// Certificates that are no longer taken.
    pub revocations: Option<Revocations>,
    /// Pairing codes by host.
    pub pairings: BTreeMap<String, Pairing>,
}

impl Keys {
    fn config(&self, call: &HostCall) -> Result<Arc<ClientConfig>, CoordinatorError> {
        let untrusted =
            |source: TrustError| CoordinatorError::Keys { host: call.name.clone(), source };
        if let Reached::Pairing { .. } = call.reached {
            let pairing = self.pairings.get(&call.name).ok_or_else(|| no_code(call))?;
            let identity = pairing.controller().map_err(untrusted)?;
            return trust::client_config(&identity, None).map_err(untrusted);
        }
        let identity = self.identity.as_ref().ok_or_else(|| no_identity(call))?;
        trust::client_config(identity, self.revocations.as_ref()).map_err(untrusted)
    }
}

fn no_code(call: &HostCall) -> CoordinatorError {
    CoordinatorError::Host {
        host: call.name.clone(),
        message: format!("its pairing code is needed again: --pair {}", shell_word(&call.name)),
    }
}

fn no_identity(call: &HostCall) -> CoordinatorError {
    CoordinatorError::Host {
        host: call.name.clone(),
        message: "an identity is needed to reach its agent: --identity FILE, made by `btu hosts keys issue NAME --role \
                  controller`; or use --pair or --ssh"
            .to_owned(),
    }
}

/// The way to one host, for repeated calls.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    Tls { address: String, config: Arc<ClientConfig>, agent: String },
    Ssh(SshCall),
    Here(PathBuf),
}

impl Transport {
    /// The way of this call.
    pub(super) fn of(call: &HostCall, access: &Access) -> Result<Self, CoordinatorError> {
        let tls = |address: &String, agent: &str| {
            Ok(Self::Tls {
                address: address.clone(),
                config: access.keys.config(call)?,
                agent: agent.to_owned(),
            })
        };
        match &call.reached {
            Reached::Tls { address } => tls(address, &call.name),
            Reached::Pairing { address } => tls(address, PAIRED),
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
    ) -> Result<(AgentLink, HelloReply), CoordinatorError> {
        let channel = match self {
            Self::Tls { address, config, agent } => {
                let stream = tls(host, address, config, agent).await?;
                over(stream).await.map_err(|error| self.unanswered(host, &error))?
            }
            Self::Ssh(call) => {
                let pipe = ssh::start(call).await?;
                over(pipe).await.map_err(|error| self.unanswered(host, &error))?
            }
            Self::Here(program) => {
                let pipe = AgentPipe::here(program).map_err(|error| CoordinatorError::Host {
                    host: host.to_owned(),
                    message: format!(
                        "starting an agent of this machine, {}: {error}",
                        program.display()
                    ),
                })?;
                over(pipe).await.map_err(|error| self.unanswered(host, &error))?
            }
        };
        let mut link = AgentLink::over(format!("host {host}"), channel);
        let hello = link.hello().await.map_err(|error| self.explained(host, error))?;
        Ok((link, hello))
    }

    /// A refusal of the controller's certificate arrives after the handshake, with the first data.
    fn explained(&self, host: &str, error: CoordinatorError) -> CoordinatorError {
        let CoordinatorError::Lost { message, .. } = &error else { return error };
        let text = io::Error::other(message.clone());
        match self {
            Self::Tls { agent, .. } => match trust::explain(host, &text) {
                Some(message) => CoordinatorError::NotTrusted { message },
                // The agent may be gone before its reason is read; for a pairing, one reason is far
                // more likely than others.
                None if agent == PAIRED => CoordinatorError::NotTrusted { message: used_up(host) },
                None => error,
            },
            Self::Ssh(_) | Self::Here(_) => error,
        }
    }

    fn unanswered(&self, host: &str, error: &tonic::transport::Error) -> CoordinatorError {
        match trust::explain(host, error) {
            Some(message) if matches!(self, Self::Tls { .. }) => {
                CoordinatorError::NotTrusted { message }
            }
            _ => CoordinatorError::OutOfReach {
                host: host.to_owned(),
                message: with_reasons(error.to_string(), error),
            },
        }
    }
}

fn used_up(host: &str) -> String {
    format!(
        "{host} ended the connection at the greeting: a pairing code is good for ten minutes and one command, and perhaps it \
         was used already: start the agent again for a new one"
    )
}

async fn tls(
    host: &str,
    address: &str,
    config: &Arc<ClientConfig>,
    agent: &str,
) -> Result<TlsStream<TcpStream>, CoordinatorError> {
    let out_of_reach =
        |message: String| CoordinatorError::OutOfReach { host: host.to_owned(), message };
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
        .map_err(|source| CoordinatorError::Keys { host: host.to_owned(), source })?;
    let handshake = TlsConnector::from(Arc::clone(config)).connect(name, tcp);
    let stream =
        timeout(CONNECT_LIMIT, handshake).await.map_err(|_| late("greeting what listens at"))?;
    stream.map_err(|error| match trust::explain(host, &error) {
        Some(message) => CoordinatorError::NotTrusted { message },
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

/// A gRPC channel over an open connection. It is never reconnected automatically: when it ends, it
/// is lost.
async fn over<S>(stream: S) -> Result<Channel, tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let once = Arc::new(Mutex::new(Some(stream)));
    let connect = tower::service_fn(move |_: Uri| {
        let stream = once.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move { stream.map(TokioIo::new).ok_or_else(|| io::Error::other("the connection is over")) }
    });
    Endpoint::from_static("http://agent.local")
        .connect_timeout(CONNECT_LIMIT)
        .http2_keep_alive_interval(LIFE_EVERY)
        .keep_alive_timeout(LIFE_LIMIT)
        .keep_alive_while_idle(true)
        .connect_with_connector(connect)
        .await
}
