//! The agent's door to the network: TCP, mutual TLS, and limits on what anybody can make it spend before he has shown a
//! certificate.
//!
//! ```text
//! accept --> so many a second --> at most 64 handshakes, 16 from one address, 5 s each --> at most 16 guests --> the service
//!    |              |                     |                                             |
//!    +------------- closed ---------------+----------------- counted, and told in at most one line a second
//! ```
//!
//! Where all places are taken, the oldest handshake that is not finished has to leave, so that nobody keeps others out by
//! saying nothing. Addresses from which guests have come before have some places for themselves.
//!
//! Nothing is sent to anybody before he has completed a TCP handshake and said what TLS asks him to say, so that nobody can
//! use an agent to flood a third party.

mod guest;
mod keeper;
mod log;
mod pace;
mod places;
mod server;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::trust::Peer;
pub use guest::Guest;
pub use keeper::{Counts, Keeper};
use keeper::{Hand, Place};
use log::Cause;
pub use log::Tell;
pub use pace::Pace;
pub use server::server;

/// What strangers, and guests, can make an agent spend.
#[derive(Debug, Clone, Copy)]
pub struct DoorLimits {
    /// How long a stranger may take to become a guest.
    pub handshake: Duration,
    /// How many may try at once.
    pub handshakes: usize,
    /// How many of them from one address (IPv6: from one /64, which is one host's to fill).
    pub handshakes_per_address: usize,
    /// How many of them are for addresses from which guests have come.
    pub kept_for_known: usize,
    /// How often strangers of one network (a /24, IPv6: a /64) may come, and one address from which guests have come.
    pub network_pace: Pace,
    /// How often strangers may come in all. A handshake without a certificate takes a third of a millisecond of a processor
    /// that may be measured meanwhile.
    pub pace: Pace,
    /// How many guests there may be.
    pub guests: usize,
}

impl DoorLimits {
    /// Those of an agent.
    pub const STANDARD: Self = Self {
        handshake: Duration::from_secs(5),
        handshakes: 64,
        handshakes_per_address: 16,
        kept_for_known: 8,
        network_pace: Pace { burst: 100, per_second: 20 },
        pace: Pace { burst: 200, per_second: 100 },
        guests: 16,
    };
}

/// How long a refused stranger is listened to, so that the reason reaches him before the connection is reset.
const LINGER: Duration = Duration::from_secs(1);
/// How much of what he still says is read meanwhile, bytes.
const LINGER_BYTES: u64 = 256 << 10;
/// Connections that the kernel holds until they are looked at. Beyond it Linux drops newcomers, a controller's among them,
/// and some of them (those with SYN cookies) never hear of it; the library's own choice, 128, is full in a moment.
const WAITING: u32 = 1024;
/// When the system gives no connection (no descriptor is free, say), how long until the next attempt.
const RESPITE: Duration = Duration::from_millis(100);

/// An open door: the stream of its guests, for `serve_with_incoming`. Closes when it is dropped.
#[derive(Debug)]
pub struct Door {
    guests: mpsc::Receiver<Guest>,
    keeper: Keeper,
    address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl Door {
    /// Opens the door, from within a runtime; `tell` gets the lines about those who were turned away.
    pub fn open(listen: SocketAddr, config: Arc<ServerConfig>, limits: DoorLimits, tell: Tell) -> io::Result<Self> {
        let listener = listener(listen)?;
        let address = listener.local_addr()?;
        let keeper = Keeper::new(config, limits);
        // A guest waits here only until the service takes it in.
        let (arrived, guests) = mpsc::channel(1);
        let tasks =
            [tokio::spawn(keep(listener, keeper.clone(), arrived)), tokio::spawn(log::write(keeper.clone(), tell))];
        Ok(Self { guests, keeper, address, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What goes on steering the door when the stream of guests is in the service's hands.
    pub fn keeper(&self) -> Keeper {
        self.keeper.clone()
    }
}

impl Stream for Door {
    type Item = io::Result<Guest>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.guests.poll_recv(context).map(|guest| guest.map(Ok))
    }
}

impl Drop for Door {
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

async fn keep(listener: TcpListener, keeper: Keeper, arrived: mpsc::Sender<Guest>) {
    loop {
        match listener.accept().await {
            Ok((stranger, from)) => {
                let from = from.ip().to_canonical();
                match keeper.try_hand(from) {
                    Ok(hand) => drop(tokio::spawn(attend(stranger, from, keeper.clone(), hand, arrived.clone()))),
                    Err(cause) => keeper.turned_away(from, cause),
                }
            }
            Err(_) => tokio::time::sleep(RESPITE).await,
        }
    }
}

/// From stranger to guest, or out; also when somebody else needs the place.
async fn attend(stranger: TcpStream, from: IpAddr, keeper: Keeper, mut hand: Hand, arrived: mpsc::Sender<Guest>) {
    let guest = tokio::select! {
        // Who is welcome stays, though his place be asked for in the same moment.
        biased;
        guest = receive(stranger, (hand.number(), from), &keeper) => guest,
        // Who had to leave is counted by whom he left for.
        () = hand.taken_away() => None,
    };
    drop(hand);
    if let Some(guest) = guest {
        // It fails when the door closes meanwhile.
        arrived.send(guest).await.ok();
    }
}

async fn receive(stranger: TcpStream, (number, from): (u64, IpAddr), keeper: &Keeper) -> Option<Guest> {
    // Answers are small and wanted at once; that it fails would only make them later.
    stranger.set_nodelay(true).ok();
    let (authority, config) = keeper.config();
    let shaking = TlsAcceptor::from(config).accept(stranger).into_fallible();
    let guest = match tokio::time::timeout(keeper.limits().handshake, shaking).await {
        Ok(Ok(stream)) => welcome(stream, Place { number, from, authority }, keeper),
        Ok(Err((error, stranger))) => {
            keeper.refuse(number, from, Cause::Refused(error.to_string()));
            // His place stays taken meanwhile, so that lingering is bounded, too.
            see_out(stranger).await;
            return None;
        }
        Err(_) => Err(Cause::Slow),
    };
    guest.map_err(|cause| keeper.refuse(number, from, cause)).ok()
}

fn welcome(stream: TlsStream<TcpStream>, place: Place, keeper: &Keeper) -> Result<Guest, Cause> {
    let peer = Peer::of(stream.get_ref().1.peer_certificates());
    let peer = peer.map_err(|error| Cause::Refused(error.to_string()))?;
    keeper.welcome(place, stream, peer)
}

/// Ends a connection so that what was last said to it arrives: closing with unread data would reset it (RFC 9293 section
/// 3.10.4, RFC 1122 section 4.2.2.13).
async fn see_out(mut stranger: TcpStream) {
    let listened = async {
        stranger.shutdown().await?;
        tokio::io::copy(&mut stranger.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    drop(tokio::time::timeout(LINGER, listened).await);
}
