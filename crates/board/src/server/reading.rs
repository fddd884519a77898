//! The connection of a reader, slow or not: it ends when the reader takes nothing of an answer for too long.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use btu_traffic::tcp_info;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The longest time in which a caller takes nothing of an answer.
const LONGEST_UNREAD: Duration = Duration::from_secs(30);

/// How often the system is asked whether a caller has taken something.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When a reader took something last. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct LastTaken(Arc<Mutex<Instant>>);

impl LastTaken {
    fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn at(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that fails when its reader takes nothing for [`LONGEST_UNREAD`].
///
/// `TCP_USER_TIMEOUT` does not know that: where the reader's window has no room for a whole segment, the kernel counts from
/// the first probe of it, and ends a connection that moved all the time.
pub(super) struct ReaderStream {
    stream: TcpStream,
    taken: LastTaken,
    /// The octets that the reader's system had when this one was asked last.
    acknowledged: u64,
    /// Until it is asked again; absent while all that is to go is taken.
    next_look: Option<Pin<Box<Sleep>>>,
}

impl ReaderStream {
    pub(super) fn of(stream: TcpStream) -> Self {
        Self { stream, taken: LastTaken::now(), acknowledged: 0, next_look: None }
    }

    pub(super) fn last_taken(&self) -> LastTaken {
        self.taken.clone()
    }

    /// What came of a write; an error if it waits for a reader who takes nothing.
    fn unless_unread(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.next_look = None;
            self.taken.note();
            return written;
        }
        loop {
            let next = self.next_look.get_or_insert_with(|| Box::pin(sleep(LOOK_EVERY)));
            ready!(next.as_mut().poll(context));
            self.next_look = None;
            let acknowledged = tcp_info(&self.stream).map_or(0, |info| info.bytes_acked);
            if acknowledged != std::mem::replace(&mut self.acknowledged, acknowledged) {
                self.taken.note();
            }
            if self.taken.at().elapsed() >= LONGEST_UNREAD {
                // What is left is forgotten; the system would offer it for minutes.
                let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
    }
}

impl AsyncRead for ReaderStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ReaderStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, octets);
        self.unless_unread(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.unless_unread(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
