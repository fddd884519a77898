//! A connection of the client, with the time of each of its handshakes.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::{Request, Uri};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::error::ResponsivenessError;
use crate::tls;

/// Flow-control windows (RFC 9113, section 5.2) that never limit a rate: 16 MiB in a round trip of one second
/// are 134 Mb/s on each connection.
pub(crate) const STREAM_WINDOW: u32 = 16 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 64 << 20;

/// What the HTTP/2 library keeps of a stream's data: little, or requests would wait behind it. One frame
/// that every peer must take (RFC 9113, section 4.2).
pub(crate) const SEND_BUFFER: usize = 16 << 10;

/// What the TLS library keeps of data to be sent; by itself it would keep 64 KiB.
pub(crate) const TLS_BUFFER: usize = 4 << 10;

/// Most octets of the headers of an answer.
const HEADERS: u32 = 64 << 10;

/// A connection, its handshakes and the first answer take no longer.
pub(crate) const WITHIN: Duration = Duration::from_secs(30);

/// Who is called, and how.
#[derive(Clone)]
pub(crate) struct Dial {
    pub(crate) server: SocketAddr,
    pub(crate) name: ServerName<'static>,
    pub(crate) tls: TlsConnector,
}

/// The times of a new connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handshakes {
    pub(crate) tcp: Duration,
    /// That of one round trip of it.
    pub(crate) tls: Duration,
}

/// An HTTP/2 connection.
pub(crate) struct Connection {
    pub(crate) requests: SendRequest<Bytes>,
    pub(crate) handshakes: Handshakes,
    /// The version of TLS.
    pub(crate) version: String,
    /// The socket, whose TCP tells what was acknowledged.
    pub(crate) socket: Arc<OwnedFd>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Dial {
    pub(crate) fn new(
        server: SocketAddr,
        host: &str,
        config: rustls::ClientConfig,
    ) -> Result<Self, ResponsivenessError> {
        let name =
            tls::server_name(host).map_err(|source| failed(server, "prove the name of", source))?;
        Ok(Self { server, name, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// Opens a connection by TCP, TLS and HTTP/2, and takes the times of both handshakes.
    ///
    /// # Errors
    /// A handshake that fails, or takes longer than [`WITHIN`].
    pub(crate) async fn connect(&self) -> Result<Connection, ResponsivenessError> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer within 30 s");
        let server = self.server;
        let made = tokio::time::timeout(WITHIN, self.open()).await;
        made.unwrap_or_else(|_| Err(failed(server, "connect to", late())))
    }

    async fn open(&self) -> Result<Connection, ResponsivenessError> {
        let failed = |operation| move |source| failed(self.server, operation, source);
        let began = Instant::now();
        let stream = TcpStream::connect(self.server).await.map_err(failed("connect to"))?;
        let tcp = began.elapsed();
        let kept = stream.as_fd().try_clone_to_owned().map_err(failed("keep the socket to"))?;
        stream.set_nodelay(true).map_err(failed("prepare the socket to"))?;
        let began = Instant::now();
        let stream = self.tls.connect(self.name.clone(), stream).await;
        let mut stream = stream.map_err(failed("speak TLS with"))?;
        stream.get_mut().1.set_buffer_limit(Some(TLS_BUFFER));
        let version = stream.get_ref().1.protocol_version();
        let tls = began.elapsed() / tls::round_trips(version);
        let mut builder = client::Builder::new();
        builder
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER)
            .max_header_list_size(HEADERS)
            .enable_push(false);
        let made = builder.handshake(stream).await;
        let (requests, connection) =
            made.map_err(|error| failed("speak HTTP/2 with")(plain(error)))?;
        let driver = tokio::spawn(async move { drop(connection.await) });
        let version = version.and_then(|version| version.as_str()).unwrap_or("TLS").to_owned();
        let handshakes = Handshakes { tcp, tls };
        Ok(Connection { requests, handshakes, version, socket: Arc::new(kept), driver })
    }
}

/// Gets a whole answer of at most `most` octets.
///
/// # Errors
/// The answer is an error, too long, or does not come.
pub(crate) async fn get(
    requests: &SendRequest<Bytes>,
    uri: &Uri,
    most: usize,
) -> io::Result<Vec<u8>> {
    let request = Request::get(uri.clone()).header("accept-encoding", "identity").body(());
    let request = request.map_err(io::Error::other)?;
    let mut requests = requests.clone().ready().await.map_err(plain)?;
    let (answer, _) = requests.send_request(request, true).map_err(plain)?;
    let answer = answer.await.map_err(plain)?;
    if !answer.status().is_success() {
        return Err(io::Error::other(format!("answers {} with {}", uri.path(), answer.status())));
    }
    let (mut body, mut octets) = (answer.into_body(), Vec::new());
    while let Some(part) = body.data().await {
        let part = part.map_err(plain)?;
        if octets.len() + part.len() > most {
            return Err(io::Error::other(format!(
                "answers {} with over {most} octets",
                uri.path()
            )));
        }
        octets.extend_from_slice(&part);
        body.flow_control().release_capacity(part.len()).map_err(plain)?;
    }
    Ok(octets)
}

/// The system's error where there is one.
pub(crate) fn plain(error: h2::Error) -> io::Error {
    let text = error.to_string();
    error.into_io().unwrap_or_else(|| io::Error::other(text))
}

pub(crate) fn failed(
    server: SocketAddr,
    operation: &'static str,
    source: io::Error,
) -> ResponsivenessError {
    let text = source.to_string();
    let advice = if text.contains("certificate") || text.contains("UnknownIssuer") {
        "; a server of your own is believed with --any-certificate"
    } else if source.kind() == io::ErrorKind::ConnectionRefused {
        "; is a server running there? `btu speed --rpm-server` starts one"
    } else {
        ""
    };
    ResponsivenessError::Connection { operation, server, source, advice }
}
