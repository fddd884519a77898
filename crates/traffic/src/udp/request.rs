//! The end that sends requests, over UDP: a closed loop of one user, with a timeout for each
//! request.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_stats::Histogram;
use btu_suite::activity::{Order, Performance, Rendezvous, Request};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Report, Requested};
use btu_units::{Span, Time};

use super::header::{HEADER, Header, Kind};
use super::post::{Exchange, Post, is_pause};
use crate::clock::{Limit, cpu, cpu_since, now, stands_for};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::size;

const KIND: &str = "request over UDP";
const ASK: &str = "send a request";
const WAIT: &str = "wait for the answer";

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
    accounts: Accounts,
    deadline: Span,
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
            accounts: Accounts::new(part.every),
            deadline: order.deadline,
        })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<Report, TrafficError> {
        let (started, before) = (now(), cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let exchange = self.post.meet(&limit)?;
        let mut user = User {
            exchange: &exchange,
            request: &mut self.request,
            room: &mut self.room,
            timeout: Span::ZERO,
        };
        user.bear(exchange.round_trip())?;
        let end = now() + self.duration;
        loop {
            let asked = now();
            if asked >= end || limit.stopped() {
                break;
            }
            limit.check_time(asked, ASK, exchange.peer())?;
            user.ask(&mut self.accounts, asked)?;
            if let Some(every) = self.accounts.every {
                limit.sleep_until((asked + every).min(end));
            }
        }
        exchange.part(self.accounts.account.requests)?;
        let outcome = Outcome::Requested(self.accounts.account);
        Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome })
    }
}

impl Performance for Requester {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop)?)
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
    fn ask(&mut self, accounts: &mut Accounts, asked: Time) -> Result<(), TrafficError> {
        let number = accounts.account.requests;
        let header = Header { kind: Kind::Request, token: self.exchange.token(), number };
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
        accounts: &mut Accounts,
        number: u64,
        asked: Time,
    ) -> Result<(), TrafficError> {
        loop {
            let heard = self.exchange.receive(self.room);
            let waited = now().since(asked);
            match heard {
                Ok(length) => {
                    match judge(self.exchange, self.request, &self.room[..length], number) {
                        Judgement::Right => {
                            accounts.answered(waited);
                            return self.bear(waited);
                        }
                        Judgement::Wrong => {
                            accounts.account.wrong += 1;
                            return Ok(());
                        }
                        Judgement::Old(old) => accounts.came_late(old),
                        Judgement::Aside => {}
                    }
                }
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

/// The meaning of a datagram for a user who waits for the answer to a request.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    /// The datagram is the right answer.
    Right,
    /// An impossible answer.
    Wrong,
    /// The answer to an earlier request.
    Old(u64),
    /// A repeated challenge or welcome: no answer at all.
    Aside,
}

/// Compares an answer with the request it must echo.
fn judge(exchange: &Exchange, request: &[u8], datagram: &[u8], number: u64) -> Judgement {
    match exchange.header(datagram) {
        Some((Header { kind: Kind::Challenge | Kind::Welcome, .. }, [])) => Judgement::Aside,
        Some((header, payload)) if header.kind == Kind::Answer && payload == &request[HEADER..] => {
            match header.number {
                old if old < number => Judgement::Old(old),
                same if same == number => Judgement::Right,
                _ => Judgement::Wrong,
            }
        }
        _ => Judgement::Wrong,
    }
}

/// The account of the requests so far: requests = answers + lost + wrong.
struct Accounts {
    account: Requested,
    given_up: GivenUp,
    every: Option<Span>,
}

impl Accounts {
    fn new(every: Option<Span>) -> Self {
        let account = Requested {
            requests: 0,
            answers: 0,
            lost: 0,
            late: 0,
            wrong: 0,
            round_trip: Histogram::new(),
        };
        Self { account, given_up: GivenUp::default(), every }
    }

    fn answered(&mut self, round_trip: Span) {
        self.account.answers += 1;
        self.account
            .round_trip
            .record_times(round_trip.nanoseconds(), stands_for(round_trip, self.every));
    }

    fn gave_up(&mut self, number: u64) {
        self.account.lost += 1;
        self.given_up.add(number);
    }

    /// An old answer is late if its request had been given up; else it is a copy made on the path,
    /// which does not count.
    fn came_late(&mut self, number: u64) {
        self.account.late += u64::from(self.given_up.take(number));
    }
}

/// The last 64 requests that were given up.
struct GivenUp {
    numbers: [Option<u64>; 64],
    next: usize,
}

impl Default for GivenUp {
    fn default() -> Self {
        Self { numbers: [None; 64], next: 0 }
    }
}

impl GivenUp {
    fn add(&mut self, number: u64) {
        self.numbers[self.next] = Some(number);
        self.next = (self.next + 1) % self.numbers.len();
    }

    /// Whether `number` was given up and its answer has not come yet.
    fn take(&mut self, number: u64) -> bool {
        self.numbers
            .iter_mut()
            .any(|given_up| given_up.take_if(|given_up| *given_up == number).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_late_once_and_only_after_its_request_was_given_up() {
        let mut accounts = Accounts::new(None);
        accounts.gave_up(3);
        for number in [2, 3, 3] {
            accounts.came_late(number);
        }
        assert_eq!((accounts.account.lost, accounts.account.late), (1, 1));
    }

    #[test]
    fn only_the_last_64_are_remembered() {
        let mut given_up = GivenUp::default();
        (0..65).for_each(|number| given_up.add(number));
        assert!(!given_up.take(0));
        assert!(given_up.take(1) && given_up.take(64));
    }
}
