//! The agent's answers to a controller's calls.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_contract::activity::Order;
use btu_contract::network::Impairment;
use btu_contract::path::text_of_path;
use btu_load::DiskSource;
use btu_units::{Bytes, Span, controls};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;

use super::caller::Caller;
use super::host::{HostAgent, PreparingDiskFile};
use super::internal;
use super::session_work::{Kept, SessionWork};
use super::sessions::{Asked, ReservationResult};
use super::worker::Worker;
use crate::protocol::{
    AbandonRequest, CollectReply, CollectRequest, DirectReply, DirectRequest, Done, FollowRequest,
    ImpairReply, ImpairRequest, Json, PartSender, PrepareDiskFileReply, PrepareDiskFileRequest,
    PrepareReply, PrepareRequest, ReleaseRequest, RenewReply, RenewRequest, Request, ReserveReply,
    ReserveRequest, Serve, StartRequest, Status,
};

/// The service for one caller.
pub(super) struct CallerService {
    pub(super) host: Arc<HostAgent>,
    pub(super) caller: Caller,
}

impl Serve for CallerService {
    fn answer(&self, request: Request, parts: PartSender) -> BoxFuture<'_, Result<Json, Status>> {
        self.answered(request, parts).boxed()
    }
}

/// An answer as it is sent.
fn sent(answer: impl Serialize) -> Result<Json, Status> {
    Json::of(&answer).map_err(internal("writing the answer"))
}

impl CallerService {
    async fn answered(&self, request: Request, parts: PartSender) -> Result<Json, Status> {
        match request {
            Request::Hello(_) => sent(self.host.introduce(&self.caller)),
            Request::Describe(_) => sent(self.host.describe().await?),
            Request::Reserve(request) => sent(self.reserve(&request)?),
            Request::Renew(request) => sent(self.renew(&request)?),
            Request::Release(request) => sent(self.release(&request)?),
            Request::Impair(request) => sent(self.impair(&request)?),
            Request::Prepare(request) => sent(self.prepare(request).await?),
            Request::Start(request) => sent(self.start(&request).await?),
            Request::Direct(request) => sent(self.direct(&request).await?),
            Request::Follow(request) => sent(self.follow(&request, &parts).await?),
            Request::Collect(request) => sent(self.collect(request).await?),
            Request::Abandon(request) => sent(self.abandon(&request)?),
            Request::PrepareDiskFile(request) => sent(self.prepare_disk_file(request).await?),
        }
    }

    fn reserve(&self, request: &ReserveRequest) -> Result<ReserveReply, Status> {
        let ReserveRequest { run, controller, expected_ms, session } = request;
        let asked = Asked {
            run: presentable(run),
            controller: presentable(controller),
            expected: Span::from_milliseconds((*expected_ms).min(MOST_EXPECTED_MS)),
        };
        Ok(match self.host.reserve(&asked, session)? {
            ReservationResult::Reserved { session, resumed } => ReserveReply {
                session: session.to_vec(),
                lease_ms: self.host.lease_ms(),
                resumed,
                kept_cells: self
                    .host
                    .with_work(Some(session), |work| work.kept())
                    .unwrap_or_default(),
                ..ReserveReply::default()
            },
            ReservationResult::Busy(busy) => {
                ReserveReply { busy: busy.to_string(), ..ReserveReply::default() }
            }
        })
    }

    fn renew(&self, request: &RenewRequest) -> Result<RenewReply, Status> {
        let left = Span::from_milliseconds(request.expected_left_ms.min(MOST_EXPECTED_MS));
        let (monotonic_ns, realtime_ns) = self.host.renew(&self.caller, &request.session, left)?;
        Ok(RenewReply { monotonic_ns, realtime_ns })
    }

    fn release(&self, request: &ReleaseRequest) -> Result<Done, Status> {
        self.host.release(&self.caller, &request.session)?;
        Ok(Done {})
    }

    fn impair(&self, request: &ImpairRequest) -> Result<ImpairReply, Status> {
        let ImpairRequest { address, delay_ns, loss, seed, session } = request;
        let session = self.host.working(&self.caller, session)?;
        let address: IpAddr = address
            .parse()
            .map_err(|_| Status::invalid_argument(format!("`{address}` is not an address")))?;
        let wanted = Impairment { delay: Span::from_nanoseconds(*delay_ns), loss: *loss };
        let how = self.host.impair(&self.caller, session, address, wanted, *seed)?;
        Ok(ImpairReply { how })
    }

