//! The coordinator's end of an agent's connection.

mod follow;

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_suite::activity::Order;
use btu_suite::network::{HostName, Impairment};
use btu_suite::record::{CpuTime, Failure, MachineCpu, Report, StationCpu};
use btu_units::{Bytes, Span};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Response, Status};

use super::error::{CoordinatorError, with_reasons};
use crate::protocol::agent_client::AgentClient;
use crate::protocol::{
    AbandonRequest, CollectReply, CollectRequest, DescribeReply, DescribeRequest, DirectRequest,
    Direction, HelloReply, HelloRequest, ImpairRequest, MESSAGE_LIMIT_BYTES, PROTOCOL,
    PrepareDiskFileRequest, PrepareRequest, ReleaseRequest, RenewReply, RenewRequest, ReserveReply,
    ReserveRequest, StartRequest, mismatch,
};

/// Connecting to a local agent that lives takes well under this.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The timeout of answers from an agent's memory, over the slowest network from which a user would
/// control a benchmark.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// An agent kills a worker that is not ready after 30 s, and reports it.
const PREPARE_LIMIT: Duration = Duration::from_secs(40);

/// A source file is written to a disk that may be slow.
const PREPARE_DISK_FILE_LIMIT: Duration = Duration::from_mins(2);

/// Beyond the activities' own deadline: stopping those that serve, and reading accounts.
const COLLECT_MARGIN: Duration = Duration::from_secs(15);

/// An agent, with the session that it gave.
#[derive(Debug, Clone)]
pub(super) struct AgentLink {
    /// Its name in errors.
    who: String,
    client: AgentClient<Channel>,
    /// Empty where none is needed.
    session: Vec<u8>,
}

/// A station's account of a cell.
pub(super) struct StationAccount {
    pub(super) results: Vec<(usize, Result<Report, Failure>)>,
    pub(super) cpu: StationCpu,
    /// The host's, where it could be read.
    pub(super) machine: Option<MachineCpu>,
}

impl AgentLink {
    /// Connects to the local agent behind `socket` and checks that it has this protocol's version.
    pub(super) async fn connect(
        station: HostName,
        socket: &Path,
    ) -> Result<Self, CoordinatorError> {
        let who = format!("station {station}");
        let channel = channel(socket.to_owned()).await.map_err(|source| {
            CoordinatorError::Connect { station, socket: socket.to_owned(), source }
        })?;
        let mut link = Self::over(who, channel);
        link.hello().await?;
        Ok(link)
    }

