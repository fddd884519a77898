//! From an order to a performance: which transport, what it knows, and the life of an end.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_suite::activity::{Activity, Meeting, Order, Performance, PipeEnd, PipeMeeting, Tell, Word};
use btu_suite::hint::HintPlan;
use btu_suite::pipe::{End, Engine, Kind, Pattern, PipePlan};
use btu_suite::record::{Outcome, Report};
use btu_units::{Bytes, Span};
use socket2::Type;

use super::follow::follow;
use super::integrate::integrate;
use super::lead::Lead;
use super::local::Booth;
use super::memory::Memory;
use super::message::Messages;
use super::talk::Talk;
use super::tcp::Tcp;
use super::tube::Tube;
use super::udp::{self, Udp};
use super::unix::{UnixPackets, UnixStream};
use super::{Pipe, Setup};
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;

const ACTIVITY: &str = "pipe";

/// The largest packet of a Unix socket: the send buffer that Linux gives unasked (`net.core.wmem_default`, 212,992 bytes)
/// must hold it together with the kernel's own notes.
const LARGEST_PACKET: Bytes = Bytes::new(200_000);

/// Sets one end up.
///
/// # Errors
/// The transport does not know something that the plan asks for, or cannot be set up.
pub(crate) fn prepare(order: &Order, part: &PipeEnd) -> Result<Box<dyn Performance>, TrafficError> {
    let PipeEnd { end, meeting, token, plan, .. } = part;
    check(plan)?;
    let local = |kind| Booth::take(meeting, *token, kind, &plan.socket);
    Ok(match plan.kind {
        Kind::Tcp => Doing::boxed(order, part, Tcp::prepare(network(meeting)?, *token, &plan.socket, order.deadline)?),
        Kind::Udp => Doing::boxed(order, part, Udp::prepare(network(meeting)?, *token, *end)?),
        Kind::UnixStream => Doing::boxed(order, part, UnixStream(local(Type::STREAM)?)),
        Kind::UnixSeqpacket => Doing::boxed(order, part, UnixPackets(local(Type::SEQPACKET)?)),
        Kind::Pipe => {
            let room = plan.socket.send_buffer.map(|room| i32::try_from(room.count()).unwrap_or(i32::MAX));
            Doing::boxed(order, part, Tube { booth: local(Type::STREAM)?, room })
        }
        Kind::SharedMemory => Doing::boxed(order, part, Memory::new(local(Type::STREAM)?, plan.socket.send_buffer)),
        Kind::Tls | Kind::Quic | Kind::Http2 | Kind::Mpi => {
            return Err(refuse(format!("this program cannot move bytes by {} yet", plan.kind.label())));
        }
    })
}

/// The largest message that a transport moves at once, where there is such a limit.
pub fn largest(kind: Kind) -> Bytes {
    match kind {
        Kind::Udp => udp::LARGEST,
        Kind::UnixSeqpacket => LARGEST_PACKET,
        _ => btu_suite::pipe::LARGEST,
    }
}

fn network(meeting: &PipeMeeting) -> Result<&Meeting, TrafficError> {
    match meeting {
        PipeMeeting::Network(meeting) => Ok(meeting),
        _ => Err(refuse("this transport goes over a network: its ends meet at an address".to_owned())),
    }
}

/// Refuses what the plan's transport does not know.
///
/// # Errors
/// Says what it does not know.
pub fn check(plan: &PipePlan) -> Result<(), TrafficError> {
    let (kind, options) = (plan.kind, &plan.socket);
    let is_ring = matches!(kind, Kind::Pipe | Kind::SharedMemory);
    let unknown = [
        (options.no_delay.is_some() && kind != Kind::Tcp, "Nagle's algorithm (TCP has it)"),
        (options.send_buffer.is_some() && kind == Kind::Udp, "a send buffer of its own"),
        (options.receive_buffer.is_some() && (is_ring || kind == Kind::Udp), "a receive buffer of its own"),
        (options.zero_copy, "sending without a copy yet"),
        (options.busy_poll.is_some(), "busy polling yet"),
        (options.engine == Engine::IoUring, "io_uring yet"),
        (plan.pairs != 1, "several pairs together yet"),
        (
            kind == Kind::Udp && plan.pattern != Pattern::PingPong,
            "any pattern but ping-pong, which alone repairs what gets lost",
        ),
        (
            is_ring && plan.pattern == Pattern::Bidirectional,
            "messages both ways at once: larger ones than it holds would wait for each other",
        ),
        (
            kind == Kind::UnixSeqpacket && plan.pattern == Pattern::Bidirectional,
            "messages both ways at once: two large packets would wait for each other",
        ),
    ];
    match unknown.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(refuse(format!("{} does not know {what}", kind.label()))),
        None => Ok(()),
    }
}

fn refuse(what: String) -> TrafficError {
    TrafficError::Order { activity: ACTIVITY, what }
}

/// An end that is set up and waits for the start.
struct Doing<S> {
    setup: S,
    messages: Messages,
    end: End,
    plan: PipePlan,
    largest: Bytes,
    /// What goes over the pipe instead of messages of the plan's sizes.
    hint: Option<HintPlan>,
    deadline: Span,
}

impl<S: Setup + 'static> Doing<S> {
    fn boxed(order: &Order, part: &PipeEnd, setup: S) -> Box<dyn Performance> {
        let plan = part.plan.clone();
        let most = largest(plan.kind);
        let largest = plan.sizes.list().into_iter().filter(|size| *size <= most).max().unwrap_or(Bytes::new(1));
        let messages = Messages::new(&plan.buffers, largest.count() as usize, order.seed);
        let hint = match &order.activity {
            Activity::Hint(part) => Some(part.hint.clone()),
            _ => None,
        };
        Box::new(Self { setup, messages, end: part.end, plan, largest, hint, deadline: order.deadline })
    }

    fn run(self, stop: &AtomicBool, tell: Tell<'_>) -> Result<Report, TrafficError> {
        let (started, before) = (now(), cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let mut talk = Talk { pipe: self.setup.meet(&limit)?, messages: self.messages };
        let left_out = match (self.end, &self.hint) {
            (end, Some(hint)) => integrate(&mut talk.pipe, end, hint, tell).map(|()| 0),
            (End::Near, None) => lead(&mut talk, &self.plan, self.largest, tell),
            (End::Far, None) => follow(&mut talk, self.largest).map(|()| 0),
        };
        let left_out = left_out.map_err(|source| TrafficError::Pipe {
            operation: match self.end {
                End::Near => "measure",
                End::Far => "answer",
            },
            object: self.plan.kind.label().to_owned(),
            source,
        })?;
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome: Outcome::Piped { left_out } })
    }
}

fn lead<P: Pipe>(talk: &mut Talk<P>, plan: &PipePlan, largest: Bytes, tell: Tell<'_>) -> io::Result<u64> {
    Lead::new(talk, plan).measure(largest, &mut |point| tell(Word::Point(Box::new(point.clone()))))
}

impl<S: Setup + 'static> Performance for Doing<S> {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.setup.endpoint()
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop, &mut |_| Ok(()))?)
    }

    fn perform_telling(
        self: Box<Self>,
        stop: &AtomicBool,
        tell: Tell<'_>,
    ) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop, tell)?)
    }
}
