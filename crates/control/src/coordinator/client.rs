//! The coordinator's end of an agent's connection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_suite::activity::Order;
use btu_suite::network::Station;
use btu_suite::record::{CpuTime, Failure, Report, StationCpu};
use btu_units::{Bytes, Span};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};

use super::error::CoordinatorError;
use crate::protocol::agent_client::AgentClient;
use crate::protocol::{
    AbandonRequest, CollectReply, CollectRequest, FurnishRequest, HelloRequest, MESSAGE_LIMIT_BYTES, PROTOCOL,
    PrepareRequest, StartRequest,
};

/// Connecting to a local agent that lives takes well under this.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A station's agent.
#[derive(Debug, Clone)]
pub(super) struct AgentLink {
    pub(super) station: Station,
    client: AgentClient<Channel>,
}

/// What a station accounts for after a cell.
pub(super) struct StationAccount {
    pub(super) results: Vec<(usize, Result<Report, Failure>)>,
    pub(super) cpu: StationCpu,
}

impl AgentLink {
    /// Connects to the agent behind `socket` and checks that it speaks our version.
    pub(super) async fn connect(station: Station, socket: &Path) -> Result<Self, CoordinatorError> {
        let channel = channel(socket.to_owned()).await.map_err(|source| CoordinatorError::Connect {
            station,
            socket: socket.to_owned(),
            source,
        })?;
        let client = AgentClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT_BYTES)
            .max_encoding_message_size(MESSAGE_LIMIT_BYTES);
        let mut link = Self { station, client };
        link.client
            .hello(HelloRequest { protocol: PROTOCOL, btu_version: env!("CARGO_PKG_VERSION").to_owned() })
            .await
            .map_err(link.failed("greeting"))?;
        Ok(link)
    }

    /// Lets the agent make a worker; where it listens, if it does.
    pub(super) async fn prepare(
        &mut self,
        cell: u64,
        step: usize,
        order: &Order,
    ) -> Result<Option<SocketAddr>, CoordinatorError> {
        let order_json = serde_json::to_string(order).map_err(CoordinatorError::Document)?;
        let request = PrepareRequest { cell, step: step as u32, order_json, session: Vec::new() };
        let reply = self.client.prepare(request).await.map_err(|status| CoordinatorError::Prepare {
            station: self.station,
            activity: order.activity.kind(),
            message: status.message().to_owned(),
        })?;
        let endpoint = reply.into_inner().endpoint;
        if endpoint.is_empty() {
            return Ok(None);
        }
        endpoint.parse().map(Some).map_err(|_| CoordinatorError::Nonsense { station: self.station, what: endpoint })
    }

    /// Starts the cell's workers on this station.
    pub(super) async fn start(&mut self, cell: u64) -> Result<(), CoordinatorError> {
        self.client.start(StartRequest { cell, session: Vec::new() }).await.map_err(self.failed("starting a cell"))?;
        Ok(())
    }

    /// Waits for the cell's workers on this station.
    pub(super) async fn collect(&mut self, cell: u64, finishing: Vec<u32>) -> Result<StationAccount, CoordinatorError> {
        let request = CollectRequest { cell, finishing, session: Vec::new() };
        let reply = self.client.collect(request).await.map_err(self.failed("collecting a cell"))?.into_inner();
        let cpu = self.cpu(&reply);
        let results = reply.accounts.into_iter().map(|account| {
            let result = serde_json::from_str(&account.result_json).map_err(CoordinatorError::Document)?;
            Ok((account.step as usize, result))
        });
        Ok(StationAccount { results: results.collect::<Result<_, CoordinatorError>>()?, cpu })
    }

    fn cpu(&self, reply: &CollectReply) -> StationCpu {
        let time =
            |user, system| CpuTime { user: Span::from_nanoseconds(user), system: Span::from_nanoseconds(system) };
        StationCpu {
            station: self.station,
            workers: time(reply.workers_user_ns, reply.workers_system_ns),
            agent: time(reply.agent_user_ns, reply.agent_system_ns),
        }
    }

    /// Kills whatever the agent still runs.
    pub(super) async fn abandon(&mut self) -> Result<(), CoordinatorError> {
        self.client.abandon(AbandonRequest { session: Vec::new() }).await.map_err(self.failed("abandoning a cell"))?;
        Ok(())
    }

    /// Has the disk activity's source file made and kept; the path under which workers open it.
    pub(super) async fn furnish(
        &mut self,
        directory: &Path,
        file: Bytes,
        seed: u64,
    ) -> Result<PathBuf, CoordinatorError> {
        let directory = directory.to_string_lossy().into_owned();
        let request = FurnishRequest { directory, file_bytes: file.count(), seed, session: Vec::new() };
        let reply = self.client.furnish(request).await.map_err(|status| CoordinatorError::Prepare {
            station: self.station,
            activity: "disk",
            message: status.message().to_owned(),
        })?;
        Ok(reply.into_inner().source.into())
    }

    fn failed(&self, operation: &'static str) -> impl Fn(tonic::Status) -> CoordinatorError + use<> {
        let station = self.station;
        move |status| CoordinatorError::Agent { station, operation, message: status.message().to_owned() }
    }
}

async fn channel(socket: PathBuf) -> Result<Channel, tonic::transport::Error> {
    // The address is not used: the connector below knows the socket.
    let endpoint = Endpoint::from_static("http://agent.local").connect_timeout(CONNECT_LIMIT);
    let connect = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    endpoint.connect_with_connector(connect).await
}
