//! The agent of a station: a long-lived process that makes workers, starts them together, and brings their accounts.

mod cell;
pub mod door;
mod worker;

use std::path::PathBuf;
use std::sync::Mutex;

use btu_load::DiskSource;
use thiserror::Error;
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::protocol::agent_server::{Agent, AgentServer};
use crate::protocol::{
    AbandonReply, AbandonRequest, CollectReply, CollectRequest, FurnishReply, FurnishRequest, HelloReply, HelloRequest,
    MESSAGE_LIMIT_BYTES, PROTOCOL, PrepareReply, PrepareRequest, StartReply, StartRequest,
};
use cell::Cell;
use worker::Worker;

/// What an agent needs to know.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The station it speaks for.
    pub station: String,
    /// The Unix socket it listens on.
    pub socket: PathBuf,
    /// The program whose `internal worker` performs activities.
    pub executable: PathBuf,
}

/// Why an agent cannot work.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The runtime could not be made.
    #[error("starting the agent's runtime: {0}")]
    Runtime(#[source] std::io::Error),
    /// The socket could not be made.
    #[error("listening on {path}: {source}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The service ended.
    #[error("serving the agent's protocol: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// Serves until the process ends.
pub fn run(settings: AgentSettings) -> Result<(), AgentError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(AgentError::Runtime)?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: AgentSettings) -> Result<(), AgentError> {
    let listener = UnixListener::bind(&settings.socket)
        .map_err(|source| AgentError::Listen { path: settings.socket.clone(), source })?;
    let service = AgentServer::new(Service::new(settings))
        .max_decoding_message_size(MESSAGE_LIMIT_BYTES)
        .max_encoding_message_size(MESSAGE_LIMIT_BYTES);
    Server::builder().add_service(service).serve_with_incoming(UnixListenerStream::new(listener)).await?;
    Ok(())
}

struct Service {
    settings: AgentSettings,
    cell: Mutex<Option<Cell>>,
    /// Holds the disk activity's source file open; it has no name, so nothing is left when the agent dies.
    source: Mutex<Option<DiskSource>>,
}

impl Service {
    fn new(settings: AgentSettings) -> Self {
        Self { settings, cell: Mutex::new(None), source: Mutex::new(None) }
    }

    /// The cell `number`; a different one that is still there is ended (its workers are killed).
    fn with_cell<T>(&self, number: u64, act: impl FnOnce(&mut Cell) -> T) -> Result<T, Status> {
        let mut slot = self.cell.lock().map_err(|_| Status::internal("the agent's state is lost"))?;
        if slot.as_ref().is_none_or(|cell| cell.number != number) {
            *slot = Some(Cell::new(number).map_err(internal("reading CPU time"))?);
        }
        slot.as_mut().map(act).ok_or_else(|| Status::internal("the cell vanished"))
    }

    fn take_cell(&self, number: u64) -> Result<Cell, Status> {
        let mut slot = self.cell.lock().map_err(|_| Status::internal("the agent's state is lost"))?;
        match slot.take() {
            Some(cell) if cell.number == number => Ok(cell),
            _ => Err(Status::failed_precondition(format!("cell {number} is not prepared here"))),
        }
    }
}

/// An error of ours, named by the operation.
fn internal<E: std::fmt::Display>(operation: &'static str) -> impl Fn(E) -> Status {
    move |error| Status::internal(format!("{operation}: {error}"))
}

#[tonic::async_trait]
impl Agent for Service {
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let theirs = request.into_inner().protocol;
        if theirs != PROTOCOL {
            return Err(Status::failed_precondition(format!(
                "this agent speaks protocol {PROTOCOL} and the coordinator {theirs}: use the same btu on both"
            )));
        }
        Ok(Response::new(HelloReply {
            protocol: PROTOCOL,
            station: self.settings.station.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
        }))
    }

    async fn prepare(&self, request: Request<PrepareRequest>) -> Result<Response<PrepareReply>, Status> {
        let PrepareRequest { cell, step, order_json } = request.into_inner();
        self.with_cell(cell, |_| ())?;
        let worker = Worker::prepare(&self.settings.executable, &order_json).await?;
        let endpoint = worker.endpoint.map(|endpoint| endpoint.to_string()).unwrap_or_default();
        self.with_cell(cell, |cell| cell.add(step, worker))?;
        Ok(Response::new(PrepareReply { endpoint }))
    }

    async fn start(&self, request: Request<StartRequest>) -> Result<Response<StartReply>, Status> {
        let number = request.into_inner().cell;
        let mut cell = self.take_cell(number)?;
        cell.start().await;
        *self.cell.lock().map_err(|_| Status::internal("the agent's state is lost"))? = Some(cell);
        Ok(Response::new(StartReply {}))
    }

    async fn collect(&self, request: Request<CollectRequest>) -> Result<Response<CollectReply>, Status> {
        let CollectRequest { cell, finishing } = request.into_inner();
        let reply = self.take_cell(cell)?.collect(&finishing).await.map_err(internal("collecting"))?;
        Ok(Response::new(reply))
    }

    async fn abandon(&self, _request: Request<AbandonRequest>) -> Result<Response<AbandonReply>, Status> {
        // Dropping a cell kills its workers.
        drop(self.cell.lock().map_err(|_| Status::internal("the agent's state is lost"))?.take());
        Ok(Response::new(AbandonReply {}))
    }

    async fn furnish(&self, request: Request<FurnishRequest>) -> Result<Response<FurnishReply>, Status> {
        let FurnishRequest { directory, file_bytes, seed } = request.into_inner();
        let made = tokio::task::spawn_blocking(move || {
            DiskSource::make(directory.as_ref(), btu_units::Bytes::new(file_bytes), seed)
        });
        let source = made
            .await
            .map_err(internal("making the disk activity's source file"))?
            .map_err(|error| Status::resource_exhausted(error.to_string()))?;
        let path = source.path().to_string_lossy().into_owned();
        *self.source.lock().map_err(|_| Status::internal("the agent's state is lost"))? = Some(source);
        Ok(Response::new(FurnishReply { source: path }))
    }
}
