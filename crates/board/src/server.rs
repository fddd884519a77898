//! Serves connections, within bounds on their number and on how long a caller may take.

mod reading;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request};
use btu_traffic::{AnsweredRequest, ConnectionPlace, Places, host_of, return_large_blocks};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::log;
use crate::metrics::METRICS;
use crate::web::{Caller, METRICS_PATH, Reader, UPLOADS_PATH};

pub(crate) use reading::LastTaken;
use reading::ReaderStream;

/// As many callers are served at once, if the system lets the server open so many files.
const MOST_CONNECTIONS: usize = 2048;

/// A host has at most so many connections.
const MOST_OF_HOST: usize = 64;

/// Files that are left for all but connections: the database, archives, programs.
const OTHER_FILES: usize = 384;

/// As many callers wait to be accepted.
const MOST_UNACCEPTED: u32 = 1024;

/// The longest time in which a caller sends the head of a request.
const LONGEST_HEAD: Duration = Duration::from_secs(10);

/// The most that is kept for a connection of what came or goes, other than a part of an answer.
const LARGEST_BUFFER: usize = 64 << 10;

/// The system keeps at most so many bytes of an answer that have not left yet: where it takes whole megabytes, a part goes
/// to a slow reader as seldom as to one who reads nothing.
const MOST_UNSENT_BYTES: u32 = 128 << 10;

/// The longest life of a connection.
const LONGEST_CONNECTION: Duration = Duration::from_mins(10);

/// How long requests that are being served may take after the server was asked to end: less than the ten seconds that
/// service managers and containers wait.
const LONGEST_END: Duration = Duration::from_secs(8);

/// A socket on which callers are heard.
///
/// # Errors
/// The address is taken, or is none of this machine.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(MOST_UNACCEPTED)
}

/// As many connections as the server may have open, with the limit that the system sets at most.
fn most_connections() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // A process that may not raise it has what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files.saturating_sub(OTHER_FILES).clamp(16, MOST_CONNECTIONS)
}

/// Serves `router` until `end`. Then the port is closed, so that callers go elsewhere; connections end with the answer
/// that they wait for. What comes from one of `proxies` is of the caller whom the proxy names.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    proxies: Vec<IpAddr>,
    end: impl Future<Output = ()>,
) {
    return_large_blocks();
    let places = Places::new(most_connections(), MOST_OF_HOST);
    let (ending, is_ending) = watch::channel(false);
    let mut end = std::pin::pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, address)) = accepted else {
            // No descriptor is free, or the caller is gone.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let peer = Peer::of(address.ip(), &proxies);
        let Some(place) = places.take(peer.host()) else { continue };
        let served = serve_connection(stream, router.clone(), peer, place, is_ending.clone());
        // What a caller does wrong is the caller's.
        tokio::spawn(timeout(LONGEST_CONNECTION, served));
    }
    drop((listener, is_ending));
    let _ = ending.send(true);
    let _ = timeout(LONGEST_END, ending.closed()).await;
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
struct Peer {
    address: IpAddr,
    is_proxy: bool,
}

impl Peer {
    fn of(address: IpAddr, proxies: &[IpAddr]) -> Self {
        let address = address.to_canonical();
        Self { address, is_proxy: proxies.iter().any(|proxy| proxy.to_canonical() == address) }
    }

    /// The host whose connections are counted together; a proxy's are not.
    fn host(self) -> Option<IpAddr> {
        (!self.is_proxy).then(|| host_of(self.address))
    }

    /// Who asks: the proxy adds whom it was called by behind what that caller says.
    fn caller(self, headers: &HeaderMap) -> Caller {
        let said = headers.get_all("x-forwarded-for").into_iter().next_back();
        let Some(said) = said.filter(|_| self.is_proxy) else { return Caller(self.address) };
        let said = String::from_utf8_lossy(said.as_bytes());
        let last = said.rsplit(',').next().unwrap_or_default().trim();
        let named = address(last);
        if named.is_none() {
            let proxy = self.address;
            log::error(&format!("proxy {proxy} names the caller {last:?}, which is no address"));
        }
        Caller(named.unwrap_or(self.address))
    }
}

/// An address as proxies write it: some with a port, in brackets, in quotation marks, or with the zone in which the proxy
/// reaches it.
fn address(text: &str) -> Option<IpAddr> {
    let text = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => text,
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None if text.matches(':').count() == 1 => text.split_at(text.find(':')?),
        None => (text, ""),
    };
    let is_port =
        port.strip_prefix(':').map_or(port.is_empty(), |port| port.parse::<u16>().is_ok());
    let host = host.split('%').next()?;
    host.parse().ok().filter(|_| is_port)
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    peer: Peer,
    place: ConnectionPlace,
    mut is_ending: watch::Receiver<bool>,
) {
    let _counted = METRICS.connections.one();
    let _ = SockRef::from(&stream).set_tcp_notsent_lowat(MOST_UNSENT_BYTES);
    let stream = ReaderStream::of(stream);
    let (place, taken) = (Arc::new(place), stream.last_taken());
    let service = service(router, peer, &place, taken);
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(LONGEST_HEAD).max_buf_size(LARGEST_BUFFER);
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = served.as_mut() => return note_unreadable(ended, peer.address),
        () = place.lost() => return,
        _ = is_ending.wait_for(|is_ending| *is_ending) => {}
    }
    served.as_mut().graceful_shutdown();
    note_unreadable(served.await, peer.address);
}

