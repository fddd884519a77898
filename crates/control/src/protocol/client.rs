//! The controller's end of a connection.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ends::{Duplex, Incoming, Outgoing, ends};
use super::server::after;
use super::{
    Call, FromAgent, FromController, Json, MESSAGE_LIMIT_BYTES, Request, Status, greeting,
};

/// How it is found out that an agent on another machine is gone.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// The interval of signs of life.
    pub every: Duration,
    /// The silence after which the connection is given up.
    pub limit: Duration,
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The agent is of another version: a sentence for users.
    #[error("{0}")]
    Version(String),
    /// The connection failed.
    #[error(transparent)]
    Broken(#[from] io::Error),
}

/// A connection to an agent, for any number of calls side by side. It is never made again: when it
/// has ended, it is lost.
#[derive(Debug, Clone)]
pub struct Client {
    // No more of them than callers that wait for an answer, and as many cancelled calls.
    commands: mpsc::UnboundedSender<ClientCommand>,
    next: Arc<AtomicU64>,
    /// Why the connection ended.
    lost: Arc<OnceLock<String>>,
}

#[derive(Debug)]
enum ClientCommand {
    Call { id: u64, request: Json, answers: mpsc::UnboundedSender<CallAnswer> },
    Cancel(u64),
}

#[derive(Debug)]
enum CallAnswer {
    Part(Json),
    End(Result<Json, Status>),
}

impl Client {
    /// Greets the agent at the other end of a stream; from within a runtime, which then drives the
    /// connection.
    ///
    /// # Errors
    /// The agent is of another version, or there is none.
    pub async fn connect(
        stream: impl Duplex + 'static,
        life: Option<Life>,
    ) -> Result<Self, ConnectError> {
        let (mut incoming, mut outgoing) = ends(stream);
        greeting::ask(&mut incoming, &mut outgoing).await?.map_err(ConnectError::Version)?;
        let (commands, wanted) = mpsc::unbounded_channel();
        let lost = Arc::new(OnceLock::new());
        let told = Arc::clone(&lost);
        tokio::spawn(async move {
            let mut open = Open::default();
            let ended = open.drive(wanted, incoming, outgoing, life).await;
            let why = ended.map_or_else(|error| error.to_string(), str::to_owned);
            // Before the senders of answers are dropped with the calls.
            let _ = told.set(why);
            drop(open);
        });
        Ok(Self { commands, next: Arc::default(), lost })
    }

    /// Calls the agent, and waits for its answer. The call is cancelled when this is dropped.
    ///
    /// # Errors
    /// The agent's refusal, or [`super::Code::Unavailable`] when the connection has ended.
    pub async fn call<C: Call>(&self, call: C) -> Result<C::Reply, Status> {
        let mut answers = self.open(call)?;
        loop {
            match answers.answer().await {
                CallAnswer::Part(_) => {}
                CallAnswer::End(end) => {
                    return end?
                        .read()
                        .map_err(|error| Status::internal(format!("reading the answer: {error}")));
                }
            }
        }
    }

    /// Calls the agent, for the parts of its answer.
    ///
    /// # Errors
    /// The request is longer than it may be.
    pub fn open(&self, call: impl Call) -> Result<Answers, Status> {
        let request: Request = call.into();
        let request = Json::of(&request)
            .map_err(|error| Status::invalid_argument(format!("writing the request: {error}")))?;
        if request.text().len() + ENVELOPE_BYTES > MESSAGE_LIMIT_BYTES {
            let message = format!("the request has more than {MESSAGE_LIMIT_BYTES} bytes");
            return Err(Status::invalid_argument(message));
        }
        let (answers, arriving) = mpsc::unbounded_channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // It fails when the connection has ended, which the missing answer shows.
        let _ = self.commands.send(ClientCommand::Call { id, request, answers });
        Ok(Answers { arriving, id, client: self.clone() })
    }

    fn lost(&self) -> Status {
        Status::unavailable(self.lost.get().map_or(ENDED, String::as_str))
    }
}

/// What is around a request in its frame, at most.
const ENVELOPE_BYTES: usize = 64;

/// How a connection ends without a reason.
const ENDED: &str = "the connection ended";

