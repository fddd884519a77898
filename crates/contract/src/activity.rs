//! The orders that a worker understands, and the messages that it exchanges with its agent.
//!
//! A worker is a child process that performs one activity. It reads one [`Order`] as a line of JSON
//! from standard input, sets everything up, and answers [`Word::Ready`]. It then waits for a line
//! `go`, performs, answers [`Word::Done`] and exits with 0; a failure is [`Word::Failed`] and exit
//! code 1. When its standard input ends it exits at once: the agent is gone. A line `stop` ends a
//! serving activity in order.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::app::{BITMAP_PIECE, Broadcasts, Drawing, REQUEST_BYTES, TOGETHER, View};
use crate::copy::{Direction, FilePlace, Hold, Program};
use crate::dscp::Dscp;
use crate::hint::{HintPlan, HintPoint};
use crate::lan::{FileSizes, StationWork, Task};
use crate::pipe::{End, Pattern, PipePlan, Point, Sizes};
use crate::poisson::Poisson;
use crate::record::Report;
use crate::reported::Sample;

/// The work of one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Seeds payload and randomised choices.
    pub seed: u64,
    /// The worker is killed when it has not finished this long after it began to be prepared.
    #[serde(rename = "deadline_ns")]
    pub deadline: Span,
    /// The activity that the worker performs.
    pub activity: Activity,
    /// The interval of [`Word::Sample`]s, or of a display's [`Word::View`]s, during the activity,
    /// from `go` on; none if absent, and for activities that have neither.
    #[serde(rename = "sample_every_ns", default, skip_serializing_if = "Option::is_none")]
    pub sample_every: Option<Span>,
    /// The code point in the headers of its packets; zero, the best effort, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
}

impl Order {
    /// An order without samples before the end and without marks in its packets.
    pub const fn new(seed: u64, deadline: Span, activity: Activity) -> Self {
        Self { seed, deadline, activity, sample_every: None, dscp: None }
    }
}

/// The amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A fixed volume in bytes.
    Bytes(Bytes),
    /// As much as possible in this time: for calibration and for activities that are rates by
    /// nature.
    #[serde(rename = "for_ns")]
    For(Span),
}

/// Which end connects. The peers listen and the test machine connects, whichever way the data
/// flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rendezvous {
    /// Bind to this address, any free port, and report the port in [`Word::Ready`].
    Listen(IpAddr),
    /// Connect to a listening worker.
    Connect(SocketAddr),
}

/// The transports of request and response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP, with Nagle's algorithm off.
    Tcp,
    /// A TCP connection for each request, which the responder closes behind its answer; the round
    /// trip is the time from connecting until then. A refused connection is a loss.
    TcpConnect,
    /// UDP; an answer that does not come within the timeout is a loss.
    Udp,
}

/// One activity with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Activity {
    /// Does nothing: the cell then measures the tool's own cost.
    Null,
    /// Sends a bulk TCP stream. Starts when the receiver's token arrives on the connection.
    TcpSend(TcpSend),
    /// Receives a bulk TCP stream. On `go` its clock starts and it sends the token.
    TcpReceive(TcpReceive),
    /// Sends a request, waits for the answer, and so on.
    Request(Request),
    /// Answers every request until the requester closes or says goodbye.
    Respond(Respond),
    /// Sends datagrams on an absolute schedule.
    UdpSend(UdpSend),
    /// Receives and counts datagrams.
    UdpReceive(UdpReceive),
    /// Complex arithmetic, then allocate, copy, free; so many rounds.
    Cpu(Cpu),
    /// Reads a large file and copies it to another.
    Disk(Disk),
    /// Serves FTP until a `stop` arrives.
    FtpServe(FtpServe),
    /// Fetches by FTP into a file.
    FtpFetch(FtpFetch),
    /// Serves files by NFS until a `stop` arrives.
    FilesServe(FilesServe),
    /// Performs a program's file operations, at a server or on its own disk, and measures the time.
    FilesTask(FilesTask),
    /// Reads and writes records at a server until a `stop` arrives.
    FilesStation(FilesStation),
    /// One end of a pipe: the near end measures, the far end follows its messages.
    Pipe(Box<PipeEnd>),
    /// One process of HINT: the near end measures, the far end takes its share of the work.
    Hint(Box<HintEnd>),
    /// One end of an application that draws on a display: the near end is the application and
    /// measures the time.
    Draw(Box<DrawEnd>),
    /// An application that draws on a display in its own process.
    DrawInside(Box<Drawing>),
    /// The same end, through the system's ssh and a terminal at the display.
    DrawOverSsh(Box<DrawEnd>),
    /// The same end, as requests to an X server of the system's at the display.
    DrawOverX11(Box<DrawEnd>),
    /// An X server at the far end, and x11perf in place of the application.
    DrawByX11perf(Box<DrawEnd>),
    /// Passes the octets of one connection on to another host, and back.
    Relay(Relay),
    /// Sends broadcasts until a `stop` arrives.
    Broadcast(Broadcast),
    /// Copies a file to another host and measures the time, connecting included.
    FileSend(FileClient),
    /// Takes the copy of a file.
    FileReceive(FileServer),
    /// Copies a file from another host and measures the time, connecting included.
    FileFetch(FileClient),
    /// Sends a file to the client that fetches it.
    FileOffer(FileServer),
    /// Copies a file on one host.
    FileCopy(FileCopy),
}

