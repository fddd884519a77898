//! What the server takes of clients that send much or late. A program of its own, since a test reads its memory.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use btu_responsiveness::{Certificate, ResponsivenessSettings, Server};
use bytes::Bytes;
use h2::SendStream;
use h2::client::SendRequest;
use http::{Request, StatusCode};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_rustls::TlsConnector;

/// Octets that the server may take for all of [`CONNECTIONS`]. Its windows of 64 KiB are 1 MiB; the rest is for TLS,
/// HTTP/2 and the allocator, of both ends.
const MOST_OCTETS: usize = 32 << 20;
const CONNECTIONS: usize = 16;
const BODIES: usize = 4;

/// Uploads that the server takes of a host at a time (docs/speed.md).
const UPLOADS_OF_HOST: usize = 32;

/// Connections that the server takes of a host at a time (docs/speed.md).
const CONNECTIONS_OF_HOST: usize = 640;

/// When no more is taken for so long, no more will be.
const QUIET: Duration = Duration::from_secs(1);

/// Longer than a connection lives after its requests.
const LATE: Duration = Duration::from_secs(7);

static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

/// Resident octets of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the memory of this process");
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("resident memory");
    let kibioctets: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibioctets << 10
}

/// Sends what the server takes of a body.
async fn fill(mut body: SendStream<Bytes>) {
    loop {
        body.reserve_capacity(ZEROS.len());
        let room =
            tokio::time::timeout(QUIET, poll_fn(|context| body.poll_capacity(context))).await;
        let Ok(Some(Ok(room))) = room else { return };
        let part = Bytes::from_static(&ZEROS[..room.min(ZEROS.len())]);
        if body.send_data(part, false).is_err() {
            return;
        }
    }
}

/// A connection over HTTP/2, for requests.
async fn connect(server: SocketAddr) -> SendRequest<Bytes> {
    let mut config = btu_traffic::any_server().expect("settings of TLS");
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(server).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("TLS");
    let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    requests.ready().await.expect("a connection")
}

/// Asks four times for the large object, with bodies that do not end; returns what the server answers.
async fn send_bodies(server: SocketAddr) -> Vec<StatusCode> {
    let mut requests = connect(server).await;
    let mut asked = Vec::new();
    for _ in 0..BODIES {
        let request = Request::get("https://localhost/large").body(()).expect("a request");
        let (answer, body) = requests.send_request(request, false).expect("a stream");
        asked.push((answer, tokio::spawn(fill(body))));
    }
    let mut statuses = Vec::new();
    for (answer, body) in asked {
        body.await.expect("an end");
        statuses.push(answer.await.expect("an answer").status());
    }
    statuses
}

/// Begins an upload that does not end; tells what the server answers, which it should not.
async fn upload(server: SocketAddr, tell: UnboundedSender<StatusCode>) {
    let request = Request::post("https://localhost/upload").body(()).expect("a request");
    let (answer, _body) = connect(server).await.send_request(request, false).expect("a stream");
    // The test has ended, and hears no more.
    let _ = tell.send(answer.await.expect("an answer").status());
}

fn server() -> Server {
    let settings = ResponsivenessSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        certificate: Certificate::SelfSigned,
    };
    Server::open(&settings).expect("a server")
}

/// Each has a window, and all windows together are what a host may take of this server's memory.
#[test]
fn a_host_has_so_many_uploads() {
    let (server, runtime) = (server(), Runtime::new().expect("a runtime"));
    runtime.block_on(async {
        let (tell, mut told) = unbounded_channel();
        for _ in 0..=UPLOADS_OF_HOST {
            tokio::spawn(upload(server.address(), tell.clone()));
        }
        assert_eq!(told.recv().await, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert!(tokio::time::timeout(QUIET, told.recv()).await.is_err(), "another is refused");
    });
}

/// So many connections of a host as the server takes, and what each needs; false where the system allows fewer.
#[expect(clippy::print_stdout, reason = "only tests call it")]
fn may_open_many() -> bool {
    let files = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit").1;
    let needed = 3 * (CONNECTIONS_OF_HOST as u64 + 64);
    if files < needed {
        println!("fewer files than {needed} may be open: not tested");
        return false;
    }
    setrlimit(Resource::RLIMIT_NOFILE, files.min(needed * 2), files).expect("more files");
    true
}

/// What the server answers to a request for the small object.
async fn small(requests: &mut SendRequest<Bytes>) -> StatusCode {
    let request = Request::get("https://localhost/small").body(()).expect("a request");
    let (answer, _body) = requests.send_request(request, true).expect("a stream");
    answer.await.expect("an answer").status()
}

async fn silent(server: SocketAddr, connections: usize) -> Vec<TcpStream> {
    let mut silent = Vec::new();
    for _ in 0..connections {
        silent.push(TcpStream::connect(server).await.expect("a connection"));
    }
    silent
}

/// Callers who ask for nothing keep no other out, neither of their own address nor of others.
#[test]
fn silent_connections_make_room() {
    if !may_open_many() {
        return;
    }
    let (server, runtime) = (server(), Runtime::new().expect("a runtime"));
    let status = runtime.block_on(async {
        let _silent = silent(server.address(), CONNECTIONS_OF_HOST).await;
        small(&mut connect(server.address()).await).await
    });
    assert_eq!(status, StatusCode::OK);
}

/// One that has its answer and asks for no more makes room as one that has asked for nothing.
#[test]
fn connections_that_have_their_answer_make_room() {
    if !may_open_many() {
        return;
    }
    let (server, runtime) = (server(), Runtime::new().expect("a runtime"));
    runtime.block_on(async {
        let mut answered = connect(server.address()).await;
        assert_eq!(small(&mut answered).await, StatusCode::OK);
        let _silent = silent(server.address(), CONNECTIONS_OF_HOST - 1).await;
        assert_eq!(small(&mut connect(server.address()).await).await, StatusCode::OK);
        let ended = async {
            while poll_fn(|context| answered.poll_ready(context)).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(tokio::time::timeout(QUIET, ended).await.is_ok(), "it has waited for longest");
    });
}

/// As one of which packets were lost in a long queue.
#[test]
fn the_first_request_of_a_connection_may_be_late() {
    let (server, runtime) = (server(), Runtime::new().expect("a runtime"));
    let status = runtime.block_on(async {
        let mut requests = connect(server.address()).await;
        tokio::time::sleep(LATE).await;
        small(&mut requests).await
    });
    assert_eq!(status, StatusCode::OK);
}

#[test]
fn bodies_that_are_not_read_take_little_memory() {
    let (server, runtime) = (server(), Runtime::new().expect("a runtime"));
    let before = resident();
    let statuses = runtime.block_on(async {
        let all: Vec<_> =
            (0..CONNECTIONS).map(|_| tokio::spawn(send_bodies(server.address()))).collect();
        let mut statuses = Vec::new();
        for one in all {
            statuses.extend(one.await.expect("an end"));
        }
        statuses
    });
    let taken = resident().saturating_sub(before);
    assert!(taken < MOST_OCTETS, "{} MiB are taken", taken >> 20);
    assert_eq!(statuses, [StatusCode::BAD_REQUEST; CONNECTIONS * BODIES]);
}
