//! The end that sends requests, over TCP: an open loop on one connection, or a closed loop of one
//! user who waits for each answer.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{OpenLoop, Order, Performance, Performed, Request, Tell};
use btu_contract::record::{Outcome, Report, Requested};
use btu_stats::Histogram;
use btu_units::{Span, Time};

use super::line::{SocketConfig, TcpConnection};
use super::watch::watched;
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::open_loop::{self, Carrier, Heard, Ledger, Recent};
use crate::payload::Payload;
use crate::sampling::{Sampling, Seen};
use crate::size;
use crate::sys::stream;

const KIND: &str = "request over TCP";
const ASK: &str = "send a request";
const WAIT: &str = "wait for the answer";

/// Octets of requests that wait for room in the socket; what is due beyond is lost.
const MOST_UNSENT: usize = 1 << 20;

/// A requester that is connected.
pub(crate) struct Requester {
    line: TcpConnection,
    /// The request: its number in the first eight bytes (as many of the low ones as fit), then
    /// payload.
    request: Vec<u8>,
    answer: Vec<u8>,
    duration: Span,
    open_loop: Option<OpenLoop>,
    seed: u64,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Requester {
    /// Connects and presents the token.
    pub(crate) fn prepare(order: &Order, part: &Request) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        Ok(Self {
            line: TcpConnection::connect(
                part.to,
                &part.token,
                &SocketConfig::prompt().marked(order.dscp),
                order.deadline,
            )?,
            request: Payload::new(order.seed, message).at(0, message).to_vec(),
            answer: vec![0; message],
            duration: part.duration,
            open_loop: part.open_loop,
            seed: order.seed,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }

    /// Asks at random moments from `started` on.
    fn ask_on_time(
        self,
        started: Time,
        open_loop: OpenLoop,
        limit: &Limit<'_>,
        tell: Tell<'_>,
    ) -> Result<Requested, TrafficError> {
        let recent = Recent::new(self.sample_every.is_some());
        let ledger = Ledger::new(started + open_loop.lead, &recent);
        let mut carrier = RequestConnection {
            line: &self.line,
            request: self.request,
            answer: self.answer,
            filled: 0,
            unsent: VecDeque::new(),
            asked: VecDeque::new(),
        };
        let sampling = Sampling { every: self.sample_every, look_every: None, started, tell };
        let look = || Ok(Seen { requests: recent.take(), ..Seen::default() });
        let (draw, time) = ((open_loop, self.seed), (started, self.duration));
        sampling.during(look, || open_loop::run(&mut carrier, draw, time, ledger, limit))
    }

    /// Asks again after each answer.
    fn ask_in_turn(self, started: Time, limit: &Limit<'_>) -> Result<Requested, TrafficError> {
        let mut user = User {
            line: &self.line,
            request: self.request,
            answer: self.answer,
            round_trip: Histogram::new(),
        };
        let end = started + self.duration;
        let ask = || user.ask_until(end, limit);
        let (requests, wrong) = watched(&self.line, limit, ASK, ask)?;
        let answers = requests - wrong;
        Ok(Requested {
            requests,
            answers,
            lost: 0,
            lost_batches: Vec::new(),
            late: 0,
            wrong,
            round_trip: user.round_trip,
        })
    }
}

/// Requests and answers of an open loop on one connection: answers come in the order of requests.
struct RequestConnection<'a> {
    line: &'a TcpConnection,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Octets of the next answer so far.
    filled: usize,
    unsent: VecDeque<u8>,
    /// The numbers of requests without an answer.
    asked: VecDeque<u64>,
}

impl RequestConnection<'_> {
    /// Writes what the socket has room for.
    fn flush(&mut self) -> Result<(), TrafficError> {
        while !self.unsent.is_empty() {
            let (first, _) = self.unsent.as_slices();
            match stream::send(self.line.socket(), first, libc::MSG_DONTWAIT) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if is_pause(&error) => return Ok(()),
                Err(error) => return Err(TrafficError::socket(ASK, self.peer())(error)),
            }
        }
        Ok(())
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Carrier for RequestConnection<'_> {
    const LOSES: bool = false;

