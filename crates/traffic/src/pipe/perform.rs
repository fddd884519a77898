//! From an order to a performance: the transport, its options, and the life of an end.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::{io, thread};

use btu_contract::activity::{
    Activity, Order, Performance, Performed, PipeEnd, PipeMeeting, Tell, Word,
};
use btu_contract::app::Drawing;
use btu_contract::hint::HintPlan;
use btu_contract::peers::Callers;
use btu_contract::pipe::{End, Engine, Kind, PipePlan};
use btu_contract::record::{Outcome, Report};
use btu_units::{Bytes, Span};

#[cfg(not(feature = "mpi"))]
use super::check::{WITHOUT_MPI, refuse};
use super::check::{check, largest};
use super::draw::{draw, show};
use super::follow::follow;
use super::http2::Http2;
use super::integrate::integrate;
use super::lead::Lead;
use super::memory::SharedMemory;
use super::message::Messages;
#[cfg(feature = "mpi")]
use super::mpi::Mpi;
use super::os_pipe::OsPipe;
use super::quic::Quic;
use super::ring::RingTcp;
use super::talk::Talk;
use super::tcp::Tcp;
use super::tls::Tls;
use super::udp::Udp;
use super::unix::{UnixPackets, UnixStream};
use super::viewer::Viewer;
use super::zero_copy::ZeroCopyTcp;
use super::{Pipe, Setup, Terms, pairs};
use crate::clock::{Limit, now, process_cpu, process_cpu_since};
use crate::error::TrafficError;

/// Sets one end up.
///
/// # Errors
/// The transport does not support an option of the plan, or cannot be set up.
pub(crate) fn prepare(
    order: &Order,
    part: &PipeEnd,
    callers: &Callers,
) -> Result<Box<dyn Performance>, TrafficError> {
    check(&part.plan)?;
    let options = &part.plan.socket;
    match part.plan.kind {
        Kind::Tcp if options.engine == Engine::IoUring => {
            WaitingEnd::<RingTcp>::boxed(order, part, callers)
        }
        Kind::Tcp if options.zero_copy => WaitingEnd::<ZeroCopyTcp>::boxed(order, part, callers),
        Kind::Tcp => WaitingEnd::<Tcp>::boxed(order, part, callers),
        Kind::Udp => WaitingEnd::<Udp>::boxed(order, part, callers),
        Kind::UnixStream => WaitingEnd::<UnixStream>::boxed(order, part, callers),
        Kind::UnixSeqpacket => WaitingEnd::<UnixPackets>::boxed(order, part, callers),
        Kind::Pipe => WaitingEnd::<OsPipe>::boxed(order, part, callers),
        Kind::SharedMemory => WaitingEnd::<SharedMemory>::boxed(order, part, callers),
        Kind::Tls => WaitingEnd::<Tls>::boxed(order, part, callers),
        Kind::Quic => WaitingEnd::<Quic>::boxed(order, part, callers),
        Kind::Http2 => WaitingEnd::<Http2>::boxed(order, part, callers),
        #[cfg(feature = "mpi")]
        Kind::Mpi => WaitingEnd::<Mpi>::boxed(order, part, callers),
        #[cfg(not(feature = "mpi"))]
        Kind::Mpi => Err(refuse(WITHOUT_MPI.to_owned())),
    }
}

/// An end that is set up and waits for the start.
struct WaitingEnd<S> {
    setup: S,
    meeting: PipeMeeting,
    terms: Terms,
    seed: u64,
    /// Of the first pair, ready before the start.
    messages: Messages,
    largest: Bytes,
    content: Content,
    /// The interval of reports of what a display shows.
    every: Option<Span>,
}

/// The work over a pipe.
enum Content {
    /// Messages of the plan's sizes.
    Sizes,
    /// The end performs the laps of HINT.
    Hint(HintPlan),
    /// Requests of an application that draws.
    Drawing(Drawing),
}

impl Content {
    fn of(activity: &Activity) -> Self {
        match activity {
            Activity::Hint(part) => Self::Hint(part.hint.clone()),
            Activity::Draw(part) => Self::Drawing(part.drawing.clone()),
            _ => Self::Sizes,
        }
    }
}

