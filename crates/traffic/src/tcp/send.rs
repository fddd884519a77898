//! The sending half of a bulk TCP stream: one `send` per message, nothing else in the loop but
//! counting.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use btu_contract::activity::{Order, Performance, Performed, TcpSend, Tell, Token, Work};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Report, Sent};
use btu_units::{Bytes, Span, Time};

use super::acceptor::Endpoint;
use super::line::{SocketConfig, TcpConnection};
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::progress::Moments;
use crate::sampling::Sampling;
use crate::size;
use crate::sys::stream;

const KIND: &str = "tcp-send";
const DOING: &str = "send the stream";

/// The clock is read once per so many bytes: at 100-byte messages once in 164 calls, at 64 KiB in
/// each.
const LOOK: u64 = 16 * 1024;

/// How often the connection is looked at where its progress is reported. Who looks is woken for it, and takes a moment of a
/// processor that an end may need: docs/bench.md has the cost.
const LOOK_AT_PATH: Option<Span> = Some(Span::from_microseconds(62_500));

/// How long one `send` of a stream that has no volume may wait.
const LONGEST_SEND: Duration = Duration::from_secs(1);

/// A sender that is connected, or listens, and waits for the receiver's token.
pub(crate) struct Sender {
    endpoint: Endpoint,
    token: Token,
    message: usize,
    work: Work,
    payload: Payload,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Sender {
    /// Sets up the end: it connects or listens.
    pub(crate) fn prepare(
        order: &Order,
        part: &TcpSend,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        let config =
            SocketConfig::sender(KIND, part.window)?.unsent(part.unsent).marked(order.dscp);
        Ok(Self {
            payload: Payload::new(order.seed, message),
            endpoint: Endpoint::take(&part.meeting, &part.token, &config, order.deadline, callers)?,
            token: part.token,
            message,
            work: part.work,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }
}

impl Performance for Sender {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint.endpoint()
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let line = self.endpoint.meet(&self.token, &limit)?;
        line.hear(&self.token, &limit)?;
        let longest = limit.left(now());
        line.send_waits(match self.work {
            Work::Bytes(_) => longest,
            // It may get a `stop`, and a large buffer has room again only when a third of it was
            // sent.
            Work::For(_) => longest.min(LONGEST_SEND),
        })?;
        let mut flow = Outflow {
            line: &line,
            payload: &self.payload,
            message: self.message,
            bytes: 0,
            messages: 0,
        };
        let sampling =
            Sampling { every: self.sample_every, look_every: LOOK_AT_PATH, started, tell };
        let moments = Mutex::new(Moments::default());
        sampling.during(
            || line.seen_sending(now().since(started), &moments),
            || {
                if flow.run(self.work, &limit)? {
                    // It was stopped, and its data in flight would disturb the next measurement.
                    return line.break_off();
                }
                line.finish_sending()?;
                wait_for_close(&line, &limit)
            },
        )?;
        let moments = moments.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sent = Sent {
            bytes: Bytes::new(flow.bytes),
            messages: flow.messages,
            tcp: line.info()?,
            moments: moments.kept(),
        };
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::Sent(sent),
        })
    }
}

/// An outgoing stream.
struct Outflow<'a> {
    line: &'a TcpConnection,
    payload: &'a Payload,
    message: usize,
    bytes: u64,
    messages: u64,
}

impl Outflow<'_> {
    /// Sends all of the work; the time of a [`Work::For`] starts here, when the receiver has sent
    /// its token. Returns whether a `stop` ended it early.
    fn run(&mut self, work: Work, limit: &Limit<'_>) -> Result<bool, TrafficError> {
        let (total, end) = match work {
            Work::Bytes(total) => (total.count(), None),
            Work::For(span) => (u64::MAX, Some(now() + span)),
        };
        while self.bytes < total {
            match self.burst(total.min(self.bytes.saturating_add(LOOK)), total, limit) {
                Err(TrafficError::Stopped { .. }) if end.is_some() => return Ok(true),
                other => other?,
            }
            let now = now();
            if end.is_some_and(|end: Time| now >= end) {
                break;
            }
            if end.is_some() && limit.stopped() {
                return Ok(true);
            }
            limit.check_time(now, DOING, self.line.peer())?;
        }
        Ok(false)
    }

    /// Sends messages until at least `target` bytes of the stream are out; only the last of `total`
    /// may be short.
    fn burst(&mut self, target: u64, total: u64, limit: &Limit<'_>) -> Result<(), TrafficError> {
        let socket = self.line.socket();
        while self.bytes < target {
            let length = (total - self.bytes).min(self.message as u64) as usize;
            match stream::send(socket, self.payload.at(self.bytes, length), 0) {
                Ok(sent) => {
                    self.bytes += sent as u64;
                    self.messages += 1;
                }
                Err(error) => self.line.retry_or_fail(error, limit, DOING)?,
            }
        }
        Ok(())
    }
}

/// The receiver closes when it has read all data; it sends nothing.
fn wait_for_close(line: &TcpConnection, limit: &Limit<'_>) -> Result<(), TrafficError> {
    let mut nothing = [0; 1];
    if line.read_exactly(&mut nothing, limit, "wait for the receiver to close")? {
        return Err(TrafficError::Protocol {
            peer: line.peer(),
            what: "the receiver of a one-way stream sent data",
        });
    }
    Ok(())
}
