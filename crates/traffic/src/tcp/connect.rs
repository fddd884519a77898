//! A connection for each request: the near end connects, sends the token and a request, reads the
//! answer and the end of the connection, and closes; then the next one.
//!
//! One more connection, the guide, is there from the beginning to the end and carries nothing but
//! the token: it shows the far end when the near one is done.
//!
//! The far end closes first, as a server does that answers one request (RFC 9112, section 9.6). So
//! the old connections wait at the far end (TIME-WAIT, RFC 9293, section 3.6.1), where a new one of
//! the same ports may replace them (RFC 6191), and the ports of the near end are free at once.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Request, Respond, Tell, Token};
use btu_contract::peers::Callers;
use btu_contract::poisson::Poisson;
use btu_contract::record::{Outcome, Report, Requested};
use btu_stats::Histogram;
use btu_units::{Span, Time};

use super::acceptor::{Acceptor, Waiting};
use super::line::{SocketConfig, TcpConnection};
use super::request::stamp;
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::responding::respond;
use crate::size;

const KIND: &str = "connect, request and close over TCP";
const ASK: &str = "send a request";
const WAIT: &str = "wait for the answer";
const END: &str = "wait for the end of the connection";
const ANSWER: &str = "answer a request";

/// The end that connects.
pub(crate) struct Connector {
    guide: TcpConnection,
    to: SocketAddr,
    config: SocketConfig,
    /// The token, and then the request.
    opening: Vec<u8>,
    answer: Vec<u8>,
    duration: Span,
    /// Moments at which a connection may begin, after the start; without them each follows the one
    /// before at once.
    moments: Option<Poisson>,
    deadline: Span,
}

/// The counts of its connections.
#[derive(Default)]
struct Opened {
    all: u64,
    refused: u64,
    wrong: u64,
    times: Histogram,
}

impl Connector {
    /// Connects the guide.
    pub(crate) fn prepare(order: &Order, part: &Request) -> Result<Self, TrafficError> {
        let message = size::tcp(KIND, part.message)?;
        let config = SocketConfig::prompt().marked(order.dscp);
        let request = Payload::new(order.seed, message).at(0, message).to_vec();
        Ok(Self {
            guide: TcpConnection::connect(part.to, &part.token, &config, order.deadline)?,
            to: part.to,
            config,
            opening: [&part.token[..], &request].concat(),
            answer: vec![0; message],
            duration: part.duration,
            moments: part.open_loop.map(|open_loop| open_loop.moments(order.seed)),
            deadline: order.deadline,
        })
    }

    /// One connection at a time: a moment at which another one is still open is left out.
    fn open_until(&mut self, started: Time, limit: &Limit<'_>) -> Result<Opened, TrafficError> {
        let (mut opened, end) = (Opened::default(), started + self.duration);
        loop {
            let gone = now().since(started);
            if let Some(due) = self.moments.as_mut().and_then(|all| all.find(|due| *due > gone)) {
                limit.sleep_until((started + due).min(end));
            }
            let began = now();
            if began >= end || limit.stopped() {
                return Ok(opened);
            }
            match self.ask(opened.all, limit) {
                Ok(true) => {
                    opened.times.record(now().since(began).nanoseconds());
                }
                Ok(false) => opened.wrong += 1,
                Err(error) if is_refused(&error) => opened.refused += 1,
                Err(error) => return Err(error),
            }
            opened.all += 1;
        }
    }

    /// One connection; false when what came is not the request's echo and the end.
    fn ask(&mut self, number: u64, limit: &Limit<'_>) -> Result<bool, TrafficError> {
        let request = Token::default().len();
        stamp(&mut self.opening[request..], number);
        let line =
            TcpConnection::open(self.to, &self.config, self.deadline).map_err(without_ports)?;
        line.write(&self.opening, limit, ASK)?;
        let has_answered = line.read_exactly(&mut self.answer, limit, WAIT)?;
        let has_more = has_answered && line.read_exactly(&mut [0], limit, END)?;
        Ok(has_answered && !has_more && self.answer == self.opening[request..])
    }
}

