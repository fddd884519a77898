//! The end that answers, over TCP: it sends each request back until the other end closes.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Respond, Tell, Token};
use btu_contract::peers::Callers;
use btu_units::Span;

use super::acceptor::Acceptor;
use super::line::{SocketConfig, TcpConnection};
use super::watch::watched;
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::responding::respond;
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
}

fn answer_all(
    line: &TcpConnection,
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

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        Ok(respond(self.deadline, stop, |answers, limit| {
            let line = self.acceptor.admit(&self.token, limit)?;
            watched(&line, limit, DOING, || answer_all(&line, &mut self.message, answers, limit))
        })?)
    }
}
