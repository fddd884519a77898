//! A connection with a verified certificate of its peer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;

use super::super::caller::Connection;
use super::handle::Stay;
use crate::trust::Peer;

/// A client; its place is free again when it is dropped.
#[derive(Debug)]
pub struct TlsClient {
    pub(super) stream: TlsStream<TcpStream>,
    pub(super) peer: Peer,
    /// Fires when the client must be disconnected: its certificate was revoked, or its authority is
    /// no longer the agent's.
    pub(super) dismissed: oneshot::Receiver<()>,
    /// The time of the next check of its certificate.
    pub(super) look: Pin<Box<Sleep>>,
    /// Why it must be disconnected.
    pub(super) over: Option<&'static str>,
    pub(super) stay: Stay,
}

/// The longest interval of checks of a certificate's last day: the clock may be set, or the machine
/// may sleep.
const LOOK: Duration = Duration::from_mins(1);

/// The time of the next check of a certificate that is valid for this time.
pub(super) fn look(left: Duration) -> Instant {
    Instant::now() + left.min(LOOK)
}

impl TlsClient {
    /// The peer at the other end, as its verified certificate names it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The addresses of the connection; `None` if the system does not report them.
    pub fn connection(&self) -> Option<Connection> {
        let socket = self.stream.get_ref().0;
        let ends = socket.local_addr().and_then(|local| Ok((local, socket.peer_addr()?)));
        ends.ok().map(|(local, remote)| Connection::between(local, remote))
    }

    /// Fails from the moment at which the peer's certificate is not valid any more: nothing more is
    /// read from that controller, and answers that were ready before are not sent.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.over.is_none() {
            self.over = self.ends(context);
        }
        self.over.map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)))
    }

    fn ends(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        if Pin::new(&mut self.dismissed).poll(context).is_ready() {
            return Some("the certificate of this connection's peer is not trusted any more");
        }
        while self.look.as_mut().poll(context).is_ready() {
            let Some(left) = self.peer.left() else {
                self.stay.lapsed(&self.peer);
                return Some("the certificate of this connection's peer has lapsed");
            };
            self.look.as_mut().reset(look(left));
        }
        None
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TlsStream<TcpStream>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for TlsClient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The service always waits for the next frame, so this alone ends the connection.
        self.check(context)?;
        self.stream().poll_read(context, into)
    }
}

impl AsyncWrite for TlsClient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        self.stream().poll_write(context, from)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        self.stream().poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
