//! The agent's listener to the network: TCP, mutual TLS, and limits on the resources that a caller
//! can use before it has shown a certificate.
//!
//! ```text
//! accept --> so many a second --> at most 64 handshakes, 16 from one address, 5 s each --> at most 16 clients, 8 of one name --> the service
//!    |              |                     |                                             |
//!    +------------- closed ---------------+----------------- counted, and told in at most one line a second
//! ```
//!
//! If all places are taken, the oldest unfinished handshake is closed, so that a silent caller
//! cannot keep others out. Addresses of earlier clients have some reserved places.
//!
//! Nothing is sent to a caller before it has completed a TCP handshake and sent its TLS greeting,
//! so that no caller can use an agent to flood a third party.

mod client;
mod handle;
mod log;
mod pace;
mod places;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::trust::Peer;
pub use client::TlsClient;
pub use handle::{CallerCounts, ListenerHandle};
use handle::{Hand, HandshakePlace};
use log::RefusalCause;
pub use log::Tell;
pub use pace::RateLimit;

/// The limits of unknown callers and of clients on an agent.
#[derive(Debug, Clone, Copy)]
pub struct ListenerLimits {
    /// The time for a caller to become a client.
    pub handshake: Duration,
    /// The number of simultaneous handshakes.
    pub handshakes: usize,
    /// The number of them from one address (IPv6: from one /64, which is one host's to fill).
    pub handshakes_per_address: usize,
    /// The number of them that are reserved for addresses of earlier clients.
    pub kept_for_known: usize,
    /// The rate of callers of one network (a /24, IPv6: a /64), and of one address of earlier
    /// clients.
    pub network_pace: RateLimit,
    /// The rate of callers in all. A handshake without a certificate takes a third of a millisecond
    /// of a processor that may be measured meanwhile.
    pub pace: RateLimit,
    /// The number of simultaneous clients.
    pub clients: usize,
    /// The number of them with certificates of one name.
    pub clients_per_controller: usize,
}

impl ListenerLimits {
    /// Those of an agent.
    pub const STANDARD: Self = Self {
        handshake: Duration::from_secs(5),
        handshakes: 64,
        handshakes_per_address: 16,
        kept_for_known: 8,
        network_pace: RateLimit { burst: 100, per_second: 20 },
        pace: RateLimit { burst: 200, per_second: 100 },
        clients: 16,
        clients_per_controller: 8,
    };
}

/// How long the agent reads from a refused caller, so that the reason reaches the caller before the
/// connection is reset.
const LINGER: Duration = Duration::from_secs(1);
/// The number of bytes that the agent reads from it meanwhile.
const LINGER_BYTES: u64 = 256 << 10;
/// Connections that the kernel queues until they are accepted. Beyond it Linux drops new ones, also
/// those of controllers, and some callers (those with SYN cookies) get no error; the library's own
/// choice, 128, is full in a moment.
const WAITING: u32 = 1024;
/// When the system gives no connection (no descriptor is free, say), the pause until the next
/// attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A listener for TLS connections. Closes when it is dropped.
#[derive(Debug)]
pub struct TlsListener {
    clients: mpsc::Receiver<TlsClient>,
    handle: ListenerHandle,
    address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl TlsListener {
    /// Begins to listen, from within a runtime; `tell` gets the lines about refused callers.
    pub fn open(
        listen: SocketAddr,
        config: Arc<ServerConfig>,
        limits: ListenerLimits,
        tell: Tell,
    ) -> io::Result<Self> {
        let listener = listener(listen)?;
        let address = listener.local_addr()?;
        let handle = ListenerHandle::new(config, limits);
        // A client waits here only until the service accepts it.
        let (arrived, clients) = mpsc::channel(1);
        let tasks = [
            tokio::spawn(keep(listener, handle.clone(), arrived)),
            tokio::spawn(log::write(handle.clone(), tell)),
        ];
        Ok(Self { clients, handle, address, tasks })
    }

    /// The IP address and port on which the listener waits for connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The handle that controls the listener while the service waits for clients.
    pub fn handle(&self) -> ListenerHandle {
        self.handle.clone()
    }

    /// The next client; `None` when the listener has failed. No client is lost when this is dropped.
    pub async fn accept(&mut self) -> Option<TlsClient> {
        self.clients.recv().await
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn listener(on: SocketAddr) -> io::Result<TcpListener> {
    let socket = if on.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // An agent that is started again takes its port at once.
    socket.set_reuseaddr(true)?;
    socket.bind(on)?;
    socket.listen(WAITING)
}

async fn keep(listener: TcpListener, handle: ListenerHandle, arrived: mpsc::Sender<TlsClient>) {
    loop {
        match listener.accept().await {
            Ok((stranger, from)) => {
                let from = from.ip().to_canonical();
                match handle.try_hand(from) {
                    Ok(hand) => drop(tokio::spawn(attend(
                        stranger,
                        from,
                        handle.clone(),
                        hand,
                        arrived.clone(),
                    ))),
                    Err(cause) => handle.turned_away(from, cause),
                }
            }
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

/// Performs the handshake of a caller until it is a client or is refused. It is also refused when
/// another caller needs its place.
async fn attend(
    stranger: TcpStream,
    from: IpAddr,
    handle: ListenerHandle,
    mut hand: Hand,
    arrived: mpsc::Sender<TlsClient>,
) {
    let client = tokio::select! {
        // An accepted client stays, even where another caller needs its place at the same moment.
        biased;
        client = receive(stranger, (hand.number(), from), &handle) => client,
        // The caller that took its place counts a handshake that had to leave.
        () = hand.taken_away() => None,
    };
    drop(hand);
    if let Some(client) = client {
        // It fails when the listener closes meanwhile.
        let _ = arrived.send(client).await;
    }
}

async fn receive(
    stranger: TcpStream,
    (number, from): (u64, IpAddr),
    handle: &ListenerHandle,
) -> Option<TlsClient> {
    // Answers are small and must leave at once; a failure of this call only delays them.
    let _ = stranger.set_nodelay(true);
    let (authority, config) = handle.config();
    let shaking = TlsAcceptor::from(config).accept(stranger).into_fallible();
    let client = match tokio::time::timeout(handle.limits().handshake, shaking).await {
        Ok(Ok(stream)) => welcome(stream, HandshakePlace { number, from, authority }, handle),
        Ok(Err((error, stranger))) => {
            handle.refuse(number, from, RefusalCause::Refused(error.to_string()));
            // The refused caller keeps its place meanwhile, which bounds the lingering, too.
            see_out(stranger).await;
            return None;
        }
        Err(_) => Err(RefusalCause::Slow),
    };
    client.map_err(|cause| handle.refuse(number, from, cause)).ok()
}

fn welcome(
    stream: TlsStream<TcpStream>,
    place: HandshakePlace,
    handle: &ListenerHandle,
) -> Result<TlsClient, RefusalCause> {
    let peer = Peer::of(stream.get_ref().1.peer_certificates());
    let peer = peer.map_err(|error| RefusalCause::Refused(error.to_string()))?;
    handle.welcome(place, stream, peer)
}

/// Ends a connection so that the last message to it arrives: closing with unread data would reset
/// it (RFC 9293 section 3.10.4, RFC 1122 section 4.2.2.13).
async fn see_out(mut stranger: TcpStream) {
    let listened = async {
        stranger.shutdown().await?;
        tokio::io::copy(&mut stranger.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(LINGER, listened).await;
}
