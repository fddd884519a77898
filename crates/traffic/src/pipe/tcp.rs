//! TCP: found and opened as every TCP flow of this room is, then used without time-outs.

use std::net::SocketAddr;

use btu_suite::activity::{Meeting, Token};
use btu_suite::pipe::SocketOptions;
use btu_units::Span;

use super::Setup;
use super::stream::StreamPipe;
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::tcp::door::Seat;
use crate::tcp::line::{Line, Manner};

/// A TCP end that listens or is connected.
pub(super) struct Tcp {
    seat: Seat,
    token: Token,
}

impl Tcp {
    /// Listens or connects.
    pub(super) fn prepare(
        meeting: &Meeting,
        token: Token,
        options: &SocketOptions,
        deadline: Span,
    ) -> Result<Self, TrafficError> {
        let seat = Seat::take(meeting, &token, &Manner::pipe(options)?, deadline)?;
        Ok(Self { seat, token })
    }
}

impl Setup for Tcp {
    type Pipe = StreamPipe<Line>;

    fn endpoint(&self) -> Option<SocketAddr> {
        self.seat.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        let line = self.seat.meet(&self.token, limit)?;
        line.wait_as_long_as_it_takes()?;
        Ok(StreamPipe::new(line))
    }
}
