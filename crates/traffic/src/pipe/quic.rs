//! QUIC: a bidirectional stream of one connection, by quinn on a runtime of this thread.
//!
//! The connection is driven while a call waits, and by a thread of its own while its owner does
//! something else. The near end opens the stream and sends the token first. Only the idle timeout
//! (RFC 9000, section 10.1) detects a silent peer; keep-alives prevent it for a living one. Ends
//! that compute between messages cannot send keep-alives; then nothing times out, and the starter
//! of both ends bounds the time.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use btu_contract::activity::{PipeMeeting, Rendezvous, Token};
use btu_contract::peers::{Callers, Refused};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream,
    ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::check::network;
use super::http2::runtime;
use super::pieces::ended;
use super::{Pipe, Setup, Terms, certificate};
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;
use crate::token;

/// A silence this long means that the peer is gone. It is shorter than the two seconds after which
/// an end must know.
const SILENCE_MS: u32 = 1500;

/// Like `SILENCE_MS`, if ends alternate or there are several pairs: then their starter sees at once
/// when one is killed, and a machine that stops for a while should not end a run.
const LONG_SILENCE_MS: u32 = 5000;

/// The interval of keep-alives of an idle end.
const KEEP_ALIVE: Duration = Duration::from_millis(400);

/// Flow-control windows of the stream and of the connection: more than the largest message.
const WINDOW: u32 = 16 << 20;

/// How long a caller may take to present the token, and how many may try at a time.
const HESITATION: Duration = Duration::from_secs(1);
const CALLERS: usize = 32;

/// The time for which an end waits until the other has received its last message.
const FAREWELL: Duration = Duration::from_secs(1);

/// A QUIC end that is bound.
pub(super) struct Quic {
    socket: UdpSocket,
    local: SocketAddr,
    callee: Option<SocketAddr>,
    token: Token,
    callers: Callers,
    /// A silence this long means that the peer is gone; `None` if silence is normal.
    silence_ms: Option<u32>,
}

/// An established stream: its connection, and both directions.
type QuicStream = (Connection, SendStream, RecvStream);

impl Setup for Quic {
    type Pipe = QuicPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let (address, callee) = match *network(meeting)? {
            Rendezvous::Listen(address) => (SocketAddr::new(address, 0), None),
            Rendezvous::Connect(peer @ SocketAddr::V4(_)) => {
                ((Ipv4Addr::UNSPECIFIED, 0).into(), Some(peer))
            }
            Rendezvous::Connect(peer @ SocketAddr::V6(_)) => {
                ((Ipv6Addr::UNSPECIFIED, 0).into(), Some(peer))
            }
        };
        let bind = || {
            let socket = UdpSocket::bind(address)?;
            let local = socket.local_addr()?;
            Ok((socket, local))
        };
        let (socket, local) = bind().map_err(|source| TrafficError::Listen { address, source })?;
        let is_long = terms.turns || terms.plan.pairs > 1;
        let silence_ms =
            (!terms.works).then_some(if is_long { LONG_SILENCE_MS } else { SILENCE_MS });
        let callers = terms.callers.clone();
        Ok(Self { socket, local, callee, token: terms.token, callers, silence_ms })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.callee.is_none().then_some(self.local)
    }

    fn meet(self, limit: &Limit<'_>) -> Result<QuicPipe, TrafficError> {
        let object = self.callee.unwrap_or(self.local);
        let failed =
            |source| TrafficError::Socket { operation: "open a QUIC connection", object, source };
        let runtime = runtime().map_err(failed)?;
        let (endpoint, segments) = runtime
            .block_on(async { open(self.socket, self.callee, self.silence_ms) })
            .map_err(failed)?;
        let mut meeting = Box::pin(async {
            match self.callee {
                Some(peer) => call(&endpoint, peer, &self.token).await,
                None => admit(&endpoint, &self.token, &self.callers).await,
            }
        });
        let (connection, sends, receives) = loop {
            limit.check(now(), "find the peer", object)?;
            if let Ok(met) = runtime.block_on(async { timeout(TICK, &mut meeting).await }) {
                break met.map_err(failed)?;
            }
        };
        drop(meeting);
        Ok(QuicPipe {
            runtime: Arc::new(runtime),
            driver: None,
            endpoint,
            connection,
            sends,
            receives,
            segments,
        })
    }
}

/// The endpoint, and how many datagrams its socket hands to the kernel at once.
fn open(
    socket: UdpSocket,
    callee: Option<SocketAddr>,
    silence_ms: Option<u32>,
) -> io::Result<(Endpoint, usize)> {
    let transport = Arc::new(transport(silence_ms));
    let serve = || {
        let crypto =
            QuicServerConfig::try_from(certificate::server()?).map_err(io::Error::other)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::clone(&transport));
        io::Result::Ok(config)
    };
    let server = if callee.is_none() { Some(serve()?) } else { None };
    let socket = quinn::Runtime::wrap_udp_socket(&TokioRuntime, socket)?;
    let segments = socket.max_transmit_segments();
    let runtime = Arc::new(TokioRuntime);
    let mut endpoint =
        Endpoint::new_with_abstract_socket(EndpointConfig::default(), server, socket, runtime)?;
    let crypto =
        QuicClientConfig::try_from(certificate::any_server()?).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport);
    endpoint.set_default_client_config(config);
    Ok((endpoint, segments))
}

fn transport(silence_ms: Option<u32>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(silence_ms.map(|silence| VarInt::from_u32(silence).into()))
        .keep_alive_interval(silence_ms.map(|_| KEEP_ALIVE))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW));
    transport
}