/// The token that opens a data connection: only a peer that knows it may start a flow.
pub type Token = [u8; 16];

/// Sender of a bulk TCP stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpSend {
    /// Which of the two ends connects to the other.
    pub meeting: Rendezvous,
    /// The token that the receiver sends first.
    pub token: Token,
    /// Bytes per system call; the last message of a volume may be shorter.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The amount of work: a fixed volume in bytes, or as much as possible in a given time.
    pub work: Work,
    /// Socket buffer (`SO_SNDBUF`), set before the connection is made; the system's own choice when
    /// absent.
    #[serde(rename = "window_bytes")]
    pub window: Option<Bytes>,
    /// The most that waits in the socket until TCP may send it (`TCP_NOTSENT_LOWAT`), so that the
    /// stream ends soon after its time; the system's own choice when absent.
    #[serde(rename = "unsent_bytes", default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<Bytes>,
}

/// Receiver of a bulk TCP stream; it reads until the sender closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpReceive {
    /// Which of the two ends connects to the other.
    pub meeting: Rendezvous,
    /// The token that starts the sender.
    pub token: Token,
    /// Bytes asked for in each system call.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Socket buffer (`SO_RCVBUF`) and window clamp, set before the connection is made.
    #[serde(rename = "window_bytes")]
    pub window: Option<Bytes>,
    /// The sender's volume, if it is known: then the receiver need not read the clock at every call
    /// to time the last byte.
    #[serde(rename = "volume_bytes", default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Bytes>,
    /// The receiver's pattern of reads.
    #[serde(default, skip_serializing_if = "Receiving::is_plain")]
    pub receiving: Receiving,
}

btu_units::named! {
    /// When the receiver of a bulk stream reads (decision 0017).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Receiving {
        /// As most programs do: one call for each message, which waits for it.
        #[default]
        Plain = "plain",
        /// As programs with other work do: all available data, then a pause of 0.1 to 4 ms.
        Batched = "batched",
    }
}

impl Receiving {
    /// Whether it is the default pattern.
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Whether it reads all available data, and then pauses.
    pub const fn is_batched(&self) -> bool {
        matches!(self, Self::Batched)
    }
}

/// The side that asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The IP address and port of the responder.
    pub to: SocketAddr,
    /// The transport that carries requests and responses.
    pub transport: Transport,
    /// The token in each first message.
    pub token: Token,
    /// Size of request and of response.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The length of time.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Sends requests at random moments, several in flight. Without it, the next request follows the
    /// answer at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
}

/// Requests that leave on time at random moments, whatever becomes of the answers. Over UDP one
/// without an answer is lost after ten seconds; connections of [`Transport::TcpConnect`] are made
/// one at a time, and moments meanwhile are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// The mean time from one request to the next.
    #[serde(rename = "mean_interval_ns")]
    pub interval: Span,
    /// Requests that leave earlier after the start are counted, but are not part of the
    /// distribution of times.
    #[serde(rename = "lead_ns", default)]
    pub lead: Span,
}

