//! The end that sends requests, over UDP: an open loop, or a closed loop of one user with a timeout
//! for each request.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{OpenLoop, Order, Performance, Performed, Rendezvous, Request, Tell};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Report, Requested};
use btu_stats::{Histogram, batches};
use btu_units::{Span, Time};

use super::header::{DatagramKind, HEADER, Header};
use super::post::{Exchange, Post, is_pause};
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::open_loop::{self, Carrier, GivenUp, Heard, Ledger, Recent};
use crate::payload::Payload;
use crate::sampling::{Sampling, Seen};
use crate::size;
use crate::sys::stream;

const KIND: &str = "request over UDP";
const ASK: &str = "send a request";
const WAIT: &str = "wait for the answer";

/// Longest wait for an answer to greetings. Behind a queue of several seconds a greeting takes two
/// round trips.
const GREETING: Span = Span::from_seconds(20);

/// A request is given up after 100 ms or four times the longest round trip so far, whichever is
/// longer, and after two seconds in any case. Other arrivals meanwhile can at most double one wait.
const LEAST_WAIT: Span = Span::from_milliseconds(100);
const LONGEST_WAIT: Span = Span::from_seconds(2);

/// A requester that knows its peer.
pub(crate) struct Requester {
    post: Post,
    request: Vec<u8>,
    room: Vec<u8>,
    duration: Span,
    open_loop: Option<OpenLoop>,
    seed: u64,
    deadline: Span,
    sample_every: Option<Span>,
}

impl Requester {
    /// Binds; the greeting follows on `go`.
    pub(crate) fn prepare(order: &Order, part: &Request) -> Result<Self, TrafficError> {
        let message = size::udp(KIND, part.message, HEADER)?;
        Ok(Self {
            post: Post::prepare(
                &Rendezvous::Connect(part.to),
                part.token,
                order.dscp,
                &Callers::any(),
            )?,
            request: Payload::new(order.seed, message).at(0, message).to_vec(),
            room: vec![0; message + 1],
            duration: part.duration,
            open_loop: part.open_loop,
            seed: order.seed,
            deadline: order.deadline,
            sample_every: order.sample_every,
        })
    }

    /// Asks at random moments from `started` on.
    fn ask_on_time(
        mut self,
        started: Time,
        open_loop: OpenLoop,
        limit: &Limit<'_>,
        tell: Tell<'_>,
    ) -> Result<Requested, TrafficError> {
        let exchange = self.post.meet(&limit.within(started, self.duration + GREETING))?;
        let recent = Recent::new(self.sample_every.is_some());
        let ledger = Ledger::new(started + open_loop.lead, &recent);
        let mut carrier =
            Datagrams { exchange: &exchange, request: &mut self.request, room: &mut self.room };
        let sampling = Sampling { every: self.sample_every, look_every: None, started, tell };
        let look = || Ok(Seen { requests: recent.take(), ..Seen::default() });
        let (draw, time) = ((open_loop, self.seed), (started, self.duration));
        let account =
            sampling.during(look, || open_loop::run(&mut carrier, draw, time, ledger, limit))?;
        exchange.part(account.requests)?;
        Ok(account)
    }

    /// Asks again after each answer, for the duration from the greeting on.
    fn ask_in_turn(mut self, limit: &Limit<'_>) -> Result<Requested, TrafficError> {
        let exchange = self.post.meet(limit)?;
        let mut user = User {
            exchange: &exchange,
            request: &mut self.request,
            room: &mut self.room,
            timeout: Span::ZERO,
        };
        user.bear(exchange.round_trip())?;
        let (end, mut accounts) = (now() + self.duration, RequestAccounts::default());
        loop {
            let asked = now();
            if asked >= end || limit.stopped() {
                break;
            }
            limit.check_time(asked, ASK, exchange.peer())?;
            user.ask(&mut accounts, asked)?;
        }
        exchange.part(accounts.account.requests)?;
        Ok(accounts.close())
    }
}

impl Performance for Requester {
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, tell: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let account = match self.open_loop {
            Some(open_loop) => self.ask_on_time(started, open_loop, &limit, tell)?,
            None => self.ask_in_turn(&limit)?,
        };
        let outcome = Outcome::Requested(account);
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome })
    }
}

/// Requests and answers of an open loop, each a datagram.
struct Datagrams<'a> {
    exchange: &'a Exchange,
    request: &'a mut [u8],
    room: &'a mut [u8],
}

