//! HTTP/2 in the clear: one connection, a POST for each message with an answer of the same size.
//!
//! Both ends speak HTTP/2 from the first byte behind the token (prior knowledge, RFC 9113, section
//! 3.3). The connection is driven by a task on a runtime of this thread, which runs while a call
//! waits. Windows are large enough for every message; frames have the 16 KiB that peers must take.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use btu_contract::activity::PipeMeeting;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::server::SendResponse;
use h2::{RecvStream, client, server};
use http::{Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;

use super::pieces::ended;
use super::talk::nonsense;
use super::tcp::Tcp;
use super::{Pipe, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;

/// Flow-control windows of a stream and of the connection (RFC 9113, section 5.2): more than the
/// largest message.
const WINDOW: u32 = 16 << 20;

/// The time for data that the connection's task has to leave; the task runs while a caller waits.
const LEAVES_WITHIN: Duration = Duration::from_millis(1);

/// The time for which the far end waits until the near one has received its last message.
const FAREWELL: Duration = Duration::from_secs(1);

/// An HTTP/2 end with a TCP connection that listens or is established.
pub(super) struct Http2 {
    tcp: Tcp,
}

impl Setup for Http2 {
    type Pipe = Http2Pipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        Ok(Self { tcp: Tcp::prepare(meeting, terms)? })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.tcp.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Http2Pipe, TrafficError> {
        let serves = self.tcp.endpoint().is_some();
        let line = self.tcp.line(limit)?;
        let peer = line.peer();
        open(line.into_stream(), serves)
            .map_err(TrafficError::socket("open an HTTP/2 connection", peer))
    }
}

/// A runtime of the thread that performs.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn open(stream: std::net::TcpStream, serves: bool) -> io::Result<Http2Pipe> {
    stream.set_nonblocking(true)?;
    let runtime = runtime()?;
    let (role, driver) = runtime.block_on(async {
        let stream = TcpStream::from_std(stream)?;
        if serves { serve(stream).await } else { ask(stream).await }
    })?;
    Ok(Http2Pipe { runtime, role, driver })
}

async fn ask(stream: TcpStream) -> io::Result<(Http2Side, JoinHandle<()>)> {
    let mut builder = client::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).enable_push(false);
    let (requests, connection) = builder.handshake(stream).await.map_err(plain)?;
    let driver = tokio::spawn(async move { drop(connection.await) });
    let head = Request::post("http://pipe.btu.invalid/").body(()).map_err(io::Error::other)?;
    Ok((Http2Side::Asks { requests, head: Box::new(head), answer: None }, driver))
}

async fn serve(stream: TcpStream) -> io::Result<(Http2Side, JoinHandle<()>)> {
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(1);
    let mut connection = builder.handshake(stream).await.map_err(plain)?;
    let (to, questions) = channel(1);
    let driver = tokio::spawn(async move {
        while let Some(Ok((request, respond))) = connection.accept().await {
            if to.send((request.into_body(), respond)).await.is_err() {
                break;
            }
        }
        // Runs until all data are sent and the near end has gone.
        let _ = poll_fn(|context| connection.poll_closed(context)).await;
    });
    Ok((Http2Side::Serves { questions, respond: None }, driver))
}

/// An end of an HTTP/2 connection.
pub(super) struct Http2Pipe {
    runtime: Runtime,
    role: Http2Side,
    driver: JoinHandle<()>,
}

enum Http2Side {
    Asks {
        requests: SendRequest<Bytes>,
        head: Box<Request<()>>,
        answer: Option<ResponseFuture>,
    },
    Serves {
        questions: Receiver<(RecvStream, SendResponse<Bytes>)>,
        respond: Option<SendResponse<Bytes>>,
    },
}

impl Pipe for Http2Pipe {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let message = Bytes::copy_from_slice(message);
        let Self { runtime, role, .. } = self;
        match role {
            Http2Side::Asks { requests, head, answer } => runtime.block_on(async {
                poll_fn(|context| requests.poll_ready(context)).await.map_err(plain)?;
                let (response, mut body) =
                    requests.send_request(Request::clone(head), false).map_err(plain)?;
                *answer = Some(response);
                body.send_data(message, true).map_err(plain)
            }),
            Http2Side::Serves { respond, .. } => {
                let mut respond =
                    respond.take().ok_or_else(|| nonsense("there is no request to answer"))?;
                let mut body = respond.send_response(Response::new(()), false).map_err(plain)?;
                body.send_data(message, true).map_err(plain)
            }
        }
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        let Self { runtime, role, .. } = self;
        runtime.block_on(async {
            match role {
                Http2Side::Asks { answer, .. } => {
                    let answer = answer
                        .take()
                        .ok_or_else(|| nonsense("there is no request to be answered"))?;
                    let response = answer.await.map_err(plain)?;
                    if response.status() != StatusCode::OK {
                        return Err(nonsense("the answer is an error"));
                    }
                    fill(response.into_body(), room).await
                }
                Http2Side::Serves { questions, respond } => {
                    let (body, answer) = questions.recv().await.ok_or_else(ended)?;
                    *respond = Some(answer);
                    fill(body, room).await
                }
            }
        })
    }

    fn rest(&mut self) {
        self.runtime.block_on(async { tokio::time::sleep(LEAVES_WITHIN).await });
    }

    fn close(&mut self) {
        let Self { runtime, role, driver } = self;
        // The near end has received the last message, and leaves; the far end waits for that.
        if matches!(role, Http2Side::Serves { .. }) {
            let _ = runtime.block_on(async { tokio::time::timeout(FAREWELL, driver).await });
        }
    }
}

/// Fills `room` with a body, which must be as long.
async fn fill(mut body: RecvStream, room: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while let Some(part) = body.data().await {
        let part = part.map_err(plain)?;
        let space = room.get_mut(filled..filled + part.len());
        space.ok_or_else(|| nonsense("a body is longer than agreed"))?.copy_from_slice(&part);
        filled += part.len();
        body.flow_control().release_capacity(part.len()).map_err(plain)?;
    }
    if filled == room.len() { Ok(()) } else { Err(nonsense("a body is shorter than agreed")) }
}

/// The system's error where there is one.
fn plain(error: h2::Error) -> io::Error {
    if error.is_go_away() {
        return ended();
    }
    let text = error.to_string();
    error.into_io().unwrap_or_else(|| io::Error::new(ErrorKind::InvalidData, text))
}
