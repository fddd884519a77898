//! The agent's answers to a controller's calls.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_load::DiskSource;
use btu_suite::activity::Order;
use btu_suite::network::Impairment;
use btu_units::{Bytes, Span, controls};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

use super::caller::{Caller, Way};
use super::host::{Host, PreparingDiskFile, internal};
use super::session_work::{Kept, SessionWork};
use super::sessions::{Answer, Asked};
use super::worker::{Worker, WorkerOutput};
use crate::protocol::Direction;
use crate::protocol::agent_server::Agent;
use crate::protocol::{
    AbandonReply, AbandonRequest, CollectReply, CollectRequest, DescribeReply, DescribeRequest,
    DirectReply, DirectRequest, FollowRequest, HelloReply, HelloRequest, ImpairReply,
    ImpairRequest, PROTOCOL, PrepareDiskFileReply, PrepareDiskFileRequest, PrepareReply,
    PrepareRequest, ReleaseReply, ReleaseRequest, RenewReply, RenewRequest, ReserveReply,
    ReserveRequest, StartReply, StartRequest, Told, mismatch,
};

/// The service over one entrance.
pub(super) struct Service {
    pub(super) host: Arc<Host>,
    pub(super) way: Way,
}

impl Service {
    /// The caller, if the agent lets it call.
    fn caller<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let caller = self.way.caller(request);
        self.host.welcome(&caller)?;
        Ok(caller)
    }
}

type Words = Pin<Box<dyn Stream<Item = Result<Told, Status>> + Send>>;

