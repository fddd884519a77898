//! The controller's end of an agent's connection.

mod follow;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_contract::activity::Order;
use btu_contract::network::{HostName, Impairment};
use btu_contract::path::{path_of_text, text_of_path};
use btu_contract::record::{CpuTime, Failure, MachineCpu, Report, StationCpu};
use btu_units::{Bytes, Span};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::error::ControllerError;
use crate::protocol::{
    AbandonRequest, Call, Client, Code, CollectReply, CollectRequest, ConnectError, DescribeReply,
    DescribeRequest, DirectRequest, HelloReply, HelloRequest, ImpairRequest, Json,
    PrepareDiskFileRequest, PrepareRequest, ReleaseRequest, RenewReply, RenewRequest, ReserveReply,
    ReserveRequest, StartRequest, Status, WorkerCommand,
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

/// The name of the first operation in errors.
pub(super) const GREETING: &str = "greeting";

/// An agent, with the session that it gave.
#[derive(Debug, Clone)]
pub(super) struct AgentLink {
    /// Its name in errors.
    who: String,
    client: Client,
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
    pub(super) async fn connect(station: HostName, socket: &Path) -> Result<Self, ControllerError> {
        let who = format!("station {station}");
        let connecting = async { Client::connect(UnixStream::connect(socket).await?, None).await };
        let connected = timeout(CONNECT_LIMIT, connecting)
            .await
            .unwrap_or_else(|late| Err(ConnectError::Broken(late.into())));
        match connected {
            Ok(client) => Ok(Self::over(who, client)),
            Err(ConnectError::Version(message)) => Err(ControllerError::Version { who, message }),
            Err(ConnectError::Broken(source)) => {
                Err(ControllerError::Connect { station, socket: socket.to_owned(), source })
            }
        }
    }

    /// An agent that `client` is connected to.
    pub(super) const fn over(who: String, client: Client) -> Self {
        Self { who, client, session: Vec::new() }
    }

    /// Requests its name.
    pub(super) async fn hello(&self) -> Result<HelloReply, ControllerError> {
        self.call(GREETING, ANSWER_LIMIT, HelloRequest {}).await
    }

    /// The description of the host.
    pub(super) async fn describe(&mut self) -> Result<DescribeReply, ControllerError> {
        self.call("looking at the host", PREPARE_LIMIT, DescribeRequest {}).await
    }

    /// Reserves the host, or renews an old reservation.
    pub(super) async fn reserve(
        &mut self,
        request: ReserveRequest,
    ) -> Result<ReserveReply, ControllerError> {
        let reply = self.call("reserving the host", ANSWER_LIMIT, request).await?;
        if reply.session.is_empty() {
            return Err(ControllerError::Busy { who: self.who.clone(), busy: reply.busy });
        }
        self.session.clone_from(&reply.session);
        Ok(reply)
    }

    /// Renews the lease, and reads the host's clocks.
    pub(super) async fn renew(
        &mut self,
        expected_left: Duration,
    ) -> Result<RenewReply, ControllerError> {
        let expected_left_ms = u64::try_from(expected_left.as_millis()).unwrap_or(u64::MAX);
        let request = RenewRequest { expected_left_ms, session: self.session.clone() };
        self.call("keeping the reservation", ANSWER_LIMIT, request).await
    }

    /// Releases the host.
    pub(super) async fn release(&mut self, limit: Duration) -> Result<(), ControllerError> {
        let session = std::mem::take(&mut self.session);
        self.call("giving the host back", limit, ReleaseRequest { session }).await?;
        Ok(())
    }

    /// Impairs incoming packets at the interface of `address`; returns the method, or why it is
    /// impossible.
    pub(super) async fn impair(
        &mut self,
        address: std::net::IpAddr,
        wanted: Impairment,
        seed: u64,
    ) -> Result<String, ControllerError> {
        let Impairment { delay, loss } = wanted;
        let (session, address) = (self.session.clone(), address.to_string());
        let request = ImpairRequest { address, delay_ns: delay.nanoseconds(), loss, seed, session };
        match timeout(ANSWER_LIMIT, self.client.call(request)).await {
            Ok(Err(status)) if !is_lost(&status) => Err(ControllerError::Impair {
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
    ) -> Result<Option<SocketAddr>, ControllerError> {
        let kind = order.activity.kind();
        let order = Json::of(order).map_err(ControllerError::Document)?;
        let session = self.session.clone();
        let request = PrepareRequest { cell, step: step as u32, order, session };
        let endpoint = match timeout(PREPARE_LIMIT, self.client.call(request)).await {
            Ok(Err(status)) if !is_lost(&status) => {
                return Err(self.unprepared(kind, Some(step), &status));
            }
            reply => self.answer("preparing an activity", PREPARE_LIMIT, reply)?.endpoint,
        };
        if endpoint.is_empty() {
            return Ok(None);
        }
        endpoint
            .parse()
            .map(Some)
            .map_err(|_| ControllerError::Nonsense { who: self.who.clone(), what: endpoint })
    }

    fn unprepared(
        &self,
        activity: &'static str,
        step: Option<usize>,
        status: &Status,
    ) -> ControllerError {
        ControllerError::Prepare {
            who: self.who.clone(),
            activity,
            step,
            message: status.message().to_owned(),
        }
    }

    /// Starts the cell's workers on this station.
    pub(super) async fn start(&mut self, cell: u64) -> Result<(), ControllerError> {
        let request = StartRequest { cell, session: self.session.clone() };
        self.call("starting a cell", ANSWER_LIMIT, request).await?;
        Ok(())
    }

    /// Directs one worker of the cell; its CPU time before that, if it has not ended.
    pub(super) async fn direct(
        &mut self,
        cell: u64,
        step: u32,
        direction: WorkerCommand,
    ) -> Result<Option<Span>, ControllerError> {
        let request = DirectRequest { cell, step, direction, session: self.session.clone() };
        let reply = self.call("directing a worker", ANSWER_LIMIT, request).await?;
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
    ) -> Result<StationAccount, ControllerError> {
        let request = CollectRequest { cell, finishing, session: self.session.clone() };
        let limit = Duration::from(deadline) + COLLECT_MARGIN;
        let reply = self.call("collecting a cell", limit, request).await?;
        let cpu = cpu(host, &reply);
        let machine = reply.machine.map(|machine| machine.read()).transpose();
        let machine = machine.map_err(ControllerError::Document)?;
        let results = reply.accounts.into_iter().map(|account| {
            let result = account.result.read().map_err(ControllerError::Document)?;
            Ok((account.step as usize, result))
        });
        Ok(StationAccount {
            results: results.collect::<Result<_, ControllerError>>()?,
            cpu,
            machine,
        })
    }

    /// Kills all workers of the agent.
    pub(super) async fn abandon(&mut self) -> Result<(), ControllerError> {
        let request = AbandonRequest { session: self.session.clone() };
        self.call("abandoning a cell", ANSWER_LIMIT, request).await?;
        Ok(())
    }

    /// Has the agent make the disk activity's source file and hold it; returns the path for
    /// workers.
    pub(super) async fn prepare_disk_file(
        &mut self,
        directory: &Path,
        file: Bytes,
        seed: u64,
    ) -> Result<PathBuf, ControllerError> {
        let directory = text_of_path(directory);
        let request = PrepareDiskFileRequest {
            directory,
            file_bytes: file.count(),
            seed,
            session: self.session.clone(),
        };
        match timeout(PREPARE_DISK_FILE_LIMIT, self.client.call(request)).await {
            Ok(Err(status)) if !is_lost(&status) => Err(self.unprepared("disk", None, &status)),
            reply => {
                let operation = "making the disk activity's file";
                Ok(path_of_text(&self.answer(operation, PREPARE_DISK_FILE_LIMIT, reply)?.source))
            }
        }
    }

    async fn call<C: Call>(
        &self,
        operation: &'static str,
        limit: Duration,
        call: C,
    ) -> Result<C::Reply, ControllerError> {
        self.answer(operation, limit, timeout(limit, self.client.call(call)).await)
    }

    fn answer<T>(
        &self,
        operation: &'static str,
        limit: Duration,
        reply: Result<Result<T, Status>, tokio::time::error::Elapsed>,
    ) -> Result<T, ControllerError> {
        let who = self.who.clone();
        let Ok(reply) = reply else {
            let message = format!("no answer within {} s", limit.as_secs());
            return Err(ControllerError::Lost { who, operation, message });
        };
        reply.map_err(|status| refusal(who, operation, &status))
    }
}

/// Whether the agent, its session or the connection to it is gone: all other errors are an agent's
/// own answer.
const fn is_lost(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::NotFound)
}

/// The error that a status is.
fn refusal(who: String, operation: &'static str, status: &Status) -> ControllerError {
    let message = match status.message() {
        // The library's words, with an address for programmers.
        said if said.contains("close_notify") => "its connection ended".to_owned(),
        said => said.to_owned(),
    };
    if is_lost(status) {
        ControllerError::Lost { who, operation, message }
    } else {
        ControllerError::Agent { who, operation, message }
    }
}

fn cpu(station: HostName, reply: &CollectReply) -> StationCpu {
    let time =
        |user, system| CpuTime::of(Span::from_nanoseconds(user), Span::from_nanoseconds(system));
    StationCpu {
        station,
        workers: time(reply.workers_user_ns, reply.workers_system_ns),
        agent: time(reply.agent_user_ns, reply.agent_system_ns),
    }
}
