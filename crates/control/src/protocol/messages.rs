//! The calls of an agent, and their answers.
//!
//! `session` names a reservation (16 random bytes that the agent made). On a Unix socket it may be
//! empty: a process that can open the socket belongs to this machine, needs no reservation and has
//! no lease. Anywhere else a call without one is refused (`FailedPrecondition`), and so is a
//! session of another controller (`PermissionDenied`) or one that is unknown or lapsed
//! (`NotFound`).
//!
//! Orders, accounts and words are documents: their types (`btu_contract::activity`,
//! `btu_contract::record`) are the one definition shared with the worker's pipe and with the store.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Json;

/// A request, with the type of its answer.
pub trait Call: Into<Request> {
    /// The type of the answer.
    type Reply: DeserializeOwned;
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident: $request:ident -> $reply:ident;)+) => {
        /// A call of an agent.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub enum Request {
            $($(#[$doc])* $name($request),)+
        }

        impl Request {
            /// The name of the call.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)+
                }
            }
        }

        $(
            impl From<$request> for Request {
                fn from(request: $request) -> Self {
                    Self::$name(request)
                }
            }

            impl Call for $request {
                type Reply = $reply;
            }
        )+
    };
}

calls! {
    /// Who are you?
    Hello: HelloRequest -> HelloReply;
    /// What the host is like, and what will and will not work there. Looked at once at a time, and
    /// said again for a few seconds; `FailedPrecondition` while another controller has the host.
    Describe: DescribeRequest -> DescribeReply;
    /// Asks for the host, for one run. The lease begins, or with an old session begins again.
    Reserve: ReserveRequest -> ReserveReply;
    /// Keeps the lease, and reads the host's clocks.
    Renew: RenewRequest -> RenewReply;
    /// Gives the host back: workers are killed, the impairment is taken away, kept accounts are
    /// forgotten.
    Release: ReleaseRequest -> Done;
    /// Delays and drops what comes in at an interface, by the kernel's netem. `FailedPrecondition`
    /// says why it cannot be done and what would fix it, `PermissionDenied` which rule of the
    /// policy forbids it.
    Impair: ImpairRequest -> ImpairReply;
    /// Makes one worker and sets its activity up; returns when it waits for the start. Its deadline
    /// begins here. `PermissionDenied` names the policy's rule that forbids the order, or that
    /// leaves no room for it.
    Prepare: PrepareRequest -> PrepareReply;
    /// Starts every worker of the cell that is prepared and not started yet.
    Start: StartRequest -> Done;
    /// Directs one worker of the cell that is prepared: starts it or gives it its next turn, asks
    /// it to stop, kills it, or only looks at it. Workers that measure in turns are directed one by
    /// one; `Start` is for those that begin together.
    Direct: DirectRequest -> DirectReply;
    /// What a started worker says, as it comes: each part is a `btu_contract::activity::Word`, `Done`
    /// or `Failed` the last. Can be asked again.
    Follow: FollowRequest -> Done;
    /// Waits until the named workers have finished (or were killed at their deadline), ends the
    /// others in order, and returns every account. Goes on when the caller is gone, and can be
    /// asked again: accounts are kept, a few cells of them, until the session ends, and an hour
    /// after a lapse.
    Collect: CollectRequest -> CollectReply;
    /// Kills every worker.
    Abandon: AbandonRequest -> Done;
    /// Keeps a source file for the disk activity ready, without a name in the file system. Needs
    /// what that activity needs; given up with the session and with the call.
    PrepareDiskFile: PrepareDiskFileRequest -> PrepareDiskFileReply;
}

/// The answer of calls that return nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}

/// See [`Request::Hello`].
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct HelloRequest {}

/// See [`Request::Hello`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HelloReply {
    /// The version of the protocol.
    pub protocol: u32,
    /// The station's or the host's name.
    pub name: String,
    /// The version of btu.
    pub btu_version: String,
    /// The number of the agent's process.
    pub process: u32,
    /// Random, made at each start: another one means that the agent was started again and knows no
    /// session.
    pub instance: Vec<u8>,
    /// Kinds of activity it can and may do.
    pub activities: Vec<String>,
    /// What else it can do: netem, kept-accounts, follow, policy.
    pub features: Vec<String>,
    /// A session ends when it was not renewed for so long.
    pub lease_ms: u64,
}

/// See [`Request::Describe`].
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct DescribeRequest {}

/// See [`Request::Describe`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DescribeReply {
    /// `btu_control::environment::Environment`.
    pub environment: Json,
    /// What `btu hosts doctor --json` prints.
    pub findings: Json,
}

