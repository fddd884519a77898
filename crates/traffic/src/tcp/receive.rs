//! The receiving half of a bulk TCP stream: its clock makes the rate.
//!
//! One `recv` per message. Where messages are 64 KiB or more the clock is read after each. Where they are smaller it is
//! read when the first bytes come, then once per 64 KiB, and whenever the socket has run empty, so that the time of the
//! last byte is exact although most calls are not timed; that the socket is empty is learnt from a call that does not
//! wait, and the one after it does. A sample of the payload is compared when the clock is read.
//!
//! A receiver that is woken for each segment loses most of its time falling asleep and waking up. After the first bytes
//! this one asks (`SO_RCVLOWAT`) to be woken for 32 KiB, half of the window Linux offers at first, or after 10 ms, or
//! when the stream ends; it then reads message by message until nothing is left. With a window that was asked for,
//! it is woken for every byte, so that the window opens as soon as it can.

use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use btu_suite::activity::{Order, Performance, TcpReceive, Token};
use btu_suite::record::{Outcome, Received, Report, TcpInfo};
use btu_units::{Bytes, Span, Time};

use super::door::Seat;
use super::line::{Line, Manner};
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::progress::Progress;
use crate::size;
use crate::sys::stream;

const KIND: &str = "tcp-receive";
const DOING: &str = "receive the stream";

/// Messages of this size are timed one by one; of smaller ones, the first after so many bytes.
const LOOK: u64 = 64 * 1024;

/// A sleeping receiver is woken when so many bytes have arrived, and not later than after this time.
const WAKE_BYTES: i32 = 32 * 1024;
const WAKE_TIME: Duration = Duration::from_millis(10);

/// A receiver that is connected, or listens, and has not yet told the sender to start.
pub(crate) struct Receiver {
    seat: Seat,
    token: Token,
    buffer: Vec<u8>,
    payload: Payload,
    progress: Progress,
    has_window: bool,
    deadline: Span,
}

impl Receiver {
    /// Connects or listens.
    pub(crate) fn prepare(order: &Order, part: &TcpReceive) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        let manner = Manner::receiver(KIND, part.window)?;
        Ok(Self {
            buffer: vec![0; message],
            payload: Payload::new(order.seed, message),
            progress: Progress::new(),
            seat: Seat::take(&part.meeting, &part.token, &manner, order.deadline)?,
            token: part.token,
            has_window: part.window.is_some(),
            deadline: order.deadline,
        })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<Report, TrafficError> {
        let (started, before) = (now(), cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let line = self.seat.meet(&self.token, &limit)?;
        line.write(&self.token, &limit, "start the sender")?;
        let mut flow = Inflow::new(&line, &self.payload, self.progress, started);
        if flow.begin(&mut self.buffer, &limit)? {
            if !self.has_window {
                line.wake_at(WAKE_BYTES, WAKE_TIME)?;
            }
            flow.run(&mut self.buffer, &limit)?;
        }
        let received = flow.account(line.info()?);
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome: Outcome::Received(received) })
    }
}

impl Performance for Receiver {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.seat.endpoint()
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop)?)
    }
}

/// A stream on its way in.
struct Inflow<'a> {
    line: &'a Line,
    payload: &'a Payload,
    started: Time,
    bytes: u64,
    messages: u64,
    /// Bytes at the last reading of the clock.
    looked: u64,
    /// Bytes after which the clock is read and a sample compared although the socket is not empty.
    due: u64,
    interval: u64,
    first_byte: Option<Span>,
    last_byte: Span,
    checked: u64,
    wrong: u64,
    progress: Progress,
}

impl<'a> Inflow<'a> {
    fn new(line: &'a Line, payload: &'a Payload, progress: Progress, started: Time) -> Self {
        Self {
            line,
            payload,
            started,
            bytes: 0,
            messages: 0,
            looked: 0,
            due: 0,
            interval: LOOK,
            first_byte: None,
            last_byte: Span::ZERO,
            checked: 0,
            wrong: 0,
            progress,
        }
    }

    /// Waits for the first bytes; false when the sender closes without any.
    fn begin(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<bool, TrafficError> {
        while self.bytes == 0 {
            if !self.wait(buffer, limit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads until the sender closes.
    fn run(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<(), TrafficError> {
        if buffer.len() as u64 >= LOOK {
            self.interval = 0;
            while self.wait(buffer, limit)? {}
        } else {
            while self.drain(buffer, limit)? && self.wait(buffer, limit)? {}
        }
        // Where the last call was not timed, no wait lies between it and the end.
        self.look(limit)
    }

    /// Reads what is there, and the clock when it was the last; false when the sender has closed.
    fn drain(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<bool, TrafficError> {
        loop {
            match stream::receive(self.line.socket(), buffer, libc::MSG_DONTWAIT) {
                Ok(0) => return Ok(false),
                Ok(read) => self.take(&buffer[..read], limit)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.look(limit).map(|()| true),
                Err(error) => self.line.excuse(error, limit, DOING)?,
            }
        }
    }

    /// Waits for the next bytes, for the time-out at most; false when the sender has closed.
    fn wait(&mut self, buffer: &mut [u8], limit: &Limit<'_>) -> Result<bool, TrafficError> {
        match stream::receive(self.line.socket(), buffer, 0) {
            Ok(0) => return Ok(false),
            Ok(read) => self.take(&buffer[..read], limit)?,
            Err(error) => self.line.excuse(error, limit, DOING)?,
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
            self.due = self.bytes + self.interval;
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