impl Carrier for Datagrams<'_> {
    const LOSES: bool = true;

    fn peer(&self) -> SocketAddr {
        self.exchange.peer()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.exchange.socket()
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn send(&mut self, number: u64) -> Result<bool, TrafficError> {
        let header = Header { kind: DatagramKind::Request, token: self.exchange.token(), number };
        self.request[..HEADER].copy_from_slice(&header.encode());
        match stream::send(self.exchange.socket(), self.request, libc::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {
                Ok(false)
            }
            Err(error) => Err(TrafficError::socket(ASK, self.peer())(error)),
        }
    }

    fn receive(&mut self) -> Result<Option<Heard>, TrafficError> {
        match self.exchange.receive_now(self.room) {
            Ok(length) => Ok(Some(judge(self.exchange, self.request, &self.room[..length]))),
            Err(error) if is_pause(&error) => Ok(None),
            Err(error) => Err(TrafficError::socket(WAIT, self.peer())(error)),
        }
    }
}

/// One user: sends a request, and waits for a time that follows from earlier round trips.
struct User<'a> {
    exchange: &'a Exchange,
    request: &'a mut [u8],
    room: &'a mut [u8],
    timeout: Span,
}

impl User<'_> {
    /// Widens the timeout to four times a round trip that was seen.
    fn bear(&mut self, round_trip: Span) -> Result<(), TrafficError> {
        let timeout = (round_trip * 4).max(LEAST_WAIT).min(LONGEST_WAIT);
        if timeout > self.timeout {
            self.timeout = timeout;
            self.exchange.wait_at_most(timeout.into())?;
        }
        Ok(())
    }

    /// Sends one request and returns its outcome.
    fn ask(&mut self, accounts: &mut RequestAccounts, asked: Time) -> Result<(), TrafficError> {
        let number = accounts.account.requests;
        let header = Header { kind: DatagramKind::Request, token: self.exchange.token(), number };
        self.request[..HEADER].copy_from_slice(&header.encode());
        accounts.account.requests += 1;
        match self.exchange.send(self.request) {
            Ok(_) => {}
            // The request did not leave: it is as lost as one that was dropped on the way.
            Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(TrafficError::socket(ASK, self.exchange.peer())(error)),
        }
        self.wait(accounts, number, asked)
    }

    fn wait(
        &mut self,
        accounts: &mut RequestAccounts,
        number: u64,
        asked: Time,
    ) -> Result<(), TrafficError> {
        loop {
            let heard = self.exchange.receive(self.room);
            let waited = now().since(asked);
            match heard {
                Ok(length) => match judge(self.exchange, self.request, &self.room[..length]) {
                    Heard::Answer(same) if same == number => {
                        accounts.answered(waited);
                        return self.bear(waited);
                    }
                    Heard::Answer(old) if old < number => accounts.came_late(old),
                    Heard::Answer(_) | Heard::Wrong => {
                        accounts.account.wrong += 1;
                        return Ok(());
                    }
                    Heard::Aside => {}
                },
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(TrafficError::socket(WAIT, self.exchange.peer())(error)),
            }
            if waited >= self.timeout {
                accounts.gave_up(number);
                return Ok(());
            }
        }
    }
}

/// Compares an answer with the request that it must echo but for its number; a repeated challenge
/// or welcome is no answer at all.
fn judge(exchange: &Exchange, request: &[u8], datagram: &[u8]) -> Heard {
    match exchange.header(datagram) {
        Some((Header { kind: DatagramKind::Challenge | DatagramKind::Welcome, .. }, [])) => {
            Heard::Aside
        }
        Some((header, payload))
            if header.kind == DatagramKind::Answer && payload == &request[HEADER..] =>
        {
            Heard::Answer(header.number)
        }
        _ => Heard::Wrong,
    }
}

/// The account of the requests so far: requests = answers + lost + wrong.
struct RequestAccounts {
    account: Requested,
    /// The numbers of lost requests.
    lost: Vec<u64>,
    given_up: GivenUp,
}

impl Default for RequestAccounts {
    fn default() -> Self {
        let account = Requested {
            requests: 0,
            answers: 0,
            lost: 0,
            lost_batches: Vec::new(),
            late: 0,
            wrong: 0,
            round_trip: Histogram::new(),
        };
        Self { account, lost: Vec::new(), given_up: GivenUp::default() }
    }
}

impl RequestAccounts {
    fn answered(&mut self, round_trip: Span) {
        self.account.answers += 1;
        self.account.round_trip.record(round_trip.nanoseconds());
    }

    fn gave_up(&mut self, number: u64) {
        self.account.lost += 1;
        self.lost.push(number);
        self.given_up.add(number);
    }

    /// With the order of the losses.
    fn close(mut self) -> Requested {
        self.account.lost_batches = batches(self.lost.into_iter(), self.account.requests);
        self.account
    }

    /// An old answer is late if its request had been given up; else it is a copy made on the path,
    /// which does not count.
    fn came_late(&mut self, number: u64) {
        self.account.late += u64::from(self.given_up.take(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_late_once_and_only_after_its_request_was_given_up() {
        let mut accounts = RequestAccounts::default();
        accounts.gave_up(3);
        for number in [2, 3, 3] {
            accounts.came_late(number);
        }
        assert_eq!((accounts.account.lost, accounts.account.late), (1, 1));
    }
}
