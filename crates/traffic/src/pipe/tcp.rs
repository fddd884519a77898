//! TCP: opened as every TCP flow of this crate is, and then used without timeouts.

use std::net::SocketAddr;

use btu_contract::activity::{PipeMeeting, Token};
use btu_units::Span;

use super::check::network;
use super::stream::StreamPipe;
use super::{Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::option;
use crate::tcp::acceptor::Endpoint;
use crate::tcp::line::{SocketConfig, TcpConnection};

/// A TCP end that listens or is connected.
pub(super) struct Tcp {
    endpoint: Endpoint,
    token: Token,
    /// The time for which a receiver polls before it sleeps.
    busy_poll: Option<Span>,
}

impl Tcp {
    /// The connection as it is, without timeouts.
    pub(super) fn line(self, limit: &Limit<'_>) -> Result<TcpConnection, TrafficError> {
        let line = self.endpoint.meet(&self.token, limit)?;
        line.wait_as_long_as_it_takes()?;
        Ok(line)
    }
}

impl Setup for Tcp {
    type Pipe = StreamPipe<TcpConnection>;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let options = &terms.plan.socket;
        let endpoint = Endpoint::take(
            network(meeting)?,
            &terms.token,
            &SocketConfig::pipe(options)?,
            terms.deadline,
            &terms.callers,
        )?;
        Ok(Self { endpoint, token: terms.token, busy_poll: options.busy_poll })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        let busy_poll = self.busy_poll;
        let line = self.line(limit)?;
        let Some(span) = busy_poll else { return Ok(StreamPipe::new(line)) };
        // The driver's polling, if it is supported and this process may use it; polling from here
        // always works.
        let driver = option::busy_poll(&line, span);
        Ok(StreamPipe::new(line).looking(span, driver.err()))
    }
}
