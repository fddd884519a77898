//! The server: four URLs over TLS and HTTP/2 (draft, section 7).

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use btu_traffic::{ConnectionPlace, Places, Shares, bound, host_of};
use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{Method as Verb, Request, Response, StatusCode};
use socket2::Type;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::connection::{SEND_BUFFER, STREAM_WINDOW, TLS_BUFFER, plain};
use crate::discovery::{Discovery, LARGE, SMALL, UPLOAD, WELL_KNOWN};
use crate::error::ServerError;
use crate::load::{Waiting, fill};
use crate::tls;

/// The port that such servers have where it is not 443.
pub const PORT: u16 = 4043;

/// The size of the large object; the draft wants at least 8 GB.
const LARGE_OCTETS: u64 = 1 << 40;

/// Connections at a time, in all and of one host. A client of this program has at most 16 that fill the
/// network, and 512 probes.
const CONNECTIONS: usize = 2048;
const CONNECTIONS_OF_HOST: usize = 640;

/// Octets that a connection with an upload may send before they are read; others may send 64 KiB (RFC 9113,
/// section 6.9.2). In a round trip of one second they are 67 Mb/s on each connection.
const UPLOAD_WINDOW: u32 = 8 << 20;

/// Connections with an upload at a time, in all and of one host: their windows are 1 GiB and 256 MiB.
const UPLOADS: usize = 128;
const UPLOADS_OF_HOST: usize = 32;

/// Handshakes take no longer, also behind a long queue.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// A connection lives no longer: no measurement takes so long.
const MOST_TIME: Duration = Duration::from_mins(15);

/// A connection lives no longer after its requests: some clients leave those of their probes open. The first request
/// may come as late as a handshake, since it waits in the same queues.
const IDLE: Duration = Duration::from_secs(5);

/// Requests at a time on one connection: a transfer and its probes.
const STREAMS: u32 = 256;

/// Large objects at a time on one connection: each takes memory for what waits to be sent.
const LARGE_AT_A_TIME: usize = 4;

/// Most octets of the headers of a request.
const HEADERS: u32 = 16 << 10;

/// Connections that the kernel queues until they are accepted.
const WAITING: i32 = 1024;

/// When the system gives no connection, the pause until the next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// The interval at which the limit of waiting octets follows the rate.
const LOOK: Duration = Duration::from_millis(250);

/// How to serve.
#[derive(Debug, Clone)]
pub struct ResponsivenessSettings {
    /// The address and port; port 0 is any free one.
    pub listen: SocketAddr,
    /// What clients see of this server.
    pub certificate: Certificate,
}

/// The certificate of a server.
#[derive(Debug, Clone)]
pub enum Certificate {
    /// A new one, without an authority.
    SelfSigned,
    /// A chain and its key, both in PEM form.
    Files {
        /// The chain, the server's own certificate first.
        chain: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// The address, the port or the certificate cannot be used.
    pub fn open(settings: &ResponsivenessSettings) -> Result<Self, ServerError> {
        let config = match &settings.certificate {
            Certificate::SelfSigned => tls::self_signed(settings.listen.ip())?,
            Certificate::Files { chain, key } => tls::from_files(chain, key)?,
        };
        let failed = |source| ServerError::Listen { address: settings.listen, source };
        let listener = listening(settings.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let system = |source| ServerError::System { operation: "start threads", source };
        let runtime = Builder::new_multi_thread()
            .thread_name("rpm-server")
            .enable_all()
            .build()
            .map_err(system)?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener).map_err(failed)?
        };
        runtime.spawn(accept(listener, TlsAcceptor::from(Arc::new(config))));
        Ok(Self { address, runtime: Some(runtime) })
    }

