//! The receiving half of a paced stream: every datagram is checked, numbered off, and counted once.
//!
//! Times are those at which the application had the datagram in hand; datagrams read together share
//! one.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Tell, UdpReceive};
use btu_contract::copy::READING_INTERVAL;
use btu_contract::peers::Callers;
use btu_contract::record::{DatagramsReceived, Outcome, Report};
use btu_stats::batches;
use btu_units::{Bytes, Span, Time};

use super::header::{DatagramKind, HEADER, Header};
use super::jitter::Jitter;
use super::post::{Exchange, Post, is_pause};
use super::seen::{DatagramArrival, ReceivedNumbers};
use super::send::LEAST;
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::progress::ProgressPoints;
use crate::sampling::{self, Arrived, Sampling};
use crate::size;
use crate::sys::batch::Incoming;

const KIND: &str = "udp-receive";
const DOING: &str = "receive the datagrams";

/// Most datagrams with recorded arrivals: 2^31 bits are 256 MiB.
const MOST: u64 = 1 << 31;

/// The silence after which the stream is over, although no farewell has come: longer than a busy sender or a path
/// that stands still for a moment is quiet. What is sent after that is refused.
const SILENCE: Span = Span::from_seconds(2);

/// The time that the sender has for its farewell when both were told to stop.
const STOPPING: Span = Span::from_milliseconds(500);

/// After the farewell: the silence after which no late datagram is expected any more, and the
/// longest wait in all.
const QUIET: Span = Span::from_milliseconds(30);
const DRAIN: Span = Span::from_milliseconds(200);

/// A receiver that knows its peer, or waits for a caller.
pub(crate) struct Receiver {
    post: Post,
    message: usize,
    seen: ReceivedNumbers,
    payload: Payload,
    room: Incoming,
    progress: ProgressPoints,
    jitter: Option<Jitter>,
    tells: bool,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Receiver {
    /// Binds; the greeting follows on `go`.
    pub(crate) fn prepare(
        order: &Order,
        part: &UdpReceive,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = size::udp(KIND, part.message, LEAST)?;
        if part.expected_datagrams > MOST {
            let what = format!(
                "{} expected datagrams are more than the {MOST} that can be recorded",
                part.expected_datagrams
            );
            return Err(TrafficError::Order { activity: KIND, what });
        }
        Ok(Self {
            post: Post::prepare(&part.meeting, part.token, order.dscp, callers)?,
            message,
            seen: ReceivedNumbers::new(part.expected_datagrams),
            payload: Payload::new(order.seed, message - HEADER),
            room: Incoming::new(message),
            progress: ProgressPoints::new(),
            jitter: Jitter::of(part.offered, part.message),
            tells: part.tells,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }
}

impl Performance for Receiver {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.post.endpoint()
    }

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let exchange = self.post.meet(&limit)?;
        exchange.wait_at_most(std::time::Duration::from_millis(10))?;
        let drops_before = exchange.drops()?;
        let arrived = Arrived::default();
        let stream = Inflow {
            exchange: &exchange,
            payload: &self.payload,
            message: self.message,
            seen: self.seen,
            counts: DatagramCounts::default(),
            started,
            first: None,
            last: now(),
            farewell: None,
            told_to_stop: None,
            progress: self.progress,
            jitter: self.jitter,
            arrived: &arrived,
            tell_at: None,
            tells: self.tells,
        };
        let sampling = Sampling { every: self.sample_every, look_every: None, started, tell };
        let look = || {
            Ok(sampling::Seen {
                bytes: arrived.bytes(),
                missing: Some(arrived.missing()),
                ..sampling::Seen::default()
            })
        };
        let mut received = sampling.during(look, || stream.run(&mut self.room, &limit))?;
        received.buffer_drops = u64::from(exchange.drops()?.wrapping_sub(drops_before));
        let outcome = Outcome::DatagramsReceived(received);
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome })
    }
}

/// No process listens at the sender's port any more.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::ConnectionRefused
}

#[derive(Default)]
struct DatagramCounts {
    datagrams: u64,
    duplicates: u64,
    reordered: u64,
    wrong: u64,
}

/// The sender's farewell: its arrival time, and the number of datagrams in it.
#[derive(Clone, Copy)]
struct Farewell {
    at: Time,
    sent: u64,
}

/// An incoming stream.
struct Inflow<'a> {
    exchange: &'a Exchange,
    payload: &'a Payload,
    message: usize,
    seen: ReceivedNumbers,
    counts: DatagramCounts,
    started: Time,
    first: Option<Time>,
    /// When the last datagram of the stream came, or, before the first, when the greeting was over.
    last: Time,
    farewell: Option<Farewell>,
    told_to_stop: Option<Time>,
    progress: ProgressPoints,
    jitter: Option<Jitter>,
    arrived: &'a Arrived,
    tells: bool,
    /// The time of the next report to the sender.
    tell_at: Option<Time>,
}