impl OpenLoop {
    /// Requests with this mean interval, all of which are part of the distribution.
    pub const fn every(interval: Span) -> Self {
        Self { interval, lead: Span::ZERO }
    }

    /// The moments after the start, drawn by this seed.
    pub fn moments(&self, seed: u64) -> Poisson {
        Poisson::new(seed, "requests", self.interval)
    }
}

/// The side that answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Respond {
    /// Address to listen on, any free port.
    pub on: IpAddr,
    /// The transport that carries requests and responses.
    pub transport: Transport,
    /// The responder does not answer a requester without this token.
    pub token: Token,
    /// Size of request and of response.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
}

/// Sender of a paced stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UdpSend {
    /// Which end connects: the listener answers the caller's greeting before anything flows.
    pub meeting: Rendezvous,
    /// The token in the greeting.
    pub token: Token,
    /// Payload of one datagram, at least 40 bytes.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Offered load, counted over the payload.
    #[serde(rename = "offered_bits_per_second")]
    pub offered: BitRate,
    /// The length of time for which the stream is sent.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Controls the offered rate by the receiver's reports; it begins with `offered`, which is
    /// fixed without a control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// Receiver of a paced stream; ends at the sender's farewell or after half a second of silence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UdpReceive {
    /// Which of the two ends connects to the other.
    pub meeting: Rendezvous,
    /// The token in the greeting.
    pub token: Token,
    /// Payload of one datagram.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Upper bound on datagrams expected, to size the record of arrivals.
    pub expected_datagrams: u64,
    /// The sender's offered rate, for computing jitter: the schedule follows from it.
    #[serde(rename = "offered_bits_per_second", default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<BitRate>,
    /// Whether it reports the number of arrivals to the sender at intervals.
    #[serde(default)]
    pub tells: bool,
}

/// The CPU activity: rounds of arithmetic and memory work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// How many rounds of arithmetic and memory.
    pub rounds: Rounds,
    /// Whether it gives way to everything else that can run (nice value 19).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_way: bool,
}

impl Cpu {
    /// Rounds at the priority of every other activity.
    pub const fn of(rounds: Rounds) -> Self {
        Self { rounds, gives_way: false }
    }
}

/// How many rounds of a host activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    /// A fixed number of rounds.
    Count(u64),
    /// As many as possible in this time.
    #[serde(rename = "for_ns")]
    For(Span),
}

/// The disk activity: it reads a large file and copies it to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Scratch directory; its files are removed at the end.
    #[serde(with = "crate::path")]
    pub directory: PathBuf,
    /// A prepared source file of `file` bytes, which the activity does not remove; without it, the
    /// activity makes a new one.
    #[serde(with = "crate::path::optional", default)]
    pub source: Option<PathBuf>,
    /// Size of the file that is read; the copy takes as much again.
    #[serde(rename = "file_bytes")]
    pub file: Bytes,
    /// Bytes to copy in all; the file is gone through again and again.
    pub work: Work,
}

/// The embedded FTP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FtpServe {
    /// Address to listen on, any free port.
    pub address: IpAddr,
    /// The only password it takes; the user name is `btu`.
    pub password: String,
}

/// The FTP client: it fetches data from the embedded server into a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FtpFetch {
    /// The server's control port.
    pub server: SocketAddr,
    /// The password for the FTP login.
    pub password: String,
    /// Where the fetched file is written; removed at the end.
    #[serde(with = "crate::path")]
    pub directory: PathBuf,
    /// Bytes to fetch in all.
    pub work: Work,
}

/// A file server: NFS version 3 over TCP, empty at first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilesServe {
    /// Address to listen on, any free port.
    pub address: IpAddr,
    /// The server does not answer a client without this token.
    pub token: Token,
    /// The storage of files' contents; they have no names there.
    #[serde(with = "crate::path")]
    pub directory: PathBuf,
    /// Most that all files hold.
    #[serde(rename = "room_bytes")]
    pub room: Bytes,
    /// The least time of each operation, one after the other; zero means the machine's own time.
    #[serde(rename = "service_ns")]
    pub service: Span,
}