/// The parts of an answer as they come. The call is cancelled when this is dropped.
#[derive(Debug)]
pub struct Answers {
    // The agent sends no more than a message's worth for a call, and this end takes no more.
    arriving: mpsc::UnboundedReceiver<CallAnswer>,
    id: u64,
    client: Client,
}

impl Answers {
    /// The next part; `None` after the last.
    ///
    /// # Errors
    /// The agent's refusal, or [`super::Code::Unavailable`] when the connection has ended.
    pub async fn next(&mut self) -> Result<Option<Json>, Status> {
        match self.answer().await {
            CallAnswer::Part(part) => Ok(Some(part)),
            CallAnswer::End(end) => end.map(|_| None),
        }
    }

    async fn answer(&mut self) -> CallAnswer {
        match self.arriving.recv().await {
            Some(answer) => answer,
            None => CallAnswer::End(Err(self.client.lost())),
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // It fails when the connection has ended.
        let _ = self.client.commands.send(ClientCommand::Cancel(self.id));
    }
}

/// The open calls of a connection.
#[derive(Default)]
struct Open(HashMap<u64, Opened>);

struct Opened {
    answers: mpsc::UnboundedSender<CallAnswer>,
    /// The octets of its parts so far.
    bytes: usize,
}

impl Open {
    /// Carries calls and answers until the connection ends, or no handle of it is left; returns
    /// why.
    async fn drive(
        &mut self,
        mut wanted: mpsc::UnboundedReceiver<ClientCommand>,
        mut incoming: Incoming,
        mut outgoing: Outgoing,
        life: Option<Life>,
    ) -> io::Result<&'static str> {
        let mut signed = Instant::now();
        loop {
            while let Some(frame) = incoming.frame()? {
                self.hear(frame, &mut outgoing)?;
            }
            let heard = incoming.heard;
            tokio::select! {
                // What has come counts before the time is over.
                biased;
                read = incoming.read() => if !read? { return Ok(ENDED) },
                command = wanted.recv(), if outgoing.has_room() => match command {
                    Some(command) => self.take(command, &mut outgoing)?,
                    None => return Ok(ENDED),
                },
                written = outgoing.write(), if outgoing.is_pending() => written?,
                () = after(life.map(|life| life.every), signed) => {
                    signed = Instant::now();
                    // What waits already is a sign of life, too, as it leaves.
                    if !outgoing.is_pending() {
                        outgoing.put(&FromController::Alive)?;
                    }
                }
                () = after(life.map(|life| life.limit), heard) => {
                    return Ok("it gave no sign of life");
                }
            }
        }
    }

    fn take(&mut self, command: ClientCommand, outgoing: &mut Outgoing) -> io::Result<()> {
        match command {
            ClientCommand::Call { id, request, answers } => {
                self.0.insert(id, Opened { answers, bytes: 0 });
                outgoing.put(&FromController::Call { id, request })
            }
            ClientCommand::Cancel(id) => self.cancel(id, outgoing),
        }
    }

    fn cancel(&mut self, id: u64, outgoing: &mut Outgoing) -> io::Result<()> {
        match self.0.remove(&id) {
            Some(_) => outgoing.put(&FromController::Cancel { id }),
            None => Ok(()),
        }
    }

    fn hear(&mut self, frame: FromAgent, outgoing: &mut Outgoing) -> io::Result<()> {
        match frame {
            FromAgent::Part { id, part } => {
                // Of one that was cancelled, something may still be on its way.
                let Some(opened) = self.0.get_mut(&id) else { return Ok(()) };
                opened.bytes += part.text().len();
                if opened.bytes > MESSAGE_LIMIT_BYTES {
                    let message = format!("the answer has more than {MESSAGE_LIMIT_BYTES} bytes");
                    let _ = opened.answers.send(CallAnswer::End(Err(Status::internal(message))));
                    return self.cancel(id, outgoing);
                }
                let _ = opened.answers.send(CallAnswer::Part(part));
            }
            FromAgent::End { id, end } => {
                if let Some(opened) = self.0.remove(&id) {
                    let _ = opened.answers.send(CallAnswer::End(end));
                }
            }
            FromAgent::Alive => {}
        }
        Ok(())
    }
}