    /// An agent at the end of `channel`.
    pub(super) fn over(who: String, channel: Channel) -> Self {
        let client = AgentClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT_BYTES)
            .max_encoding_message_size(MESSAGE_LIMIT_BYTES);
        Self { who, client, session: Vec::new() }
    }

    /// Requests its name, and checks its protocol version.
    pub(super) async fn hello(&mut self) -> Result<HelloReply, CoordinatorError> {
        let request =
            HelloRequest { protocol: PROTOCOL, btu_version: env!("CARGO_PKG_VERSION").to_owned() };
        let reply = timeout(ANSWER_LIMIT, self.client.hello(request)).await;
        match reply {
            Ok(Err(status))
                if matches!(status.code(), Code::FailedPrecondition | Code::Unimplemented) =>
            {
                Err(CoordinatorError::Version { who: self.who.clone(), message: version(&status) })
            }
            reply => {
                let reply = self.answer("greeting", ANSWER_LIMIT, reply)?;
                if reply.protocol == PROTOCOL { Ok(reply) } else { Err(self.other_version(&reply)) }
            }
        }
    }

    fn other_version(&self, reply: &HelloReply) -> CoordinatorError {
        let message = format!(
            "it speaks protocol {} and this btu {PROTOCOL}: use the same btu on both",
            reply.protocol
        );
        CoordinatorError::Version { who: self.who.clone(), message }
    }

    /// The description of the host.
    pub(super) async fn describe(&mut self) -> Result<DescribeReply, CoordinatorError> {
        let mut client = self.client.clone();
        self.call("looking at the host", PREPARE_LIMIT, client.describe(DescribeRequest {})).await
    }

    /// Reserves the host, or renews an old reservation.
    pub(super) async fn reserve(
        &mut self,
        request: ReserveRequest,
    ) -> Result<ReserveReply, CoordinatorError> {
        let mut client = self.client.clone();
        let reply = self.call("reserving the host", ANSWER_LIMIT, client.reserve(request)).await?;
        if reply.session.is_empty() {
            return Err(CoordinatorError::Busy { who: self.who.clone(), busy: reply.busy });
        }
        self.session.clone_from(&reply.session);
        Ok(reply)
    }

    /// Renews the lease, and reads the host's clocks.
    pub(super) async fn renew(
        &mut self,
        expected_left: Duration,
    ) -> Result<RenewReply, CoordinatorError> {
        let expected_left_ms = u64::try_from(expected_left.as_millis()).unwrap_or(u64::MAX);
        let request = RenewRequest { expected_left_ms, session: self.session.clone() };
        let mut client = self.client.clone();
        self.call("keeping the reservation", ANSWER_LIMIT, client.renew(request)).await
    }

    /// Releases the host.
    pub(super) async fn release(&mut self, limit: Duration) -> Result<(), CoordinatorError> {
        let session = std::mem::take(&mut self.session);
        let mut client = self.client.clone();
        self.call("giving the host back", limit, client.release(ReleaseRequest { session }))
            .await?;
        Ok(())
    }

    /// Impairs incoming packets at the interface of `address`; returns the method, or why it is
    /// impossible.
    pub(super) async fn impair(
        &mut self,
        address: std::net::IpAddr,
        wanted: Impairment,
        seed: u64,
    ) -> Result<String, CoordinatorError> {
        let Impairment { delay, loss } = wanted;
        let (session, address) = (self.session.clone(), address.to_string());
        let request = ImpairRequest { address, delay_ns: delay.nanoseconds(), loss, seed, session };
        match timeout(ANSWER_LIMIT, self.client.impair(request)).await {
            Ok(Err(status)) if !is_lost(&status) => Err(CoordinatorError::Impair {
                who: self.who.clone(),
                message: status.message().to_owned(),
            }),
            reply => Ok(self.answer("impairing packets", ANSWER_LIMIT, reply)?.how),
        }
    }

    /// Has the agent make a worker; returns its address, if it listens.
    pub(super) async fn prepare(
        &mut self,
        cell: u64,
        step: usize,
        order: &Order,
    ) -> Result<Option<SocketAddr>, CoordinatorError> {
        let order_json = serde_json::to_string(order).map_err(CoordinatorError::Document)?;
        let request =
            PrepareRequest { cell, step: step as u32, order_json, session: self.session.clone() };
        let endpoint = match timeout(PREPARE_LIMIT, self.client.prepare(request)).await {
            Ok(Err(status)) if !is_lost(&status) => {
                return Err(self.unprepared(order.activity.kind(), &status));
            }
            reply => self.answer("preparing an activity", PREPARE_LIMIT, reply)?.endpoint,
        };
        if endpoint.is_empty() {
            return Ok(None);
        }
        endpoint
            .parse()
            .map(Some)
            .map_err(|_| CoordinatorError::Nonsense { who: self.who.clone(), what: endpoint })
    }

    fn unprepared(&self, activity: &'static str, status: &Status) -> CoordinatorError {
        CoordinatorError::Prepare {
            who: self.who.clone(),
            activity,
            message: status.message().to_owned(),
        }
    }

    /// Starts the cell's workers on this station.
    pub(super) async fn start(&mut self, cell: u64) -> Result<(), CoordinatorError> {
        let request = StartRequest { cell, session: self.session.clone() };
        let mut client = self.client.clone();
        self.call("starting a cell", ANSWER_LIMIT, client.start(request)).await?;
        Ok(())
    }

    /// Directs one worker of the cell; its CPU time before that, if it has not ended.
    pub(super) async fn direct(
        &mut self,
        cell: u64,
        step: u32,
        direction: Direction,
    ) -> Result<Option<Span>, CoordinatorError> {
        let request = DirectRequest {
            cell,
            step,
            direction: direction.into(),
            session: self.session.clone(),
        };
        let mut client = self.client.clone();
        let reply = self.call("directing a worker", ANSWER_LIMIT, client.direct(request)).await?;
        Ok(reply.cpu_ns.map(Span::from_nanoseconds))
    }

    /// Waits for the cell's workers up to their deadline, and returns their accounts as those of
    /// `host`.
    pub(super) async fn collect(
        &mut self,
        host: HostName,
        cell: u64,
        finishing: Vec<u32>,
        deadline: Span,
    ) -> Result<StationAccount, CoordinatorError> {
        let request = CollectRequest { cell, finishing, session: self.session.clone() };
        let mut client = self.client.clone();
        let limit = Duration::from(deadline) + COLLECT_MARGIN;
        let reply = self.call("collecting a cell", limit, client.collect(request)).await?;
        let cpu = cpu(host, &reply);
        let machine = Some(&reply.machine_json).filter(|json| !json.is_empty());
        let machine = machine
            .map(|json| serde_json::from_str(json))
            .transpose()
            .map_err(CoordinatorError::Document)?;
        let results = reply.accounts.into_iter().map(|account| {
            let result =
                serde_json::from_str(&account.result_json).map_err(CoordinatorError::Document)?;
            Ok((account.step as usize, result))
        });
        Ok(StationAccount {
            results: results.collect::<Result<_, CoordinatorError>>()?,
            cpu,
            machine,
        })
    }

    /// Kills all workers of the agent.
    pub(super) async fn abandon(&mut self) -> Result<(), CoordinatorError> {
        let request = AbandonRequest { session: self.session.clone() };
        let mut client = self.client.clone();
        self.call("abandoning a cell", ANSWER_LIMIT, client.abandon(request)).await?;
        Ok(())
    }

    /// Has the agent make the disk activity's source file and hold it; returns the path for
    /// workers.
    pub(super) async fn prepare_disk_file(
        &mut self,
        directory: &Path,
        file: Bytes,
        seed: u64,
    ) -> Result<PathBuf, CoordinatorError> {
        let directory = directory.to_string_lossy().into_owned();
        let request = PrepareDiskFileRequest {
            directory,
            file_bytes: file.count(),
            seed,
            session: self.session.clone(),
        };
        match timeout(PREPARE_DISK_FILE_LIMIT, self.client.prepare_disk_file(request)).await {
            Ok(Err(status)) if !is_lost(&status) => Err(self.unprepared("disk", &status)),
            reply => Ok(self
                .answer("making the disk activity's file", PREPARE_DISK_FILE_LIMIT, reply)?
                .source
                .into()),
        }
    }

    async fn call<T>(
        &self,
        operation: &'static str,
        limit: Duration,
        asked: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CoordinatorError> {
        self.answer(operation, limit, timeout(limit, asked).await)
    }

    fn answer<T>(
        &self,
        operation: &'static str,
        limit: Duration,
        reply: Result<Result<Response<T>, Status>, tokio::time::error::Elapsed>,
    ) -> Result<T, CoordinatorError> {
        let who = self.who.clone();
        match reply {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(refusal(who, operation, &status)),
            Err(_) => {
                let message = format!("no answer within {} s", limit.as_secs());
                Err(CoordinatorError::Lost { who, operation, message })
            }
        }
    }
}