/// The place where an activity keeps its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilesPlace {
    /// The files are at a server.
    Server(SocketAddr),
    /// On this station's own disk, with the storage of the server but without a network.
    Own {
        /// The storage of files' contents.
        #[serde(with = "crate::path")]
        directory: PathBuf,
        /// Most that all files hold.
        #[serde(rename = "room_bytes")]
        room: Bytes,
        /// The least time of each operation.
        #[serde(rename = "service_ns")]
        service: Span,
    },
    /// In a directory of this host's, which a share is mounted on; each activity makes one of its
    /// own in it, and removes it.
    Share {
        /// The path of an existing directory.
        #[serde(with = "crate::path")]
        directory: PathBuf,
    },
}

/// A task of a foreground station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilesTask {
    /// Where its files are.
    pub place: FilesPlace,
    /// Its token for a server.
    pub token: Token,
    /// The task that the station performs.
    pub task: Task,
    /// The sizes of its files.
    pub sizes: FileSizes,
    /// The delay from `go` to its start: by then the background stations are working.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
    /// It is repeated until this time has passed, at least once.
    #[serde(rename = "target_ns")]
    pub target: Span,
}

/// A background station, which reads and writes records until a `stop` arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilesStation {
    /// Where its files are: at a server, or on a share.
    pub place: FilesPlace,
    /// Its token for a server.
    pub token: Token,
    /// Which station this is, from 1.
    pub number: u32,
    /// The work that the station does, such as transactions of one pattern.
    pub work: StationWork,
}

/// One end of a pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipeEnd {
    /// Which end of the pipe this is, near or far.
    pub end: End,
    /// The place where the two ends meet.
    pub meeting: PipeMeeting,
    /// The connecting end sends it first.
    pub token: Token,
    /// The measurement; equal at both ends.
    pub plan: PipePlan,
    /// Whether the near end waits for another `go` after each size, for the turns of other
    /// signatures or while a result is stored.
    #[serde(default)]
    pub turns: bool,
}

/// The size of HINT's exchange: three numbers of eight bytes.
const HINT_MESSAGE: Bytes = Bytes::new(24);

/// One process of HINT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintEnd {
    /// Which end of the pipe this is, near or far.
    pub end: End,
    /// The place where the two ends meet.
    pub meeting: PipeMeeting,
    /// The connecting end sends it first.
    pub token: Token,
    /// The measurement; equal at both ends.
    pub hint: HintPlan,
    /// The carrier of the exchange: transport and its options; the sizes have no effect.
    pub pipe: PipePlan,
}

impl HintEnd {
    /// The pipe that carries its exchange, for messages of a lap's number and two sums.
    pub fn as_pipe(&self) -> PipeEnd {
        computing(self.end, &self.meeting, self.token, &self.pipe, HINT_MESSAGE)
    }
}

/// One end of an application that draws on a display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawEnd {
    /// Which end: the near end is the application, the far one the display.
    pub end: End,
    /// The place where the two ends meet.
    pub meeting: PipeMeeting,
    /// The connecting end sends it first.
    pub token: Token,
    /// The picture and the way of drawing; equal at both ends.
    pub drawing: Drawing,
    /// The carrier of requests: transport and its options; the sizes have no effect.
    pub pipe: PipePlan,
}

impl DrawEnd {
    /// The pipe that carries its requests; the largest is the order for a picture, or pixels with
    /// theirs.
    pub fn as_pipe(&self) -> PipeEnd {
        let picture =
            Bytes::new((TOGETHER * REQUEST_BYTES).max(REQUEST_BYTES + BITMAP_PIECE) as u64);
        let largest = picture.max(self.drawing.largest_message());
        computing(self.end, &self.meeting, self.token, &self.pipe, largest)
    }
}

/// The pipe of an end that sends no data while it computes, for messages up to `largest`.
fn computing(
    end: End,
    meeting: &PipeMeeting,
    token: Token,
    pipe: &PipePlan,
    largest: Bytes,
) -> PipeEnd {
    let (pattern, sizes) = (Pattern::PingPong, Sizes::one(largest));
    let plan = PipePlan { pattern, sizes, ..pipe.clone() };
    PipeEnd { end, meeting: meeting.clone(), token, plan, turns: true }
}

