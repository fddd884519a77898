//! The receiving half of a bulk TCP stream: its clock makes the rate.
//!
//! One `recv` per message. A receiver that has read all there is sleeps until 256 KiB have come, or a whole
//! longer message (`SO_RCVLOWAT`, socket(7)), so that the kernel does not wake it for each packet; but for 10 ms at
//! most, so that on a slow line the progress is seen, and no longer than until the stream ends. With a requested
//! window, and from peers that are not near, it takes what is there, so that the window opens as soon as possible.
//! The clock is read and a sample of the payload compared when the first bytes come, then once per 16 KiB; the clock
//! also at the call that brings the last byte, so that its time is exact although most calls are not timed. That call
//! follows from the volume; if the volume is not known, every call is timed.
//!
//! A receiver in batches waits for a message and then reads all other available ones, by calls that
//! do not wait; the clock is read whenever the socket has run empty. Then it pauses for a while
//! ([`Rest`] gives the time and the reason) unless the stream ends meanwhile, and only then waits
//! for more. With a requested window it does not pause, so that the window opens as soon as
//! possible.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Receiving, TcpReceive, Tell, Token};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Received, Report, TcpInfo};
use btu_units::{Bytes, Span, Time};

use super::acceptor::Endpoint;
use super::line::{SocketConfig, TcpConnection};
use super::rest::Rest;
use crate::clock::{Limit, PreciseTimers, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::progress::ProgressPoints;
use crate::sampling::{Arrived, Sampling, Seen};
use crate::size;
use crate::sys::stream;

const KIND: &str = "tcp-receive";
const DOING: &str = "receive the stream";

/// Peers with a shorter round trip are reached by the kernel alone, or over a cable. Farther away a part of
/// a message that waits in the buffer would keep the offered window from growing: on 100 Mb/s and 10 ms a
/// stream got 69 instead of 94 Mb/s.
const NEAR: Span = Span::from_microseconds(200);

/// A receiver sleeps for so many bytes. Waking it costs the sender an interrupt to another processor: woken for each
/// message of 64 KiB, it got 0.96 of iperf3's rate, and so 1.1 (decision 0039).
const AT_ONCE: usize = 256 * 1024;

/// The clock is read once per so many bytes.
const LOOK: u64 = 16 * 1024;

/// Two ends of a stream get their `stop` within this time.
const TOLD_WITHIN: Span = Span::from_seconds(2);

/// The pattern of a receiver's reads.
enum ReadPattern {
    /// One call for each message; from the `volume` on every call is timed.
    Plain { volume: u64 },
    /// All available data, and then a pause.
    Batched { rest: Option<Rest> },
}

/// A receiver that is connected, or listens, and has not started the sender yet.
pub(crate) struct Receiver {
    endpoint: Endpoint,
    token: Token,
    buffer: Vec<u8>,
    payload: Payload,
    progress: ProgressPoints,
    ways: ReadPattern,
    window: Option<Bytes>,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Receiver {
    /// Sets up the end: it connects or listens.
    pub(crate) fn prepare(
        order: &Order,
        part: &TcpReceive,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        let config = SocketConfig::receiver(KIND, part.window)?.marked(order.dscp);
        Ok(Self {
            buffer: vec![0; message],
            payload: Payload::new(order.seed, message),
            progress: ProgressPoints::new(),
            endpoint: Endpoint::take(&part.meeting, &part.token, &config, order.deadline, callers)?,
            token: part.token,
            ways: match part.receiving {
                Receiving::Plain => {
                    ReadPattern::Plain { volume: part.volume.unwrap_or_default().count() }
                }
                Receiving::Batched => {
                    ReadPattern::Batched { rest: part.window.is_none().then(Rest::new) }
                }
            },
            window: part.window,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }
}

impl Performance for Receiver {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint.endpoint()
    }

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let line = self.endpoint.meet(&self.token, &limit)?;
        let is_plain = self.window.is_none() && matches!(self.ways, ReadPattern::Plain { .. });
        if is_plain && line.path()?.round_trip < NEAR {
            line.wait_for(self.buffer.len().max(AT_ONCE))?;
        }
        line.write(&self.token, &limit, "start the sender")?;
        let arrived = Arrived::default();
        let (buffer, ways) = (&mut self.buffer, self.ways);
        let mut flow = Inflow::new(&line, &self.payload, self.progress, started, &arrived);
        let sampling = Sampling { every: self.sample_every, look_every: None, started, tell };
        let look = || Ok(Seen { bytes: arrived.bytes(), ..line.seen()? });
        match sampling.during(look, || flow.run(buffer, ways, &limit)) {
            Err(TrafficError::Stopped { .. }) => {}
            Err(broken @ TrafficError::Socket { .. }) => {
                // A sender that got a `stop` discards its data in flight; then this end gets the
                // `stop`, too.
                limit.sleep_until(now() + TOLD_WITHIN);
                if !limit.stopped() {
                    return Err(broken.into());
                }
            }
            other => other?,
        }
        let received = flow.account(line.info()?);
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::Received(received),
        })
    }
}

