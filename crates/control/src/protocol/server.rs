//! The agent's end of a connection.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::ends::{Duplex, Outgoing, ends};
use super::{FromAgent, FromController, Json, MESSAGE_LIMIT_BYTES, Request, Status, greeting};

/// Calls that one controller may have open at a time; a run needs three.
pub const CALLS: usize = 32;

/// The silence after which a controller on another machine is gone: of one that sends nothing,
/// although it has to show that it lives every two seconds, or takes nothing of what it is sent.
pub const SILENCE: Duration = Duration::from_secs(20);

/// What answers calls.
pub(crate) trait Serve: Send + Sync {
    /// Answers a call; it is dropped with the call. Parts go out before the answer.
    fn answer(&self, request: Request, parts: PartSender) -> BoxFuture<'_, Result<Json, Status>>;
}

/// Where the parts of an answer go.
#[derive(Debug, Clone)]
pub(crate) struct PartSender {
    id: u64,
    to: mpsc::Sender<FromAgent>,
}

impl PartSender {
    /// For calls that have none.
    #[cfg(test)]
    pub(crate) fn to_nobody() -> Self {
        Self { id: 0, to: mpsc::channel(1).0 }
    }

    /// Sends a part; waits while the controller does not take what is there.
    pub(crate) async fn send(&self, part: Json) {
        // The connection is gone: so is the call, soon.
        let _ = self.to.send(FromAgent::Part { id: self.id, part }).await;
    }
}

/// Answers the calls of one controller until its connection ends, which cancels those that are
/// open. `silence` is the time after which one that is not heard is given up.
///
/// # Errors
/// The connection failed, or the controller broke the rules.
pub(crate) async fn serve(
    stream: impl Duplex + 'static,
    service: &dyn Serve,
    silence: Option<Duration>,
) -> io::Result<()> {
    let (mut incoming, mut outgoing) = ends(stream);
    let greeted = greeting::answer(&mut incoming, &mut outgoing);
    let greeted = match silence {
        Some(silence) => timeout(silence, greeted).await?,
        None => greeted.await,
    };
    if !greeted? {
        return Ok(());
    }
    let (to, mut parts) = mpsc::channel(1);
    let mut calls =
        Calls { service, to, running: FuturesUnordered::new(), handles: HashMap::new() };
    loop {
        while let Some(frame) = incoming.frame()? {
            calls.take(frame, &mut outgoing)?;
        }
        let waits = outgoing.is_pending().then_some(outgoing.moved);
        let since = waits.map_or(incoming.heard, |moved| moved.min(incoming.heard));
        tokio::select! {
            // What has come counts before the time is over.
            biased;
            read = incoming.read(), if outgoing.has_room() => if !read? { return Ok(()) },
            written = outgoing.write(), if outgoing.is_pending() => written?,
            Some(part) = parts.recv(), if outgoing.has_room() => put(&mut outgoing, part)?,
            Some(ended) = calls.running.next(), if outgoing.has_room() => {
                // Its parts come before its end.
                while let Ok(part) = parts.try_recv() {
                    put(&mut outgoing, part)?;
                }
                calls.end(ended, &mut outgoing)?;
            }
            () = after(silence, since) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Waits until this time has passed; for ever if there is none.
pub(super) async fn after(time: Option<Duration>, since: Instant) {
    match time {
        Some(time) => sleep_until(since + time).await,
        None => std::future::pending().await,
    }
}

/// The number of a call, and its end.
type CallResult = (u64, Result<Json, Status>);

/// The open calls of a controller.
struct Calls<'a> {
    service: &'a dyn Serve,
    to: mpsc::Sender<FromAgent>,
    running: FuturesUnordered<Abortable<BoxFuture<'a, CallResult>>>,
    handles: HashMap<u64, AbortHandle>,
}

impl Calls<'_> {
    fn take(&mut self, frame: FromController, outgoing: &mut Outgoing) -> io::Result<()> {
        match frame {
            FromController::Call { id, request } => match self.open(id, &request) {
                Ok(()) => Ok(()),
                Err(status) => put(outgoing, FromAgent::End { id, end: Err(status) }),
            },
            FromController::Cancel { id } => {
                self.handles.remove(&id).iter().for_each(AbortHandle::abort);
                Ok(())
            }
            FromController::Alive => put(outgoing, FromAgent::Alive),
        }
    }

    fn open(&mut self, id: u64, request: &Json) -> Result<(), Status> {
        if self.running.len() >= CALLS {
            return Err(Status::resource_exhausted(format!(
                "{CALLS} calls are open on this connection, and no more may be"
            )));
        }
        let request: Request = request
            .read()
            .map_err(|error| Status::invalid_argument(format!("reading the request: {error}")))?;
        let parts = PartSender { id, to: self.to.clone() };
        let answer = self.service.answer(request, parts).map(move |end| (id, end)).boxed();
        let (handle, registration) = AbortHandle::new_pair();
        self.running.push(Abortable::new(answer, registration));
        // Another one of the same number can no longer be cancelled, which is its caller's loss.
        self.handles.insert(id, handle);
        Ok(())
    }

    fn end(
        &mut self,
        ended: Result<CallResult, Aborted>,
        outgoing: &mut Outgoing,
    ) -> io::Result<()> {
        let Ok((id, end)) = ended else { return Ok(()) };
        self.handles.remove(&id);
        put(outgoing, FromAgent::End { id, end })
    }
}

/// Has a frame wait to leave; if it is longer than it may be, its call ends with that.
fn put(outgoing: &mut Outgoing, frame: FromAgent) -> io::Result<()> {
    match (outgoing.put(&frame), frame) {
        (Err(_), FromAgent::Part { id, .. } | FromAgent::End { id, .. }) => {
            let message = format!("the answer has more than {MESSAGE_LIMIT_BYTES} bytes");
            outgoing.put(&FromAgent::End { id, end: Err(Status::resource_exhausted(message)) })
        }
        (put, _) => put,
    }
}

/// For fuzzers: any octets of a controller, to an agent that answers each call with its request.
pub(crate) fn fuzz_frames(octets: &[u8]) {
    struct Echo;
    impl Serve for Echo {
        fn answer(&self, request: Request, _: PartSender) -> BoxFuture<'_, Result<Json, Status>> {
            let answer = Json::of(&request).map_err(|error| Status::internal(error.to_string()));
            std::future::ready(answer).boxed()
        }
    }
    let octets = std::io::Cursor::new(octets.to_vec());
    let stream = tokio::io::join(octets, tokio::io::sink());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    // What it ends with is the controller's concern.
    drop(runtime.map(|runtime| runtime.block_on(serve(stream, &Echo, None))));
}