/// Notes a request that cannot be read, which the library has answered with a status alone: the router never saw it.
fn note_unreadable(ended: hyper::Result<()>, caller: IpAddr) {
    let Err(error) = ended else { return };
    if !error.is_parse() || error.is_parse_version_h2() {
        return;
    }
    let status = if !error.is_parse_too_large() {
        400
    } else if error.to_string().contains("URI") {
        // The library tells the two apart in words alone.
        414
    } else {
        431
    };
    note(caller, ["-", "-"], status, 0, Duration::ZERO);
}

/// Counts a request, and writes its line.
fn note(caller: IpAddr, [method, path]: [&str; 2], status: u16, octets: usize, took: Duration) {
    METRICS.count(method == Method::POST && path == UPLOADS_PATH, status, took);
    log::access(&[
        ("caller", caller.to_string().into()),
        ("method", method.into()),
        ("path", path.into()),
        ("status", status.into()),
        ("octets", octets.into()),
        ("ms", (took.as_micros() as f64 / 1e3).into()),
    ]);
}

type Answer = axum::http::Response<Body>;

/// The router, which is told who asks.
fn service(
    router: Router,
    peer: Peer,
    place: &Arc<ConnectionPlace>,
    taken: LastTaken,
) -> impl Service<Request<Incoming>, Response = Answer, Error = std::convert::Infallible, Future: Send>
{
    let router = TowerToHyperService::new(router);
    let place = Arc::clone(place);
    service_fn(move |mut request: Request<Incoming>| {
        let Caller(caller) = peer.caller(request.headers());
        request.extensions_mut().insert(Caller(caller));
        let (connection, taken) = (Arc::clone(&place), taken.clone());
        request.extensions_mut().insert(Reader { address: caller, connection, taken });
        let mut answering = Answering::of(&place, caller, &request);
        let answer = log::CALLER.scope(caller, router.call(request));
        async move {
            let answer = answer.await?;
            answering.status = answer.status().as_u16();
            Ok(answer.map(|body| Body::new(AnswerBody { body, answering })))
        }
    })
}

/// A request that is being answered, until this value is dropped.
struct Answering {
    _answered: AnsweredRequest,
    began: Instant,
    caller: IpAddr,
    method: Method,
    /// Without what is asked for in the address.
    path: String,
    /// 0 as long as there is no answer.
    status: u16,
    octets: usize,
}

impl Answering {
    fn of(place: &Arc<ConnectionPlace>, caller: IpAddr, request: &Request<Incoming>) -> Self {
        Self {
            _answered: place.answering(),
            began: Instant::now(),
            caller,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            status: 0,
            octets: 0,
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if self.path == METRICS_PATH && self.status == 200 {
            return;
        }
        let asked = [self.method.as_str(), &self.path];
        note(self.caller, asked, self.status, self.octets, self.began.elapsed());
    }
}

/// The body of an answer: the request is answered when it has been sent.
struct AnswerBody {
    body: Body,
    answering: Answering,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.answering.octets += frame.data_ref().map_or(0, Bytes::len);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The end that a signal asks for, from now on.
///
/// # Errors
/// The system does not tell of signals.
pub fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_calls_is_believed_of_named_proxies_alone() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let proxies = [address("192.0.2.1"), address("2001:db8::1")];
        for (from, said, caller) in [
            ("192.0.2.1", &["198.51.100.7"][..], "198.51.100.7"),
            ("::ffff:192.0.2.1", &["198.51.100.7"], "198.51.100.7"),
            ("2001:db8::1", &["203.0.113.1, 2001:db8::7"], "2001:db8::7"),
            ("192.0.2.1", &["203.0.113.1", "198.51.100.7"], "198.51.100.7"),
            ("192.0.2.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("192.0.2.1", &["[198.51.100.7]:4711"], "198.51.100.7"),
            ("192.0.2.1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("192.0.2.1", &["x, \"[2001:db8::7]:4711\""], "2001:db8::7"),
            ("192.0.2.1", &["fe80::7%eth0"], "fe80::7"),
            ("192.0.2.1", &["[fe80::7%eth0]:4711"], "fe80::7"),
            ("192.0.2.1", &["nonsense"], "192.0.2.1"),
            ("192.0.2.1", &["198.51.100.7:x"], "192.0.2.1"),
            ("192.0.2.1", &["[2001:db8::7"], "192.0.2.1"),
            ("192.0.2.1", &["\"198.51.100.7\""], "198.51.100.7"),
            ("192.0.2.1", &["\"198.51.100.7"], "192.0.2.1"),
            ("192.0.2.1", &["198.51.100.7\""], "192.0.2.1"),
            ("192.0.2.1", &["\"\"198.51.100.7\"\""], "192.0.2.1"),
            ("192.0.2.1", &["unbalanced \"198.51.100.7"], "192.0.2.1"),
            ("192.0.2.1", &["\""], "192.0.2.1"),
            ("192.0.2.1", &["\u{e9}"], "192.0.2.1"),
            ("192.0.2.1", &[], "192.0.2.1"),
            ("127.0.0.1", &["198.51.100.7"], "127.0.0.1"),
            ("203.0.113.9", &["198.51.100.7"], "203.0.113.9"),
        ] {
            let headers = said.iter().map(|value| {
                let name = axum::http::HeaderName::from_static("x-forwarded-for");
                (name, axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap())
            });
            let Caller(found) = Peer::of(address(from), &proxies).caller(&headers.collect());
            assert_eq!(found, address(caller), "{from} {said:?}");
        }
    }
}