/// An incoming stream.
struct Inflow<'a> {
    line: &'a TcpConnection,
    payload: &'a Payload,
    started: Time,
    bytes: u64,
    messages: u64,
    /// Bytes at the last reading of the clock.
    looked: u64,
    /// Bytes after which the clock is read and a sample compared although the socket is not empty.
    due: u64,
    first_byte: Option<Span>,
    last_byte: Span,
    checked: u64,
    wrong: u64,
    progress: ProgressPoints,
    arrived: &'a Arrived,
}

impl<'a> Inflow<'a> {
    fn new(
        line: &'a TcpConnection,
        payload: &'a Payload,
        progress: ProgressPoints,
        started: Time,
        arrived: &'a Arrived,
    ) -> Self {
        Self {
            line,
            payload,
            started,
            bytes: 0,
            messages: 0,
            looked: 0,
            due: 0,
            first_byte: None,
            last_byte: Span::ZERO,
            checked: 0,
            wrong: 0,
            progress,
            arrived,
        }
    }

    /// Reads until the sender closes.
    fn run(
        &mut self,
        buffer: &mut [u8],
        ways: ReadPattern,
        limit: &Limit<'_>,
    ) -> Result<(), TrafficError> {
        let _timers = PreciseTimers::hold();
        match ways {
            ReadPattern::Plain { volume } => {
                while self.wait(buffer, limit)? {
                    if self.bytes >= volume {
                        self.look(limit)?;
                    }
                }
            }
            ReadPattern::Batched { mut rest } => {
                while self.wait(buffer, limit)? && self.drain(buffer, limit)? {
                    if let Some(rest) = rest.as_mut().filter(|_| self.bytes > 0) {
                        self.line.rest(rest.next(self.bytes, self.line.path()?))?;
                    }
                }
            }
        }
        // Of a plain receiver that got less than the volume, the last call may not have been timed;
        // such a cell does not count. Of batches, no wait lies between the last call and the end.
        self.look(limit)
    }

    /// Reads the available data, and the clock when they were the last; false when the sender has
    /// closed.
    fn drain(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<bool, TrafficError> {
        loop {
            match stream::receive(self.line.socket(), buffer, libc::MSG_DONTWAIT) {
                Ok(0) => return Ok(false),
                Ok(read) => self.take(&buffer[..read], limit)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.look(limit).map(|()| true);
                }
                Err(error) => self.line.retry_or_fail(error, limit, DOING)?,
            }
        }
    }

    /// Waits for the next bytes, for the timeout at most; false when the sender has closed.
    fn wait(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<bool, TrafficError> {
        match stream::receive(self.line.socket(), buffer, 0) {
            Ok(0) => return Ok(false),
            Ok(read) => self.take(&buffer[..read], limit)?,
            Err(error) => self.line.retry_or_fail(error, limit, DOING)?,
        }
        Ok(true)
    }

    /// Counts what one call brought.
    #[inline]
    fn take(&mut self, chunk: &[u8], limit: &Limit<'_>) -> Result<(), TrafficError> {
        let offset = self.bytes;
        self.bytes += chunk.len() as u64;
        self.messages += 1;
        if self.bytes > self.due {
            self.due = self.bytes + LOOK;
            self.sample(offset, chunk);
            self.look(limit)?;
        }
        Ok(())
    }

    fn sample(&mut self, offset: u64, chunk: &[u8]) {
        self.checked += 1;
        self.wrong += u64::from(!self.payload.sample_is_right(offset, chunk));
    }

    /// Reads the clock for the bytes that came since the last time, if any did.
    fn look(&mut self, limit: &Limit<'_>) -> Result<(), TrafficError> {
        if self.bytes == self.looked {
            return Ok(());
        }
        let now = now();
        self.looked = self.bytes;
        self.last_byte = now.since(self.started);
        self.first_byte.get_or_insert(self.last_byte);
        self.progress.note(self.last_byte, self.bytes);
        self.arrived.note_bytes(self.bytes);
        limit.check_time(now, DOING, self.line.peer())
    }

    fn account(self, tcp: TcpInfo) -> Received {
        Received {
            bytes: Bytes::new(self.bytes),
            messages: self.messages,
            first_byte: self.first_byte.unwrap_or_default(),
            last_byte: self.last_byte,
            samples_checked: self.checked,
            samples_wrong: self.wrong,
            progress: self.progress.finish(self.last_byte, self.bytes),
            tcp,
        }
    }
}