/// Calls until the peer answers: it may not be there yet.
async fn call(endpoint: &Endpoint, peer: SocketAddr, token: &Token) -> io::Result<QuicStream> {
    let connection = loop {
        match endpoint.connect(peer, certificate::NAME).map_err(io::Error::other)?.await {
            Ok(connection) => break connection,
            Err(quinn::ConnectionError::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    };
    let (mut sends, receives) = connection.open_bi().await?;
    sends.write_all(token).await?;
    Ok((connection, sends, receives))
}

/// Accepts an allowed caller that presents the token; all others are disconnected and do not delay
/// it. A caller that has not proved its address is only asked to prove it (RFC 9000, section
/// 8.1.2), in fewer octets than it sent.
async fn admit(endpoint: &Endpoint, token: &Token, allowed: &Callers) -> io::Result<QuicStream> {
    let mut callers = JoinSet::new();
    loop {
        tokio::select! {
            caller = endpoint.accept() => match caller {
                Some(caller) if !allowed.may_call(caller.remote_address()) => caller.ignore(),
                // It fails only for an address that is proved.
                Some(caller) if !caller.remote_address_validated() => {
                    let _ = caller.retry();
                }
                Some(caller) if callers.len() < CALLERS => drop(callers.spawn(timeout(HESITATION, hear(caller, *token, allowed.clone())))),
                Some(caller) => caller.refuse(),
                None => return Err(ended()),
            },
            // After any result of a caller, the loop waits for the next one, too.
            Some(heard) = callers.join_next() => if let Ok(Ok(Ok(met))) = heard {
                return Ok(met);
            },
        }
    }
}

async fn hear(caller: Incoming, token: Token, allowed: Callers) -> io::Result<QuicStream> {
    let from = caller.remote_address().ip();
    let connection = caller.await?;
    let (sends, mut receives) = connection.accept_bi().await?;
    let mut said = Token::default();
    receives.read_exact(&mut said).await.map_err(gone)?;
    if token::is_same(&said, &token) {
        return Ok((connection, sends, receives));
    }
    allowed.refuse(from, Refused::WrongToken);
    connection.close(VarInt::from_u32(1), b"not the token of this flow");
    Err(io::Error::new(ErrorKind::PermissionDenied, "not the token of this flow"))
}

/// A thread that drives a connection until it gets the order to stop.
struct BackgroundDriver {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl BackgroundDriver {
    fn start(runtime: Arc<Runtime>) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let drive = move || {
            let _ = runtime.block_on(stopped);
        };
        Ok(Self { stop, thread: thread::Builder::new().name("driver".to_owned()).spawn(drive)? })
    }

    fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// An end of a stream.
pub(super) struct QuicPipe {
    runtime: Arc<Runtime>,
    /// Drives the connection while no caller uses it.
    driver: Option<BackgroundDriver>,
    endpoint: Endpoint,
    connection: Connection,
    sends: SendStream,
    receives: RecvStream,
    segments: usize,
}

impl QuicPipe {
    /// Takes over from the driver.
    #[inline]
    fn take_over(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.stop();
        }
    }
}

impl Drop for QuicPipe {
    fn drop(&mut self) {
        self.take_over();
    }
}

impl Pipe for QuicPipe {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.take_over();
        let Self { runtime, sends, .. } = self;
        runtime.block_on(async { sends.write_all(message).await.map_err(io::Error::from) })
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.take_over();
        let Self { runtime, receives, .. } = self;
        runtime.block_on(async { receives.read_exact(room).await.map_err(gone) })
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        self.take_over();
        let Self { runtime, sends, receives, .. } = self;
        runtime.block_on(async {
            let (sent, received) =
                tokio::join!(sends.write_all(message), receives.read_exact(room));
            sent?;
            received.map_err(gone)
        })
    }

    fn rest(&mut self) {
        if self.driver.is_none() {
            // Without a thread, acknowledgements only wait for this end's next call.
            self.driver = BackgroundDriver::start(Arc::clone(&self.runtime)).ok();
        }
    }

    fn close(&mut self) {
        self.take_over();
        let Self { runtime, connection, sends, .. } = self;
        // Either all is acknowledged, or the other end has closed, which it does when it has
        // received all data.
        if sends.finish().is_ok() {
            runtime.block_on(async { drop(timeout(FAREWELL, sends.stopped()).await) });
        }
        connection.close(VarInt::from_u32(0), b"farewell");
        runtime.block_on(async { drop(timeout(FAREWELL, self.endpoint.wait_idle()).await) });
    }

    fn notes(&self) -> Vec<String> {
        let stats = self.connection.stats();
        let offload = match self.segments {
            0 | 1 => "without segmentation offload (GSO)".to_owned(),
            segments => {
                format!("with segmentation offload (GSO), up to {segments} datagrams in a call")
            }
        };
        let (udp, path) = (stats.udp_tx, stats.path);
        vec![format!(
            "QUIC {offload}: {} datagrams in {} calls, {} packets lost, packets of up to {} B at the end",
            udp.datagrams, udp.ios, path.lost_packets, path.current_mtu
        )]
    }
}

/// A stream that ends before its time is a peer that has gone.
fn gone(error: quinn::ReadExactError) -> io::Error {
    match error {
        quinn::ReadExactError::FinishedEarly(_) => ended(),
        quinn::ReadExactError::ReadError(error) => error.into(),
    }
}
