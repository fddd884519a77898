//! The end that sends requests, over TCP: a closed loop of one user who waits for each answer.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_stats::Histogram;
use btu_suite::activity::{Order, Request, Tell};
use btu_suite::record::{Outcome, Report, Requested};
use btu_units::{Span, Time};

use super::line::{Line, SocketConfig};
use super::watch::watched;
use crate::clock::{Limit, cpu, cpu_since, now, stands_for};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::sampling::{Sampling, Seen, Telling};
use crate::size;

const KIND: &str = "request over TCP";
const ASK: &str = "send a request";
const WAIT: &str = "wait for the answer";

/// A requester that is connected.
pub(crate) struct Requester {
    line: Line,
    /// The request: its number in the first eight bytes (as many of the low ones as fit), then
    /// payload.
    request: Vec<u8>,
    answer: Vec<u8>,
    round_trip: Histogram,
    duration: Span,
    every: Option<Span>,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Requester {
    /// Connects and presents the token.
    pub(crate) fn prepare(order: &Order, part: &Request) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        Ok(Self {
            line: Line::connect(
                part.to,
                &part.token,
                &SocketConfig::prompt().marked(order.dscp),
                order.deadline,
            )?,
            request: Payload::new(order.seed, message).at(0, message).to_vec(),
            answer: vec![0; message],
            round_trip: Histogram::new(),
            duration: part.duration,
            every: part.every,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }
}

/// One user: sends a request, waits for the answer, and sends the next one.
struct User<'a> {
    line: &'a Line,
    request: Vec<u8>,
    answer: Vec<u8>,
    round_trip: Histogram,
    every: Option<Span>,
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
            if let Some(every) = self.every {
                limit.sleep_until((asked + every).min(end));
            }
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
            self.round_trip
                .record_times(round_trip.nanoseconds(), stands_for(round_trip, self.every));
        }
        Ok(is_right)
    }
}

/// Writes as many low bytes of `number` as the message has room for.
pub(super) fn stamp(message: &mut [u8], number: u64) {
    let room = message.len().min(8);
    message[..room].copy_from_slice(&number.to_be_bytes()[8 - room..]);
}

impl Telling for Requester {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn run(self, stop: &AtomicBool, tell: Tell<'_>) -> Result<Report, TrafficError> {
        let (started, before) = (now(), cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let end = started + self.duration;
        let mut user = User {
            line: &self.line,
            request: self.request,
            answer: self.answer,
            round_trip: self.round_trip,
            every: self.every,
        };
        let sampling = Sampling { every: self.sample_every, started, tell };
        let ask = || watched(&self.line, &limit, ASK, || user.ask_until(end, &limit));
        let (requests, wrong) =
            sampling.during(|| Ok(Seen { bytes: 0, ..self.line.seen()? }), ask)?;
        let answers = requests - wrong;
        let requested =
            Requested { requests, answers, lost: 0, late: 0, wrong, round_trip: user.round_trip };
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::Requested(requested),
        })
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