/// Whether the far host refused the connection.
fn is_refused(error: &TrafficError) -> bool {
    let (TrafficError::Connect { source, .. } | TrafficError::Socket { source, .. }) = error else {
        return false;
    };
    matches!(source.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}

/// Names the cause and the cure if no local port is free.
fn without_ports(error: TrafficError) -> TrafficError {
    match error {
        TrafficError::Connect { peer, source } if source.kind() == ErrorKind::AddrNotAvailable => {
            let why = "no local port is free: other programs hold them, or closed connections wait a minute for the end \
                       (sysctl net.ipv4.ip_local_port_range has their number)";
            TrafficError::Connect { peer, source: io::Error::new(source.kind(), why) }
        }
        other => other,
    }
}

impl Performance for Connector {
    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let opened = self.open_until(started, &limit)?;
        let finished = now();
        // The far end learns that all is done; it has not ended before, or has said why itself.
        let _ = self.guide.finish_sending();
        let Opened { all, refused, wrong, times } = opened;
        let requested = Requested {
            requests: all,
            answers: all - refused - wrong,
            lost: refused,
            lost_batches: Vec::new(),
            late: 0,
            wrong,
            round_trip: times,
        };
        let outcome = Outcome::Requested(requested);
        Ok(Report { started, finished, cpu: cpu_since(before), outcome })
    }
}

/// The end that accepts: it answers one request on each connection and closes it.
pub(crate) struct Answerer {
    acceptor: Acceptor,
    token: Token,
    message: Vec<u8>,
    deadline: Span,
}

impl Answerer {
    /// Sets up the end: it listens.
    pub(crate) fn prepare(
        order: &Order,
        part: &Respond,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = vec![0; size::tcp(KIND, part.message)?];
        let config = SocketConfig::prompt().marked(order.dscp);
        let acceptor = Acceptor::open(part.on, &config, callers)?;
        Ok(Self { acceptor, token: part.token, message, deadline: order.deadline })
    }

    /// Until the guide ends.
    fn answer_all(&mut self, answers: &mut u64, limit: &Limit<'_>) -> Result<(), TrafficError> {
        let mut waiting = Waiting::default();
        let Some(guide) = self.acceptor.next(&mut waiting, &self.token, None, limit)? else {
            return Ok(());
        };
        while let Some(line) = self.acceptor.next(&mut waiting, &self.token, Some(&guide), limit)? {
            // One that closed before its request is not counted: the near end counts it as wrong.
            if line.read_exactly(&mut self.message, limit, ANSWER)? {
                line.write(&self.message, limit, ANSWER)?;
                *answers += 1;
            }
        }
        Ok(())
    }
}

impl Performance for Answerer {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.acceptor.address())
    }

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        Ok(respond(self.deadline, stop, |answers, limit| self.answer_all(answers, limit))?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use btu_contract::activity::{OpenLoop, Transport};
    use btu_units::Bytes;

    use super::*;

    /// The far end has gone after the guide came: every connection is refused, and counted so.
    #[test]
    fn refused_connections_are_losses() {
        // An address that no other test is given a port of.
        let here = IpAddr::from([127, 0, 7, 27]);
        let acceptor = Acceptor::open(here, &SocketConfig::prompt(), &Callers::any()).unwrap();
        let part = Request {
            to: acceptor.address(),
            transport: Transport::TcpConnect,
            token: [7; 16],
            message: Bytes::new(16),
            duration: Span::from_milliseconds(50),
            open_loop: Some(OpenLoop::every(Span::from_milliseconds(10))),
        };
        let activity = btu_contract::activity::Activity::Request(part.clone());
        let order = Order::new(1, Span::from_seconds(10), activity);
        let connector = Connector::prepare(&order, &part).unwrap();
        drop(acceptor);
        assert!(crate::tests::is_closed(part.to));
        let report = Box::new(connector).perform(&AtomicBool::new(false)).unwrap();
        let Outcome::Requested(requested) = report.outcome else { panic!("{report:?}") };
        assert_eq!((requested.answers, requested.wrong), (0, 0), "{requested:?}");
        assert!(requested.requests <= 50, "{requested:?}");
        assert_eq!(requested.lost, requested.requests);
    }

    #[test]
    fn a_machine_without_free_ports_says_so() {
        let (peer, source) =
            ("127.0.0.1:9".parse().unwrap(), io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
        let told = without_ports(TrafficError::Connect { peer, source }).to_string();
        assert!(
            told.contains("no local port is free") && told.contains("ip_local_port_range"),
            "{told}"
        );
    }
}