    async fn prepare(&self, request: PrepareRequest) -> Result<PrepareReply, Status> {
        let PrepareRequest { cell, step, order, session } = request;
        let session = self.host.working(&self.caller, &session)?;
        let order: Order = order
            .read()
            .map_err(|error| Status::invalid_argument(format!("reading the order: {error}")))?;
        self.host.cell(session, cell, |_| ())?;
        let (order, claim) = self.host.admit(&self.caller, session, order).await?;
        let worker = Worker::prepare(self.host.executable(), &order, claim).await?;
        let endpoint = worker.endpoint.map(|endpoint| endpoint.to_string()).unwrap_or_default();
        // The session may have lapsed meanwhile; then the worker is dropped here, and so killed.
        self.host.still(session)?;
        self.host.cell(session, cell, |cell| cell.add(step, worker))?;
        Ok(PrepareReply { endpoint })
    }

    async fn start(&self, request: &StartRequest) -> Result<Done, Status> {
        let number = request.cell;
        let session = self.host.working(&self.caller, &request.session)?;
        let mut cell = self
            .host
            .with_work(session, |work| work.take(number))?
            .ok_or_else(|| unprepared(number))?;
        cell.start(session.is_some()).await;
        self.host.still(session)?;
        self.host.with_work(session, |work| work.cell = Some(cell))?;
        Ok(Done {})
    }

    async fn direct(&self, request: &DirectRequest) -> Result<DirectReply, Status> {
        let DirectRequest { cell: number, step, direction, session } = request;
        let session = self.host.working(&self.caller, session)?;
        let mut cell = self
            .host
            .with_work(session, |work| work.take(*number))?
            .ok_or_else(|| unprepared(*number))?;
        let directed = cell.direct(*step, *direction, session.is_some()).await;
        self.host.still(session)?;
        self.host.with_work(session, |work| work.cell = Some(cell))?;
        let cpu_ns = directed.ok_or_else(|| {
            Status::failed_precondition(format!("cell {number} has no step {step}"))
        })?;
        Ok(DirectReply { cpu_ns })
    }

    async fn follow(&self, request: &FollowRequest, parts: &PartSender) -> Result<Done, Status> {
        let FollowRequest { cell, step, heard, session } = request;
        let session = self.host.fetching(&self.caller, session)?;
        let ear = self.host.with_work(session, |work| work.heard(*cell, *step))?;
        let mut ear = ear.ok_or_else(|| {
            Status::failed_precondition(format!("step {step} of cell {cell} was not started"))
        })?;
        let mut said = usize::try_from(*heard).unwrap_or(usize::MAX);
        loop {
            let word = {
                let heard =
                    ear.wait_for(|heard| heard.words.len() > said || heard.account.is_some()).await;
                heard.ok().and_then(|heard| heard.words.get(said).cloned())
            };
            // No more follows its account, or its end.
            let Some(word) = word else { return Ok(Done {}) };
            parts.send(Json::from_text(word).map_err(internal("passing a word on"))?).await;
            said += 1;
        }
    }

    async fn collect(&self, request: CollectRequest) -> Result<CollectReply, Status> {
        let CollectRequest { cell, finishing, session } = request;
        let session = self.host.fetching(&self.caller, &session)?;
        let outcome = self.host.with_work(session, |work| work.collect(cell, finishing))?;
        let mut outcome = outcome.ok_or_else(|| unprepared(cell))?;
        let reply = match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err("nothing came of it".to_owned())),
            Err(_) => Err("its collection ended early".to_owned()),
        };
        if session.is_none() {
            self.host.with_work(session, |work| work.forget(cell))?;
        }
        reply.map_err(internal("collecting"))
    }

    fn abandon(&self, request: &AbandonRequest) -> Result<Done, Status> {
        let session = self.host.working(&self.caller, &request.session)?;
        self.host.with_work(session, SessionWork::abandon)?;
        Ok(Done {})
    }

    async fn prepare_disk_file(
        &self,
        request: PrepareDiskFileRequest,
    ) -> Result<PrepareDiskFileReply, Status> {
        let PrepareDiskFileRequest { directory, file_bytes, seed, session } = request;
        let session = self.host.working(&self.caller, &session)?;
        let size = Bytes::new(file_bytes);
        let PreparingDiskFile { directory, claim, stop } =
            self.host.prepare_disk_file(&self.caller, session, &directory, size)?;
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
        let path = text_of_path(&kept.file.path());
        self.host.still(session)?;
        self.host.with_work(session, |work| work.source = Some(kept))?;
        Ok(PrepareDiskFileReply { source: path })
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

#[cfg(test)]
mod tests;