#[tonic::async_trait]
impl Agent for Service {
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let caller = self.caller(&request)?;
        let HelloRequest { protocol, btu_version } = request.into_inner();
        if protocol != PROTOCOL {
            let own = (PROTOCOL, env!("CARGO_PKG_VERSION"));
            return Err(Status::failed_precondition(mismatch(own, (protocol, &btu_version))));
        }
        Ok(Response::new(self.host.introduce(&caller)))
    }

    async fn describe(
        &self,
        request: Request<DescribeRequest>,
    ) -> Result<Response<DescribeReply>, Status> {
        let caller = self.caller(&request)?;
        self.host.describe(&caller).await.map(Response::new)
    }

    async fn reserve(
        &self,
        request: Request<ReserveRequest>,
    ) -> Result<Response<ReserveReply>, Status> {
        let caller = self.caller(&request)?;
        let ReserveRequest { run, controller, expected_ms, session } = request.into_inner();
        let asked = Asked {
            run: presentable(&run),
            controller: presentable(if caller.name().is_empty() {
                &controller
            } else {
                caller.name()
            }),
            owner: caller.name().to_owned(),
            expected: Span::from_milliseconds(expected_ms.min(MOST_EXPECTED_MS)),
        };
        Ok(Response::new(match self.host.reserve(&asked, &session)? {
            Answer::Reserved { session, resumed } => ReserveReply {
                session: session.to_vec(),
                lease_ms: self.host.lease_ms(),
                resumed,
                kept_cells: self
                    .host
                    .with_work(Some(session), |work| work.kept())
                    .unwrap_or_default(),
                ..ReserveReply::default()
            },
            Answer::Busy(busy) => {
                ReserveReply { busy: busy.to_string(), ..ReserveReply::default() }
            }
        }))
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewReply>, Status> {
        let caller = self.caller(&request)?;
        let RenewRequest { expected_left_ms, session } = request.into_inner();
        let left = Span::from_milliseconds(expected_left_ms.min(MOST_EXPECTED_MS));
        let (monotonic_ns, realtime_ns) = self.host.renew(&caller, &session, left)?;
        Ok(Response::new(RenewReply { monotonic_ns, realtime_ns }))
    }

    async fn release(
        &self,
        request: Request<ReleaseRequest>,
    ) -> Result<Response<ReleaseReply>, Status> {
        let caller = self.caller(&request)?;
        self.host.release(&caller, &request.into_inner().session)?;
        Ok(Response::new(ReleaseReply {}))
    }

    async fn impair(
        &self,
        request: Request<ImpairRequest>,
    ) -> Result<Response<ImpairReply>, Status> {
        let caller = self.caller(&request)?;
        let ImpairRequest { address, delay_ns, loss, seed, session } = request.into_inner();
        let session = self.host.working(&caller, &session)?;
        let address: IpAddr = address
            .parse()
            .map_err(|_| Status::invalid_argument(format!("`{address}` is no address")))?;
        let wanted = Impairment { delay: Span::from_nanoseconds(delay_ns), loss };
        let how = self.host.impair(&caller, session, address, wanted, seed)?;
        Ok(Response::new(ImpairReply { how }))
    }

    async fn prepare(
        &self,
        request: Request<PrepareRequest>,
    ) -> Result<Response<PrepareReply>, Status> {
        let caller = self.caller(&request)?;
        let PrepareRequest { cell, step, order_json, session } = request.into_inner();
        let session = self.host.working(&caller, &session)?;
        let order: Order = serde_json::from_str(&order_json)
            .map_err(|error| Status::invalid_argument(format!("reading the order: {error}")))?;
        self.host.cell(session, cell, |_| ())?;
        let (order, claim) = self.host.admit(&caller, session, order).await?;
        let worker = Worker::prepare(self.host.executable(), &order, claim).await?;
        let endpoint = worker.endpoint.map(|endpoint| endpoint.to_string()).unwrap_or_default();
        // The session may have lapsed meanwhile; then the worker is dropped here, and so killed.
        self.host.still(&caller, session)?;
        self.host.cell(session, cell, |cell| cell.add(step, worker))?;
        Ok(Response::new(PrepareReply { endpoint }))
    }

    async fn start(&self, request: Request<StartRequest>) -> Result<Response<StartReply>, Status> {
        let caller = self.caller(&request)?;
        let StartRequest { cell: number, session } = request.into_inner();
        let session = self.host.working(&caller, &session)?;
        let mut cell = self
            .host
            .with_work(session, |work| work.take(number))?
            .ok_or_else(|| unprepared(number))?;
        cell.start(session.is_some()).await;
        self.host.still(&caller, session)?;
        self.host.with_work(session, |work| work.cell = Some(cell))?;
        Ok(Response::new(StartReply {}))
    }

    async fn direct(
        &self,
        request: Request<DirectRequest>,
    ) -> Result<Response<DirectReply>, Status> {
        let caller = self.caller(&request)?;
        let DirectRequest { cell: number, step, direction, session } = request.into_inner();
        let session = self.host.working(&caller, &session)?;
        let direction = Direction::try_from(direction).map_err(|_| {
            Status::invalid_argument(format!("{direction} is no direction for a worker"))
        })?;
        let mut cell = self
            .host
            .with_work(session, |work| work.take(number))?
            .ok_or_else(|| unprepared(number))?;
        let directed = cell.direct(step, direction, session.is_some()).await;
        self.host.still(&caller, session)?;
        self.host.with_work(session, |work| work.cell = Some(cell))?;
        let cpu_ns = directed.ok_or_else(|| {
            Status::failed_precondition(format!("cell {number} has no step {step}"))
        })?;
        Ok(Response::new(DirectReply { cpu_ns }))
    }

    type FollowStream = Words;

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Words>, Status> {
        let caller = self.caller(&request)?;
        let FollowRequest { cell, step, heard, session } = request.into_inner();
        let session = self.host.fetching(&caller, &session)?;
        let ear = self.host.with_work(session, |work| work.heard(cell, step))?;
        let ear = ear.ok_or_else(|| {
            Status::failed_precondition(format!("step {step} of cell {cell} was not started"))
        })?;
        let told = usize::try_from(heard).unwrap_or(usize::MAX);
        Ok(Response::new(stream::unfold((ear, told), next_word).map(Ok).boxed()))
    }

    async fn collect(
        &self,
        request: Request<CollectRequest>,
    ) -> Result<Response<CollectReply>, Status> {
        let caller = self.caller(&request)?;
        let CollectRequest { cell, finishing, session } = request.into_inner();
        let session = self.host.fetching(&caller, &session)?;
        let outcome = self.host.with_work(session, |work| work.collect(cell, finishing))?;
        let mut outcome = outcome.ok_or_else(|| unprepared(cell))?;
        let reply = match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err("nothing came of it".to_owned())),
            Err(_) => Err("its collection ended early".to_owned()),
        };
        if session.is_none() {
            self.host.with_work(session, |work| work.forget(cell))?;
        }
        Ok(Response::new(reply.map_err(internal("collecting"))?))
    }

    async fn abandon(
        &self,
        request: Request<AbandonRequest>,
    ) -> Result<Response<AbandonReply>, Status> {
        let caller = self.caller(&request)?;
        let session = self.host.working(&caller, &request.into_inner().session)?;
        self.host.with_work(session, SessionWork::abandon)?;
        Ok(Response::new(AbandonReply {}))
    }

    async fn prepare_disk_file(
        &self,
        request: Request<PrepareDiskFileRequest>,
    ) -> Result<Response<PrepareDiskFileReply>, Status> {
        let caller = self.caller(&request)?;
        let PrepareDiskFileRequest { directory, file_bytes, seed, session } = request.into_inner();
        let session = self.host.working(&caller, &session)?;
        let size = Bytes::new(file_bytes);
        let PreparingDiskFile { directory, claim, stop } =
            self.host.prepare_disk_file(&caller, session, directory, size)?;
        let given_up = StopWhenDropped(Arc::clone(&stop));
        let made = tokio::task::spawn_blocking(move || {
            DiskSource::make_unless(&directory, size, seed, &stop)
                .map(|file| Kept { file, claim: Arc::new(claim) })
        });
        let kept = made
            .await
            .map_err(internal("making the disk activity's source file"))?
            .map_err(|error| Status::resource_exhausted(error.to_string()))?;
        drop(given_up);
        let path = kept.file.path().to_string_lossy().into_owned();
        self.host.still(&caller, session)?;
        self.host.with_work(session, |work| work.source = Some(kept))?;
        Ok(Response::new(PrepareDiskFileReply { source: path }))
    }
}

/// Stops the making of a file when its caller disconnects.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A year: a longer expectation is invalid, and could overflow.
const MOST_EXPECTED_MS: u64 = 365 * 24 * 3600 * 1000;

/// A controller's name in a form for others: short, and without what a terminal acts on.
fn presentable(name: &str) -> String {
    let shown: String = name.chars().filter(|sign| !controls(*sign)).take(64).collect();
    if shown.is_empty() { "unknown".to_owned() } else { shown }
}

fn unprepared(cell: u64) -> Status {
    Status::failed_precondition(format!("cell {cell} is not prepared here"))
}

/// The next message that was not sent yet; `None` after the last.
async fn next_word(
    (mut ear, told): (watch::Receiver<WorkerOutput>, usize),
) -> Option<(Told, (watch::Receiver<WorkerOutput>, usize))> {
    let word_json = {
        let heard =
            ear.wait_for(|heard| heard.words.len() > told || heard.account.is_some()).await.ok()?;
        heard.words.get(told).cloned()?
    };
    Some((Told { word_json }, (ear, told + 1)))
}

#[cfg(test)]
mod tests;
