//! A connection that fills the network in one direction.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use h2::client::SendRequest;
use http::{Request, Uri};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Dial, SEND_BUFFER, failed, plain};
use crate::error::ResponsivenessError;
use crate::report::Way;

/// The most octets that are handed over at a time: one frame that every peer must take (RFC 9113,
/// section 4.2).
const MOST: usize = SEND_BUFFER;

/// What is sent; its content does not matter.
static ZEROS: [u8; MOST] = [0; MOST];

/// At least so many octets may wait, for a few segments, and so many are handed over at a time, for one.
const LEAST: usize = 4 << 10;
const LEAST_PIECE: usize = 1300;

/// What may wait may take so long at the measured rate (draft, section 6.1.1).
const SECONDS: f64 = 0.005;

/// So long data are waited for that the HTTP/2 library keeps: a peer whose window is below its buffer never
/// shows that it keeps none.
const KEPT: Duration = Duration::from_millis(100);

/// How much of a transfer may wait unsent at its sender: so little that a request need not wait behind it
/// for long, and enough for the rate.
#[derive(Debug)]
pub(crate) struct Waiting {
    socket: TcpStream,
    /// Octets that are handed over at a time.
    piece: AtomicUsize,
}

impl Waiting {
    /// Of this connection: little, until its rate is known.
    pub(crate) fn new(socket: &OwnedFd) -> io::Result<Self> {
        let socket = TcpStream::from_std(socket.try_clone()?.into())?;
        let waiting = Self { socket, piece: AtomicUsize::new(LEAST_PIECE) };
        waiting.limit(0.0);
        Ok(waiting)
    }

    /// Limits what waits to the octets of 5 ms at the measured rate.
    ///
    /// The kernel calls a socket writable while less than half of its mark waits unsent (`tcp_poll` and
    /// `tcp_stream_memory_free` in net/ipv4/tcp.c). The mark is half of the limit, and two pieces come on top at
    /// most: the one that is handed over then, and one before it that is on its way to the socket.
    pub(crate) fn limit(&self, bits_per_second: f64) {
        let limit = ((bits_per_second / 8.0 * SECONDS) as usize).max(LEAST);
        self.piece.store((limit / 4).clamp(LEAST_PIECE, MOST), Ordering::Relaxed);
        let mark = u32::try_from(limit / 2).unwrap_or(u32::MAX);
        // A kernel that refuses keeps its own mark.
        let _ = SockRef::from(&self.socket).set_tcp_notsent_lowat(mark);
    }

    /// Waits until little waits. A write alone would not: the kernel looks at the mark only where a write
    /// needs a new buffer of up to 64 KiB, and fills the one before whatever the mark is.
    async fn room(&self) -> io::Result<()> {
        loop {
            self.socket.writable().await?;
            // Asking also makes the kernel tell when that changes.
            match self.socket.try_io(Interest::WRITABLE, || is_writable(&self.socket)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                asked => return asked,
            }
        }
    }
}

/// # Errors
/// It is not, or the system does not say.
fn is_writable(socket: &TcpStream) -> io::Result<()> {
    let mut asked = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut asked, PollTimeout::ZERO)? > 0 {
        Ok(())
    } else {
        Err(ErrorKind::WouldBlock.into())
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
        let waiting = Waiting::new(&connection.socket)
            .map_err(|source| failed(dial.server, "limit what waits for", source))?;
        let waiting = Arc::new(waiting);
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
        self.waiting.limit(bits_per_second);
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

/// Sends `octets` as fast as the peer takes them, a piece at a time.
pub(crate) async fn fill(
    body: &mut SendStream<Bytes>,
    octets: u64,
    waiting: &Waiting,
) -> io::Result<()> {
    let mut left = octets;
    while left > 0 {
        waiting.room().await?;
        // What was handed over before has to be in the socket, or it would not count there.
        let room = match tokio::time::timeout(KEPT, whole_room(body)).await {
            Ok(room) => room?,
            Err(_) => body.capacity(),
        };
        let piece = waiting.piece.load(Ordering::Relaxed);
        let room = room.min(piece).min(usize::try_from(left).unwrap_or(piece));
        if room > 0 {
            body.send_data(Bytes::from_static(&ZEROS[..room]), false).map_err(plain)?;
            left -= room as u64;
        }
    }
    Ok(())
}

/// Waits until the HTTP/2 library keeps nothing of this stream, as far as the peer's window tells.
async fn whole_room(body: &mut SendStream<Bytes>) -> io::Result<usize> {
    loop {
        body.reserve_capacity(SEND_BUFFER);
        if body.capacity() >= SEND_BUFFER {
            return Ok(SEND_BUFFER);
        }
        match poll_fn(|context| body.poll_capacity(context)).await {
            Some(room) => room.map_err(plain)?,
            None => return Err(io::Error::other("the peer takes no more")),
        };
    }
}