impl<S: Setup + 'static> WaitingEnd<S> {
    fn boxed(
        order: &Order,
        part: &PipeEnd,
        callers: &Callers,
    ) -> Result<Box<dyn Performance>, TrafficError> {
        let PipeEnd { end, meeting, token, plan, turns } = part.clone();
        let most = largest(plan.kind);
        let largest = plan
            .sizes
            .list()
            .into_iter()
            .filter(|size| *size <= most)
            .max()
            .unwrap_or(Bytes::new(1));
        let content = Content::of(&order.activity);
        let terms = Terms {
            end,
            token,
            plan,
            turns,
            works: !matches!(content, Content::Sizes),
            deadline: order.deadline,
            callers: callers.clone(),
        };
        let setup = S::prepare(&meeting, &terms)?;
        let messages = messages(&terms, largest, order.seed);
        let (seed, every) = (order.seed, order.sample_every);
        Ok(Box::new(Self { setup, meeting, terms, seed, messages, largest, content, every }))
    }

    fn run(self, stop: &AtomicBool, tell: Tell<'_>) -> Result<Report, TrafficError> {
        // Of all pairs' threads, and of those that transports have.
        let (started, before) = (now(), process_cpu());
        let Self { setup, meeting, terms, seed, messages: own, largest, content, every } = self;
        let limit = Limit::new(started, terms.deadline, stop);
        let mut first = Talk { pipe: setup.meet(&limit)?, messages: own };
        let others = pairs::gather::<S>(&mut first, &meeting, &terms, &limit, || {
            messages(&terms, largest, seed)
        })?;
        let mut talks: Vec<_> = std::iter::once(first).chain(others).collect();
        let done = match (terms.end, &content) {
            (end, Content::Hint(hint)) => integrate(&mut talks[0].pipe, end, hint, tell)
                .inspect(|()| talks[0].pipe.close())
                .map(|()| piped(0, &talks)),
            (End::Near, Content::Drawing(drawing)) => {
                draw(&mut talks[0].pipe, drawing, &limit).map(Outcome::Drawn)
            }
            (End::Far, Content::Drawing(drawing)) => {
                let mut viewer = Viewer::new(every, tell);
                show(&mut talks[0].pipe, drawing, &mut viewer).map(Outcome::Displayed)
            }
            (End::Near, Content::Sizes) => {
                lead(&mut talks, &terms.plan, largest, tell).map(|left_out| piped(left_out, &talks))
            }
            (End::Far, Content::Sizes) => {
                follow_all(&mut talks, largest).map(|()| piped(0, &talks))
            }
        };
        let outcome = done.map_err(|source| TrafficError::Pipe {
            operation: match terms.end {
                End::Near => "measure",
                End::Far => "answer",
            },
            object: terms.plan.kind.label().to_owned(),
            source,
        })?;
        let cpu = process_cpu_since(before);
        Ok(Report { started, finished: now(), cpu, outcome })
    }
}

fn piped<P: Pipe>(left_out: u64, talks: &[Talk<P>]) -> Outcome {
    let notes = talks.first().map(|talk| talk.pipe.notes()).unwrap_or_default();
    Outcome::Piped { left_out, notes }
}

fn messages(terms: &Terms, largest: Bytes, seed: u64) -> Messages {
    let Terms { end, plan, .. } = terms;
    Messages::new(&plan.buffers, plan.pattern, largest.count() as usize, seed, *end)
}

fn lead<P: Pipe>(
    talks: &mut [Talk<P>],
    plan: &PipePlan,
    largest: Bytes,
    tell: Tell<'_>,
) -> io::Result<u64> {
    Lead::new(talks, plan).measure(largest, &mut |point| tell(Word::Point(Box::new(point.clone()))))
}

/// Each pair in a thread of its own; the near end keeps them together.
fn follow_all<P: Pipe>(talks: &mut [Talk<P>], largest: Bytes) -> io::Result<()> {
    let serve = |talk: &mut Talk<P>| follow(talk, largest).inspect(|()| talk.pipe.close());
    if let [only] = talks {
        return serve(only);
    }
    thread::scope(|scope| {
        let pairs: Vec<_> = talks.iter_mut().map(|talk| scope.spawn(|| serve(talk))).collect();
        let results = pairs
            .into_iter()
            .map(|pair| pair.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results.collect::<Vec<_>>().into_iter().collect()
    })
}

impl<S: Setup + 'static> Performance for WaitingEnd<S> {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.setup.endpoint()
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        Ok(self.run(stop, tell)?)
    }
}
