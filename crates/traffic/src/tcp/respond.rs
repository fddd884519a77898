//! The end that answers, over TCP: it sends each request back until the other end closes.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_suite::activity::{Order, Performance, Respond, Token};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Report};
use btu_units::Span;

use super::acceptor::Acceptor;
use super::line::{Line, SocketConfig};
use super::watch::watched;
use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::size;

const KIND: &str = "respond over TCP";
const DOING: &str = "answer requests";

/// A responder that listens.
pub(crate) struct Responder {
    acceptor: Acceptor,
    token: Token,
    message: Vec<u8>,
    deadline: Span,
}

impl Responder {
    /// Sets up the end: it listens.
    pub(crate) fn prepare(
        order: &Order,
        part: &Respond,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = vec![0; size::tcp(KIND, part.message)?];
        let acceptor =
            Acceptor::open(part.on, &SocketConfig::prompt().marked(order.dscp), callers)?;
        Ok(Self { acceptor, token: part.token, message, deadline: order.deadline })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<Report, TrafficError> {
        let (started, before) = (now(), cpu());
        let limit = Limit::new(started, self.deadline, stop);
        let mut answers = 0;
        let served = self.acceptor.admit(&self.token, &limit).and_then(|line| {
            watched(&line, &limit, DOING, || {
                answer_all(&line, &mut self.message, &mut answers, &limit)
            })
        });
        match served {
            // A `stop` is the regular end of a server.
            Ok(()) | Err(TrafficError::Stopped { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::Responded { answers },
        })
    }
}

fn answer_all(
    line: &Line,
    message: &mut [u8],
    answers: &mut u64,
    limit: &Limit<'_>,
) -> Result<(), TrafficError> {
    while line.read_exactly(message, limit, DOING)? {
        line.write(message, limit, DOING)?;
        *answers += 1;
    }
    Ok(())
}

impl Performance for Responder {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.acceptor.address())
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn Error + Send + Sync>> {
        Ok(self.run(stop)?)
    }
}