impl Inflow<'_> {
    /// Receives until the stream is over.
    fn run(
        mut self,
        room: &mut Incoming,
        limit: &Limit<'_>,
    ) -> Result<DatagramsReceived, TrafficError> {
        loop {
            match room.receive(self.exchange.socket()) {
                Ok(count) => {
                    let now = now();
                    for index in 0..count {
                        self.take(room.datagram(index), now)?;
                    }
                    if let Some(first) = self.first {
                        self.progress.note(now.since(first), self.bytes());
                    }
                    self.arrived.note_bytes(self.bytes());
                    self.arrived
                        .note_missing(self.seen.begun().saturating_sub(self.counts.datagrams));
                }
                // The sender is gone and the goodbye to it came back as an error: earlier datagrams
                // may still arrive.
                Err(error) if is_pause(&error) || is_gone(&error) => {}
                Err(error) => return Err(TrafficError::socket(DOING, self.exchange.peer())(error)),
            }
            let now = now();
            self.tell(now);
            if self.is_over(now) || self.has_waited_enough(now, limit) {
                break;
            }
            limit.check_time(now, DOING, self.exchange.peer())?;
        }
        Ok(self.account())
    }

    /// Reports the arrivals to the sender, if it uses reports and one is due.
    fn tell(&mut self, now: Time) {
        let Some(first) = self.first.filter(|_| self.tells) else { return };
        let due = *self.tell_at.get_or_insert(first + READING_INTERVAL);
        if now >= due {
            self.exchange.tell(self.counts.datagrams, now.since(first));
            // One that was late does not make the next one early.
            self.tell_at = Some((due + READING_INTERVAL).max(now));
        }
    }

    fn bytes(&self) -> u64 {
        self.counts.datagrams * self.message as u64
    }

    fn take(&mut self, datagram: &[u8], now: Time) -> Result<(), TrafficError> {
        match self.exchange.header(datagram) {
            Some((header, body)) if header.kind == DatagramKind::Data => {
                self.count(header, body, now);
            }
            Some((Header { kind: DatagramKind::Farewell, number, .. }, [])) => {
                self.farewell.get_or_insert(Farewell { at: now, sent: number });
                return match self.exchange.say(DatagramKind::Goodbye, 0) {
                    // It has received an earlier goodbye: this is a farewell that waited in a queue
                    // meanwhile.
                    Err(TrafficError::Socket { source, .. }) if is_gone(&source) => Ok(()),
                    said => said,
                };
            }
            // The welcome was lost, or the caller's greeting arrived twice.
            Some((Header { kind: DatagramKind::Hello, .. }, [])) => {
                return self.exchange.say(DatagramKind::Welcome, 0);
            }
            Some((Header { kind: DatagramKind::Challenge | DatagramKind::Welcome, .. }, [])) => {}
            _ => self.counts.wrong += 1,
        }
        Ok(())
    }

    fn count(&mut self, header: Header, body: &[u8], now: Time) {
        if !self.is_right(header.number, body) {
            self.counts.wrong += 1;
            return;
        }
        let arrival = self.seen.note(header.number);
        let is_new = matches!(arrival, DatagramArrival::InOrder | DatagramArrival::Reordered);
        match arrival {
            DatagramArrival::Impossible => self.counts.wrong += 1,
            DatagramArrival::Duplicate => self.counts.duplicates += 1,
            DatagramArrival::InOrder => self.counts.datagrams += 1,
            DatagramArrival::Reordered => {
                self.counts.datagrams += 1;
                self.counts.reordered += 1;
            }
        }
        self.first.get_or_insert(now);
        self.last = now;
        if is_new && let Some(jitter) = &mut self.jitter {
            jitter.take(header.number, now);
        }
    }

    fn is_right(&self, number: u64, body: &[u8]) -> bool {
        body.len() + HEADER == self.message
            && self.seen.expects(number)
            && self.payload.sample_is_right(number * body.len() as u64, body)
    }

    /// Whether it got a `stop`, and the sender, which gets it at about that time, has had the time
    /// for its farewell.
    fn has_waited_enough(&mut self, now: Time, limit: &Limit<'_>) -> bool {
        if !limit.stopped() {
            return false;
        }
        let told = *self.told_to_stop.get_or_insert(now);
        self.farewell.is_none() && now.since(told) >= STOPPING
    }

    /// Everything has come, or nothing has for a while.
    fn is_over(&self, now: Time) -> bool {
        let quiet = now.since(self.last);
        match self.farewell {
            None => quiet >= SILENCE,
            Some(farewell) => {
                let waited = now.since(farewell.at);
                self.counts.datagrams >= farewell.sent
                    || waited >= DRAIN
                    || (waited >= QUIET && quiet >= QUIET)
            }
        }
    }

    fn account(self) -> DatagramsReceived {
        let bytes = self.bytes();
        let span = self.last.since(self.first.unwrap_or(self.last));
        // Without a farewell nothing is known of what was sent after the last that came.
        let sent = self.farewell.map_or(self.seen.begun(), |farewell| farewell.sent);
        DatagramsReceived {
            datagrams: self.counts.datagrams,
            lost_batches: batches(self.seen.missing(sent), sent),
            bytes: Bytes::new(bytes),
            duplicates: self.counts.duplicates,
            reordered: self.counts.reordered,
            wrong: self.counts.wrong,
            buffer_drops: 0,
            span,
            first: self.first.map(|first| first.since(self.started)).unwrap_or_default(),
            farewell: self.farewell.is_some(),
            jitter: self.jitter.and_then(|jitter| jitter.mean()),
            progress: self.progress.finish(span, bytes),
        }
    }
}