    fn peer(&self) -> SocketAddr {
        self.line.peer()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.line.socket()
    }

    fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    fn send(&mut self, number: u64) -> Result<bool, TrafficError> {
        if self.unsent.len() >= MOST_UNSENT {
            return Ok(false);
        }
        stamp(&mut self.request, number);
        self.unsent.extend(&self.request);
        self.asked.push_back(number);
        self.flush()?;
        Ok(true)
    }

    fn receive(&mut self) -> Result<Option<Heard>, TrafficError> {
        self.flush()?;
        let room = &mut self.answer[self.filled..];
        match stream::receive(self.line.socket(), room, libc::MSG_DONTWAIT) {
            Ok(0) => {
                return Err(TrafficError::Closed {
                    peer: self.peer(),
                    when: "instead of answering",
                });
            }
            Ok(read) => self.filled += read,
            Err(error) if is_pause(&error) => return Ok(None),
            Err(error) => return Err(TrafficError::socket(WAIT, self.peer())(error)),
        }
        if self.filled < self.answer.len() {
            return Ok(Some(Heard::Aside));
        }
        self.filled = 0;
        let Some(number) = self.asked.pop_front() else { return Ok(Some(Heard::Wrong)) };
        stamp(&mut self.request, number);
        let is_right = self.answer == self.request;
        Ok(Some(if is_right { Heard::Answer(number) } else { Heard::Wrong }))
    }
}

/// One user: sends a request, waits for the answer, and sends the next one.
struct User<'a> {
    line: &'a TcpConnection,
    request: Vec<u8>,
    answer: Vec<u8>,
    round_trip: Histogram,
}

impl User<'_> {
    /// Asks until `end`; returns the number of requests, and of wrong answers.
    fn ask_until(&mut self, end: Time, limit: &Limit<'_>) -> Result<(u64, u64), TrafficError> {
        let (mut requests, mut wrong) = (0, 0);
        loop {
            let asked = now();
            if asked >= end || limit.stopped() {
                return Ok((requests, wrong));
            }
            let is_right = self.ask(requests, asked, limit)?;
            requests += 1;
            wrong += u64::from(!is_right);
        }
    }

    /// One round trip from `asked` on; false when the answer is not the request's echo.
    fn ask(&mut self, number: u64, asked: Time, limit: &Limit<'_>) -> Result<bool, TrafficError> {
        stamp(&mut self.request, number);
        self.line.write(&self.request, limit, ASK)?;
        if !self.line.read_exactly(&mut self.answer, limit, WAIT)? {
            return Err(TrafficError::Closed {
                peer: self.line.peer(),
                when: "instead of answering",
            });
        }
        let round_trip = now().since(asked);
        let is_right = self.answer == self.request;
        if is_right {
            self.round_trip.record(round_trip.nanoseconds());
        }
        Ok(is_right)
    }
}

/// Writes as many low bytes of `number` as the message has room for.
pub(super) fn stamp(message: &mut [u8], number: u64) {
    let room = message.len().min(8);
    message[..room].copy_from_slice(&number.to_be_bytes()[8 - room..]);
}

impl Performance for Requester {
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let account = match self.open_loop {
            Some(open_loop) => self.ask_on_time(started, open_loop, &limit, tell)?,
            None => self.ask_in_turn(started, &limit)?,
        };
        let outcome = Outcome::Requested(account);
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::stamp;

    #[test]
    fn a_number_is_cut_to_the_room_there_is() {
        let mut message = [9; 10];
        stamp(&mut message, 0x0102);
        assert_eq!(message, [0, 0, 0, 0, 0, 0, 1, 2, 9, 9]);
        let mut byte = [9];
        stamp(&mut byte, 0x0102);
        assert_eq!(byte, [2]);
    }
}
