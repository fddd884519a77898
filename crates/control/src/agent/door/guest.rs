//! A connection whose peer has shown a certificate.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::keeper::Stay;
use crate::trust::Peer;

/// A guest; its place is free again when it is dropped.
#[derive(Debug)]
pub struct Guest {
    pub(super) stream: TlsStream<TcpStream>,
    pub(super) peer: Peer,
    /// Fires when the guest has to go: its certificate was revoked.
    pub(super) dismissed: oneshot::Receiver<()>,
    pub(super) _stay: Stay,
}

impl Guest {
    /// Who it is.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TlsStream<TcpStream>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connected for Guest {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Guest {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // The service always waits for the next frame, so this alone ends the connection.
        if Pin::new(&mut self.dismissed).poll(context).is_ready() {
            let gone = "the certificate of this connection's peer was revoked";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, gone)));
        }
        self.stream().poll_read(context, into)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, from)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