    /// The IP address and port on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn listening(address: SocketAddr) -> io::Result<StdListener> {
    let socket = bound(address, Type::STREAM)?;
    socket.listen(WAITING)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

async fn accept(listener: TcpListener, tls: TlsAcceptor) {
    let places = Places::new(CONNECTIONS, CONNECTIONS_OF_HOST);
    let uploads = Shares::new(UPLOADS, UPLOADS_OF_HOST);
    loop {
        match listener.accept().await {
            // One that is not being answered makes room; where all are, a caller gets no answer.
            Ok((stream, peer)) => {
                if let Some(place) = places.take(Some(host_of(peer.ip()))).map(Arc::new) {
                    tokio::spawn(serve(stream, tls.clone(), place, uploads.clone()));
                }
            }
            // Out of descriptors or the peer is gone already: neither may spin it.
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// A connection until its end; what fails concerns this client only.
async fn serve(stream: TcpStream, tls: TlsAcceptor, place: Arc<ConnectionPlace>, uploads: Shares) {
    tokio::select! {
        served = tokio::time::timeout(MOST_TIME, speak(stream, tls, &place, uploads)) => drop(served),
        () = place.lost() => {}
    }
}

/// The far end of a connection.
struct Far {
    socket: OwnedFd,
    large: Semaphore,
}

async fn speak(
    stream: TcpStream,
    tls: TlsAcceptor,
    place: &Arc<ConnectionPlace>,
    uploads: Shares,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (peer, mut window, mut longest_wait) = (stream.peer_addr()?.ip(), None, HANDSHAKE);
    let far = Arc::new(Far {
        socket: stream.as_fd().try_clone_to_owned()?,
        large: Semaphore::new(LARGE_AT_A_TIME),
    });
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no handshake in time");
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .max_header_list_size(HEADERS)
        .max_concurrent_streams(STREAMS);
    let opened = async {
        let mut stream = tls.accept(stream).await?;
        stream.get_mut().1.set_buffer_limit(Some(TLS_BUFFER));
        builder.handshake(stream).await.map_err(plain)
    };
    let mut connection = tokio::time::timeout(HANDSHAKE, opened).await.map_err(|_| late())??;
    loop {
        let asked = match tokio::time::timeout(longest_wait, connection.accept()).await {
            Ok(Some(asked)) => asked.map_err(plain)?,
            // The end, or nothing is asked and nothing is being answered; else it goes on.
            Ok(None) => return Ok(()),
            Err(_) if Arc::strong_count(&far) == 1 => return Ok(()),
            Err(_) => continue,
        };
        longest_wait = IDLE;
        let answering = place.answering();
        let (request, mut respond) = asked;
        let far = Arc::clone(&far);
        if is_upload(&request) && window.is_none() {
            window = uploads.take(peer, 1);
            if window.is_none() {
                drop(status(&mut respond, StatusCode::SERVICE_UNAVAILABLE));
                continue;
            }
            connection.set_target_window_size(UPLOAD_WINDOW);
        }
        tokio::spawn(async move {
            drop(answer(request, respond, &far).await);
            drop(answering);
        });
    }
}

fn is_upload(request: &Request<RecvStream>) -> bool {
    request.method() == Verb::POST && request.uri().path() == UPLOAD
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    far: &Far,
) -> io::Result<()> {
    if is_upload(&request) {
        return upload(request.into_body(), &mut respond).await;
    }
    let (request, body) = request.into_parts();
    // A body would be kept until it is read, and no other request is for one.
    if !body.is_end_stream() {
        return status(&mut respond, StatusCode::BAD_REQUEST);
    }
    match (&request.method, request.uri.path()) {
        (&Verb::GET, SMALL) => {
            whole(&mut respond, "application/octet-stream", Bytes::from_static(b"0"))
        }
        (&Verb::GET, WELL_KNOWN) => {
            let authority = request.uri.authority().map_or("", |authority| authority.as_str());
            whole(&mut respond, "application/json", Discovery::of_server(authority).into())
        }
        (&Verb::GET, LARGE) => large(&mut respond, far).await,
        (_, SMALL | WELL_KNOWN | LARGE | UPLOAD) => {
            status(&mut respond, StatusCode::METHOD_NOT_ALLOWED)
        }
        _ => status(&mut respond, StatusCode::NOT_FOUND),
    }
}

fn status(respond: &mut SendResponse<Bytes>, status: StatusCode) -> io::Result<()> {
    let answer = Response::builder().status(status).body(()).map_err(io::Error::other)?;
    respond.send_response(answer, true).map(drop).map_err(plain)
}

fn whole(respond: &mut SendResponse<Bytes>, kind: &str, content: Bytes) -> io::Result<()> {
    let answer = Response::builder()
        .header("content-type", kind)
        .header("content-length", content.len())
        .body(())
        .map_err(io::Error::other)?;
    let mut body = respond.send_response(answer, false).map_err(plain)?;
    body.send_data(content, true).map_err(plain)
}

async fn large(respond: &mut SendResponse<Bytes>, far: &Far) -> io::Result<()> {
    let Ok(_taken) = far.large.try_acquire() else {
        return status(respond, StatusCode::SERVICE_UNAVAILABLE);
    };
    let answer = Response::builder()
        .header("content-type", "application/octet-stream")
        .header("content-length", LARGE_OCTETS)
        .body(())
        .map_err(io::Error::other)?;
    let mut body = respond.send_response(answer, false).map_err(plain)?;
    let waiting = Waiting::new(&far.socket)?;
    tokio::select! {
        sent = fill(&mut body, LARGE_OCTETS, &waiting) => sent?,
        () = limit(&waiting, &far.socket) => {}
    }
    body.send_reset(Reason::NO_ERROR);
    Ok(())
}

/// Lets less wait, by the rate at which the client takes it.
async fn limit(waiting: &Waiting, socket: &OwnedFd) {
    let mut before = (Instant::now(), acknowledged(socket));
    loop {
        tokio::time::sleep(LOOK).await;
        let now = (Instant::now(), acknowledged(socket));
        let seconds = now.0.duration_since(before.0).as_secs_f64();
        waiting.limit(now.1.saturating_sub(before.1) as f64 * 8.0 / seconds);
        before = now;
    }
}

fn acknowledged(socket: &OwnedFd) -> u64 {
    btu_traffic::tcp_info(socket).map_or(0, |info| info.bytes_acked)
}

async fn upload(mut body: RecvStream, respond: &mut SendResponse<Bytes>) -> io::Result<()> {
    while let Some(part) = body.data().await {
        let octets = part.map_err(plain)?.len();
        body.flow_control().release_capacity(octets).map_err(plain)?;
    }
    status(respond, StatusCode::OK)
}