/// Whether the agent, its session or the connection to it is gone: all other errors are an agent's
/// own answer.
fn is_lost(status: &Status) -> bool {
    let is_broken = std::error::Error::source(status).is_some();
    is_broken
        || matches!(
            status.code(),
            Code::Unavailable | Code::Cancelled | Code::Unknown | Code::NotFound
        )
}

/// The error that a status is.
fn refusal(who: String, operation: &'static str, status: &Status) -> CoordinatorError {
    let message = words(status);
    if is_lost(status) {
        CoordinatorError::Lost { who, operation, message }
    } else {
        CoordinatorError::Agent { who, operation, message }
    }
}

/// The text of a status, with its causes.
fn words(status: &Status) -> String {
    with_reasons(status.message().to_owned(), status)
}

fn version(status: &Status) -> String {
    match status.code() {
        // Agents of every later protocol report it themselves.
        Code::Unimplemented => mismatch((1, ""), (PROTOCOL, env!("CARGO_PKG_VERSION"))),
        _ => status.message().to_owned(),
    }
}

fn cpu(station: HostName, reply: &CollectReply) -> StationCpu {
    let time = |user, system| CpuTime {
        user: Span::from_nanoseconds(user),
        system: Span::from_nanoseconds(system),
    };
    StationCpu {
        station,
        workers: time(reply.workers_user_ns, reply.workers_system_ns),
        agent: time(reply.agent_user_ns, reply.agent_system_ns),
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
