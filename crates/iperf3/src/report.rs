//! The result of a finished test, as data and in plain words.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use btu_units::{plain, three_digits};
use serde::Serialize;

use crate::company::Company;
use crate::protocol::{Direction, Parameters, Protocol};
use crate::results::ClientResults;
use crate::streams::Stream;

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
    pub to_server: Option<Way>,
    /// To the client.
    pub to_client: Option<Way>,
    /// Which other tests ran at the same time.
    pub company: Company,
}

/// What moved in one direction; all of it as the receiver counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// Payload that arrived.
    pub received_bytes: u64,
    /// Payload that was sent, as the sender says.
    pub sent_bytes: u64,
    /// By the receiver's bytes and its time.
    pub rate_bits_per_second: f64,
    /// Segments of TCP sent again, as the sender's kernel says; `None`: it does not say.
    pub resent_segments: Option<u64>,
    /// Datagrams of UDP.
    pub datagrams: Option<Datagrams>,
}

/// The accounts of datagrams: sent = received + lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Datagrams {
    /// As many were sent.
    pub sent: u64,
    /// As many arrived, each counted once.
    pub received: u64,
    /// As many did not arrive.
    pub lost: u64,
    /// Of those received, these came after one with a higher number; `None` if the client received.
    pub out_of_order: Option<u64>,
    /// Copies of those received; `None` if the client received.
    pub duplicates: Option<u64>,
    /// The mean over the streams of the jitter at the end (RFC 3550 section 6.4.1), in seconds.
    pub jitter_seconds: f64,
}

impl Datagrams {
    /// Lost of sent, from 0 to 1.
    pub fn lost_share(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
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
        said: &ClientResults,
        company: Company,
    ) -> Self {
        let is_udp = parameters.protocol == Protocol::Udp;
        let of = |sends: bool| streams.iter().filter(move |stream| stream.sends == sends);
        let to_server = of(false).next().map(|_| {
            let streams: Vec<&Stream> = of(false).collect();
            received(&streams, said, times.counted, is_udp)
        });
        let to_client = of(true).next().map(|_| {
            let streams: Vec<&Stream> = of(true).collect();
            sent(&streams, said, times.counted, is_udp)
        });
        Self {
            client,
            title: parameters.title.clone(),
            protocol: parameters.protocol,
            direction: parameters.direction,
            streams: parameters.parallel,
            seconds: times.counted.as_secs_f64(),
            omitted_seconds: times.omitted.as_secs_f64(),
            to_server,
            to_client,
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

/// What the client sent: the server counted.
fn received(streams: &[&Stream], said: &ClientResults, counted: Duration, is_udp: bool) -> Way {
    let counts = || streams.iter().map(|stream| stream.moved().count);
    let bytes = counts().map(|count| count.bytes).sum();
    let (sent, received): (u64, u64) = counts()
        .fold((0, 0), |(sent, received), count| (sent + count.highest, received + count.packets));
    let jitter: f64 = counts().map(|count| count.jitter_seconds).sum();
    let resent: Option<Vec<u64>> = streams.iter().map(|stream| said.of(stream.id).resent).collect();
    Way {
        received_bytes: bytes,
        sent_bytes: sum(streams.iter().map(|stream| said.of(stream.id).bytes)),
        rate_bits_per_second: rate(bytes, counted.as_secs_f64()),
        resent_segments: resent.filter(|_| !is_udp).map(|all| sum(all.into_iter())),
        datagrams: is_udp.then(|| Datagrams {
            sent,
            received,
            lost: sent.saturating_sub(received),
            out_of_order: Some(sum(counts().map(|count| count.out_of_order))),
            duplicates: Some(sum(counts().map(|count| count.duplicates))),
            jitter_seconds: jitter / streams.len() as f64,
        }),
    }
}

/// What the server sent: the client counted.
fn sent(streams: &[&Stream], said: &ClientResults, counted: Duration, is_udp: bool) -> Way {
    let saids = || streams.iter().map(|stream| said.of(stream.id));
    let bytes = sum(saids().map(|said| said.bytes));
    // The client's clock, unless it says nothing of it.
    let seconds = saids().map(|said| said.seconds).fold(0.0, f64::max);
    let seconds = if seconds > 0.0 { seconds } else { counted.as_secs_f64() };
    let (sent, lost) = (sum(saids().map(|said| said.packets)), sum(saids().map(|said| said.lost)));
    let jitter: f64 = saids().map(|said| said.jitter_seconds).sum();
    Way {
        received_bytes: bytes,
        sent_bytes: sum(streams.iter().map(|stream| stream.moved().count.bytes)),
        rate_bits_per_second: rate(bytes, seconds),
        resent_segments: (!is_udp).then(|| sum(streams.iter().map(|stream| stream.moved().resent))),
        datagrams: is_udp.then(|| Datagrams {
            sent,
            received: sent.saturating_sub(lost),
            lost: lost.min(sent),
            out_of_order: None,
            duplicates: None,
            jitter_seconds: jitter / streams.len() as f64,
        }),
    }
}

/// A client's numbers may be anything.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
}

impl Way {
    fn text(&self) -> String {
        let mut text = format!("{} Mb/s", three_digits(self.rate_bits_per_second / 1e6));
        if let Some(datagrams) = &self.datagrams {
            let _ = write!(
                text,
                ", lost {} of {} datagrams ({:.3} %), jitter {:.3} ms",
                datagrams.lost,
                datagrams.sent,
                100.0 * datagrams.lost_share(),
                1e3 * datagrams.jitter_seconds
            );
            for (number, what) in
                [(datagrams.out_of_order, "out of order"), (datagrams.duplicates, "duplicates")]
            {
                if let Some(number) = number.filter(|number| *number > 0) {
                    let _ = write!(text, ", {number} {what}");
                }
            }
        } else {
            match self.resent_segments {
                Some(1) => text.push_str(", 1 segment sent again"),
                Some(number) => {
                    let _ = write!(text, ", {number} segments sent again");
                }
                None => text.push_str(", segments sent again unknown"),
            }
        }
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
