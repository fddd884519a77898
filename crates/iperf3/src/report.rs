//! The result of a finished test, as data and in plain words.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use btu_units::plain;
use serde::Serialize;

use crate::company::Company;
use crate::protocol::{Direction, Parameters, Protocol};
use crate::results::PeerResults;
use crate::streams::Stream;
use crate::way::{DirectionReport, Ways};

/// A finished test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The client's end of the control connection.
    pub client: SocketAddr,
    /// The client's title of the test.
    pub title: Option<String>,
    /// What carried the data.
    pub protocol: Protocol,
    /// Who sent.
    pub direction: Direction,
    /// Streams each way.
    pub streams: u16,
    /// The time that counts, by this server's monotonic clock.
    pub seconds: f64,
    /// The time before it, which does not count.
    pub omitted_seconds: f64,
    /// From the client.
    pub to_server: Option<DirectionReport>,
    /// To the client.
    pub to_client: Option<DirectionReport>,
    /// Which other tests ran at the same time.
    pub company: Company,
}

/// The times of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) counted: Duration,
    pub(crate) omitted: Duration,
}

impl Report {
    /// Puts both ends' numbers together.
    pub(crate) fn new(
        client: SocketAddr,
        parameters: &Parameters,
        times: Times,
        streams: &[Stream],
        said: &PeerResults,
        company: Company,
    ) -> Self {
        let ways = Ways { streams, said, parameters, counted: times.counted };
        Self {
            client,
            title: parameters.title.clone(),
            protocol: parameters.protocol,
            direction: parameters.direction,
            streams: parameters.parallel,
            seconds: times.counted.as_secs_f64(),
            omitted_seconds: times.omitted.as_secs_f64(),
            to_server: ways.received(),
            to_client: ways.sent(),
            company,
        }
    }

    /// Two or three lines in plain words, each with its end.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}: {}, {} {}, {:.1} s",
            self.client,
            self.protocol.name(),
            self.streams,
            if self.streams == 1 { "stream" } else { "streams" },
            self.seconds
        );
        if self.direction == Direction::Both {
            text.push_str(", both ways at a time");
        }
        if self.omitted_seconds > 0.0 {
            let _ = write!(text, " after {:.1} s that do not count", self.omitted_seconds);
        }
        if let Some(title) = &self.title {
            let _ = write!(text, " ({})", plain(title));
        }
        text.push('\n');
        for (way, name) in [(&self.to_server, "to this server"), (&self.to_client, "to the client")]
        {
            if let Some(way) = way {
                let _ = writeln!(text, "  {name} {}", way.text());
            }
        }
        let _ = writeln!(text, "  {}", self.company.text());
        text
    }
}

impl Company {
    /// One line in plain words, without its end.
    pub fn text(&self) -> String {
        if self.tests == 0 {
            return "no other test ran meanwhile".to_owned();
        }
        let named: Vec<String> =
            self.neighbours.iter().map(|one| one.address.to_string()).collect();
        format!(
            "{} other {} ran for {:.0} % of this time, from {}{}",
            self.tests,
            if self.tests == 1 { "test" } else { "tests" },
            100.0 * self.share,
            named.join(", "),
            if self.more_addresses > 0 { " and elsewhere" } else { "" }
        )
    }
}