/// A relay of one connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relay {
    /// Address to listen on, any free port.
    pub on: IpAddr,
    /// The destination of the octets.
    pub to: SocketAddr,
    /// The caller sends it to the relay, and the relay sends it to the end that it calls.
    pub token: Token,
}

/// Broadcasts that every host of a segment must receive, and that no process waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Broadcast {
    /// The address of the sending station; it decides over which interface they leave.
    pub on: IpAddr,
    /// How many of them leave in a second.
    #[serde(rename = "broadcasts_per_second")]
    pub broadcasts: Broadcasts,
}

/// The end of a copy that connects and measures the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileClient {
    /// The copying program; not [`Program::Local`].
    pub program: Program,
    /// The IP address and port of the other end.
    pub to: SocketAddr,
    /// The token that is sent first; the password of [`Program::Ftp`], in hexadecimal digits.
    pub token: Token,
    /// The source, made from the order's seed before the clock starts; or the target of the copy,
    /// with its expected size.
    pub file: FilePlace,
    /// The delay from `go` to the start of the command: by then other activities have begun.
    #[serde(rename = "wait_ns")]
    pub wait: Span,
}

/// The end of a copy that listens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileServer {
    /// The copying program; not [`Program::Local`].
    pub program: Program,
    /// Address to listen on, any free port.
    pub on: IpAddr,
    /// The listener ignores a client without this token.
    pub token: Token,
    /// The target of the copy, with its expected size; or the source.
    pub file: FilePlace,
}

/// A copy on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileCopy {
    /// The source, made from the order's seed before the clock starts; the copy is on the same
    /// storage, except as `share` says.
    pub file: FilePlace,
    /// A directory of this host on which a share is mounted: it holds the copy, or the source.
    #[serde(with = "crate::path::optional", default, skip_serializing_if = "Option::is_none")]
    pub share: Option<PathBuf>,
    /// Whether the file goes to the share, or comes from it.
    #[serde(default)]
    pub direction: Direction,
}

/// Where the two ends of a pipe meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipeMeeting {
    /// The ends meet at a network address.
    Network(Rendezvous),
    /// On one machine: wait at a Unix socket of this path.
    ListenAt(#[serde(with = "crate::path")] PathBuf),
    /// On one machine: come to the Unix socket of this path.
    ConnectAt(#[serde(with = "crate::path")] PathBuf),
}

/// The beginning of a [`Word::Failed`] message that an agent sends for a worker that a signal
/// ended.
pub const KILLED: &str = "it died: killed by";

/// A message from a worker to its agent, one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Set up and waiting for `go`; with its address, if it listens.
    Ready {
        /// The address and port a peer can connect to.
        endpoint: Option<SocketAddr>,
    },
    /// A message size of a pipe is measured; more may follow.
    Point(Box<Point>),
    /// A number of intervals of HINT is measured; more may follow.
    Step(Box<HintPoint>),
    /// The progress of a stream; more may follow.
    Sample(Box<Sample>),
    /// What a display shows; more may follow.
    View(Box<View>),
    /// The worker has finished.
    Done(Box<Report>),
    /// The worker failed; the message names the operation and the object.
    Failed {
        /// The reason that the host gives.
        message: String,
    },
}

/// The channel of a [`Word`] during a performance; an error means that no process listens any more.
/// Other threads than the performing one may send, too.
pub type Tell<'a> = &'a mut (dyn FnMut(Word) -> std::io::Result<()> + Send);

/// The account of an activity, or a message that names the operation and the object.
pub type Performed = Result<Report, Box<dyn std::error::Error + Send + Sync>>;

/// An activity that is set up and waits for `go`; each crate that performs activities makes these
/// from an [`Order`].
pub trait Performance: Send {
    /// The address for peers, for activities that listen.
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    /// Performs and returns its account. `stop` becomes true when a serving activity must end in
    /// order. Some activities send messages before their end.
    ///
    /// # Errors
    /// A message that names the operation and the object; for activities that send messages, when no
    /// process listens any more.
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed;

    /// Performs, and drops the messages.
    ///
    /// # Errors
    /// As [`Self::perform_telling`].
    fn perform(self: Box<Self>, stop: &AtomicBool) -> Performed {
        self.perform_telling(stop, &mut |_| Ok(()))
    }
}
