//! The options that each transport supports. All others are refused by name before anything is set
//! up.

use btu_contract::activity::{PipeMeeting, Rendezvous};
use btu_contract::pipe::{Engine, Kind, Pattern, PipePlan};
use btu_units::Bytes;

use super::udp;
use crate::error::TrafficError;

const ACTIVITY: &str = "pipe";

/// The largest packet of a Unix socket: the send buffer that Linux gives unasked
/// (`net.core.wmem_default`, 212,992 bytes) must hold it together with the kernel's own notes.
const LARGEST_PACKET: Bytes = Bytes::new(200_000);

/// Most pairs together: as many threads at each end.
const MOST_PAIRS: u32 = 64;

/// The advice if MPI is requested but not available.
pub(super) const WITHOUT_MPI: &str = "this btu was built without MPI; with an MPI library's compiler wrapper installed (Debian: \
                           libmpich-dev), `cargo build --release --features mpi` builds one with it";

/// The largest message that a transport moves at once, where there is such a limit.
pub fn largest(kind: Kind) -> Bytes {
    match kind {
        Kind::Udp => udp::LARGEST,
        Kind::UnixSeqpacket => LARGEST_PACKET,
        _ => btu_contract::pipe::LARGEST,
    }
}

/// Refuses options that the plan's transport does not support.
///
/// # Errors
/// Reports the unsupported option.
pub fn check(plan: &PipePlan) -> Result<(), TrafficError> {
    if plan.kind == Kind::Mpi && cfg!(not(feature = "mpi")) {
        return Err(refuse(WITHOUT_MPI.to_owned()));
    }
    #[cfg(feature = "mpi")]
    if let (Kind::Mpi, Some(why)) = (plan.kind, super::mpi::refusal()) {
        return Err(refuse(why));
    }
    match unknown(plan).into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(refuse(format!("{} does not know {what}", plan.kind.label()))),
        None => Ok(()),
    }
}

fn unknown(plan: &PipePlan) -> [(bool, &'static str); 11] {
    let (kind, options) = (plan.kind, &plan.socket);
    let is_ring = matches!(kind, Kind::Pipe | Kind::SharedMemory);
    let is_over_tcp = matches!(kind, Kind::Tcp | Kind::Tls | Kind::Http2);
    let has_none = matches!(kind, Kind::Udp | Kind::Quic | Kind::Mpi);
    let engine = options.engine == Engine::IoUring;
    [
        (options.no_delay.is_some() && !is_over_tcp, "Nagle's algorithm (TCP has it)"),
        (options.send_buffer.is_some() && has_none, "a send buffer of its own"),
        (options.receive_buffer.is_some() && (is_ring || has_none), "a receive buffer of its own"),
        (options.zero_copy && kind != Kind::Tcp, "sending without a copy (TCP does)"),
        (
            options.zero_copy && plan.pattern == Pattern::Bidirectional,
            "sending without a copy and receiving at the same time",
        ),
        (options.busy_poll.is_some() && kind != Kind::Tcp, "busy polling (TCP does)"),
        (engine && kind != Kind::Tcp, "io_uring (TCP does)"),
        (engine && options.zero_copy, "io_uring and sending without a copy together"),
        (engine && options.busy_poll.is_some(), "io_uring and busy polling together"),
        (plan.pairs == 0 || plan.pairs > MOST_PAIRS, "so many pairs: 1 to 64"),
        (
            kind == Kind::Http2 && plan.pattern != Pattern::PingPong,
            "any pattern but ping-pong: a request has an answer",
        ),
    ]
}

/// Where the ends meet, for a transport that goes over a network.
pub(super) fn network(meeting: &PipeMeeting) -> Result<&Rendezvous, TrafficError> {
    match meeting {
        PipeMeeting::Network(meeting) => Ok(meeting),
        _ => Err(refuse(
            "this transport goes over a network: its ends meet at an address".to_owned(),
        )),
    }
}

/// The order cannot be carried out.
pub(super) fn refuse(what: String) -> TrafficError {
    TrafficError::Order { activity: ACTIVITY, what }
}