/// See [`Request::Reserve`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReserveRequest {
    /// The run, as the controller names it.
    pub run: String,
    /// Who asks, for the message that others get; over TLS the certificate's name counts instead.
    pub controller: String,
    /// How long the run is expected to take.
    pub expected_ms: u64,
    /// A session that this run had before.
    pub session: Vec<u8>,
}

/// See [`Request::Reserve`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReserveReply {
    /// Empty when the host is busy.
    pub session: Vec<u8>,
    /// A session ends when it was not renewed for so long.
    pub lease_ms: u64,
    /// Whether the session asked for was taken up again; otherwise it is a new one.
    pub resumed: bool,
    /// The cells of which accounts are kept for it: what `Collect` would give.
    pub kept_cells: Vec<u64>,
    /// When busy: one sentence for users, such as `busy with run r12 of carol, free in 40 s`.
    pub busy: String,
}

/// See [`Request::Renew`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RenewRequest {
    /// The expected rest of the run, for other controllers.
    pub expected_left_ms: u64,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Renew`]: the host's clocks, read one after the other while the request is
/// answered.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct RenewReply {
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`.
    pub realtime_ns: u64,
}

/// See [`Request::Release`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReleaseRequest {
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Impair`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ImpairRequest {
    /// Address of the interface with the incoming packets to impair.
    pub address: String,
    /// The delay of each packet. This and `loss` zero: take the impairment away.
    pub delay_ns: u64,
    /// Probability that a packet is dropped: 0 to 1.
    pub loss: f64,
    /// The seed of what is dropped.
    pub seed: u64,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Impair`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ImpairReply {
    /// How it is done, for the report.
    pub how: String,
}

/// See [`Request::Prepare`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PrepareRequest {
    /// Cells are numbered by the controller; a new number ends whatever is left of an older one.
    pub cell: u64,
    /// The worker's number in the cell's script.
    pub step: u32,
    /// `btu_contract::activity::Order`.
    pub order: Json,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Prepare`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PrepareReply {
    /// Where the activity listens, as `address:port`; empty when it does not.
    pub endpoint: String,
}

/// See [`Request::Start`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StartRequest {
    /// The number of the cell.
    pub cell: u64,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Direct`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectRequest {
    /// The number of the cell.
    pub cell: u64,
    /// The worker's number in the cell's script.
    pub step: u32,
    /// What it is to do.
    pub direction: WorkerCommand,
    /// The reservation.
    pub session: Vec<u8>,
}

/// What a worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerCommand {
    /// Nothing is said to the worker.
    Look,
    /// It starts, or has its next turn.
    Go,
    /// It ends in order, with its account as its last word.
    Stop,
    /// It is killed.
    Kill,
}

/// See [`Request::Direct`].
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct DirectReply {
    /// CPU time of the worker since it was made, before it was directed; absent when it has ended.
    pub cpu_ns: Option<u64>,
}

/// See [`Request::Follow`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FollowRequest {
    /// The number of the cell.
    pub cell: u64,
    /// The worker's number in the cell's script.
    pub step: u32,
    /// Words that the caller has already: the first part is the one after so many.
    pub heard: u64,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Collect`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CollectRequest {
    /// The number of the cell.
    pub cell: u64,
    /// Steps that end by themselves; all others are told to stop when these have ended.
    pub finishing: Vec<u32>,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::Collect`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectReply {
    /// One for each worker.
    pub accounts: Vec<WorkerAccount>,
    /// CPU time of the agent itself since the cell's first `Prepare`, in user mode.
    pub agent_user_ns: u64,
    /// The same in the kernel.
    pub agent_system_ns: u64,
    /// CPU time of the cell's workers on this host, over their whole lives, in user mode.
    pub workers_user_ns: u64,
    /// The same in the kernel.
    pub workers_system_ns: u64,
    /// `btu_contract::record::MachineCpu` of the host from the cell's `Start` to its last account;
    /// absent when it cannot be read.
    pub machine: Option<Json>,
}

/// The account of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerAccount {
    /// The worker's number in the cell's script.
    pub step: u32,
    /// `Result<btu_contract::record::Report, btu_contract::record::Failure>`.
    pub result: Json,
}

/// See [`Request::Abandon`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AbandonRequest {
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::PrepareDiskFile`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PrepareDiskFileRequest {
    /// Only the session-less use the directory they name; all others get the policy's scratch
    /// directory.
    pub directory: String,
    /// The size of the file.
    pub file_bytes: u64,
    /// The seed of its content.
    pub seed: u64,
    /// The reservation.
    pub session: Vec<u8>,
}

/// See [`Request::PrepareDiskFile`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PrepareDiskFileReply {
    /// Path under which a worker of this agent opens the file.
    pub source: String,
}
