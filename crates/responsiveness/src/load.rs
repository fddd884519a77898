//! A connection that fills the network in one direction.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use h2::SendStream;
use h2::client::SendRequest;
use http::{Request, Uri};
use socket2::SockRef;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Dial, plain};
use crate::error::ResponsivenessError;
use crate::report::Way;

/// The most octets that are handed over at a time: one frame that every peer must take (RFC 9113,
/// section 4.2).
const MOST: usize = 16 << 10;

/// The fewest octets: a few segments.
const LEAST: usize = 4 << 10;

/// What is sent; its content does not matter.
static ZEROS: [u8; MOST] = [0; MOST];

/// How much of a transfer may wait at its sender: so much that a request need not wait behind it for
/// long, and enough for the rate.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Octets of one frame.
    piece: AtomicUsize,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { piece: AtomicUsize::new(LEAST) }
    }
}

impl Waiting {
    /// Limits what waits to the octets of 5 ms at the measured rate (draft, section 6.1.1): in the socket,
    /// and in a frame.
    pub(crate) fn limit(&self, socket: &OwnedFd, bits_per_second: f64) {
        const SECONDS: f64 = 0.005;
        let octets = (bits_per_second / 8.0 * SECONDS) as usize;
        self.piece.store(octets.clamp(LEAST, MOST), Ordering::Relaxed);
        let in_socket = u32::try_from(octets.max(LEAST)).unwrap_or(u32::MAX);
        // A kernel that refuses keeps its own limit.
        let _ = SockRef::from(socket).set_tcp_notsent_lowat(in_socket);
    }
}

/// A connection with a request without end.
pub(crate) struct Load {
    connection: Connection,
    way: Way,
    received: Arc<AtomicU64>,
    waiting: Arc<Waiting>,
    worker: JoinHandle<io::Result<()>>,
}

impl Drop for Load {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

impl Load {
    /// Connects, and begins.
    ///
    /// # Errors
    /// No connection, or the request is refused.
    pub(crate) async fn begin(
        dial: &Dial,
        way: Way,
        uri: &Uri,
    ) -> Result<Self, ResponsivenessError> {
        let connection = dial.connect().await?;
        let received = Arc::new(AtomicU64::new(0));
        let waiting = Arc::new(Waiting::default());
        waiting.limit(&connection.socket, 0.0);
        let (requests, uri, counter) =
            (connection.requests.clone(), uri.clone(), Arc::clone(&received));
        let worker = match way {
            Way::Down => tokio::spawn(download(requests, uri, counter)),
            Way::Up => tokio::spawn(upload(requests, uri, Arc::clone(&waiting))),
        };
        Ok(Self { connection, way, received, waiting, worker })
    }

    /// Octets that have arrived so far at the far end of this direction.
    pub(crate) fn arrived(&self) -> u64 {
        match self.way {
            Way::Down => self.received.load(Ordering::Relaxed),
            Way::Up => {
                btu_traffic::tcp_info(&*self.connection.socket).map_or(0, |info| info.bytes_acked)
            }
        }
    }

    /// Lets less data wait in the socket, so that a request need not wait behind it.
    pub(crate) fn limit_waiting(&self, bits_per_second: f64) {
        self.waiting.limit(&self.connection.socket, bits_per_second);
    }

    /// For probes on this connection.
    pub(crate) fn requests(&self) -> SendRequest<Bytes> {
        self.connection.requests.clone()
    }

    /// Why it has ended, if it has: it should not.
    pub(crate) async fn failure(&mut self) -> Option<io::Error> {
        if !self.worker.is_finished() {
            return None;
        }
        Some(match (&mut self.worker).await {
            Ok(Err(error)) => error,
            Ok(Ok(())) => io::Error::other("the server ended a transfer that should have no end"),
            Err(error) => io::Error::other(error),
        })
    }
}

async fn download(
    requests: SendRequest<Bytes>,
    uri: Uri,
    received: Arc<AtomicU64>,
) -> io::Result<()> {
    let request = Request::get(uri.clone()).header("accept-encoding", "identity").body(());
    let request = request.map_err(io::Error::other)?;
    let mut requests = requests.ready().await.map_err(plain)?;
    let (answer, _) = requests.send_request(request, true).map_err(plain)?;
    let answer = answer.await.map_err(plain)?;
    if !answer.status().is_success() {
        return Err(io::Error::other(format!("answers {} with {}", uri.path(), answer.status())));
    }
    let mut body = answer.into_body();
    while let Some(part) = body.data().await {
        let octets = part.map_err(plain)?.len();
        received.fetch_add(octets as u64, Ordering::Relaxed);
        body.flow_control().release_capacity(octets).map_err(plain)?;
    }
    Ok(())
}

async fn upload(requests: SendRequest<Bytes>, uri: Uri, waiting: Arc<Waiting>) -> io::Result<()> {
    let request = Request::post(uri).header("content-type", "application/octet-stream").body(());
    let request = request.map_err(io::Error::other)?;
    let mut requests = requests.ready().await.map_err(plain)?;
    let (answer, mut body) = requests.send_request(request, false).map_err(plain)?;
    tokio::select! {
        sent = fill(&mut body, u64::MAX, &waiting) => sent,
        answer = answer => {
            let status = answer.map_err(plain)?.status();
            Err(io::Error::other(format!("answered {status} before the upload ended")))
        }
    }
}

/// Sends `octets` as fast as the peer takes them.
pub(crate) async fn fill(
    body: &mut SendStream<Bytes>,
    octets: u64,
    waiting: &Waiting,
) -> io::Result<()> {
    let mut left = octets;
    while left > 0 {
        let piece = waiting.piece.load(Ordering::Relaxed);
        body.reserve_capacity(piece);
        let room = match poll_fn(|context| body.poll_capacity(context)).await {
            Some(room) => room.map_err(plain)?,
            None => return Err(io::Error::other("the peer takes no more")),
        };
        let room = room.min(piece).min(usize::try_from(left).unwrap_or(piece));
        if room > 0 {
            body.send_data(Bytes::from_static(&ZEROS[..room]), false).map_err(plain)?;
            left -= room as u64;
        }
    }
    Ok(())
}
