//! What moved in each direction: the numbers of both ends put together.

use std::fmt::Write as _;
use std::time::Duration;

use btu_units::three_digits;
use serde::Serialize;

use crate::protocol::{Parameters, Protocol};
use crate::results::{PeerResults, PeerStreamResults};
use crate::streams::{Moved, Stream};

/// What moved in one direction; all of it as the receiver counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Payload that arrived.
    pub received_bytes: u64,
    /// Payload that was sent, as the sender says.
    pub sent_bytes: u64,
    /// The time in which it arrived, by the receiver's clock.
    pub seconds: f64,
    /// By the receiver's bytes and its time.
    pub rate_bits_per_second: f64,
    /// Segments of TCP sent again, as the sender's kernel says; `None`: it does not say.
    pub resent_segments: Option<u64>,
    /// Datagrams of UDP.
    pub datagrams: Option<Datagrams>,
}

/// The accounts of datagrams: sent = received + lost + in flight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Datagrams {
    /// As many were sent.
    pub sent: u64,
    /// As many arrived, each counted once.
    pub received: u64,
    /// As many did not arrive.
    pub lost: u64,
    /// As many were sent after the last one that arrived before the receiver stopped: they may have
    /// been on their way. Zero after omitted seconds, which the ends begin and end at their own moments.
    pub in_flight: u64,
    /// Of those received, these came after one with a higher number; `None` if the other end received.
    pub out_of_order: Option<u64>,
    /// Copies of those received; `None` if the other end received.
    pub duplicates: Option<u64>,
    /// The mean over the streams of the jitter at the end (RFC 3550 section 6.4.1), in seconds.
    pub jitter_seconds: f64,
}

impl Datagrams {
    /// Lost of those whose fate is known, from 0 to 1.
    pub fn lost_share(&self) -> f64 {
        let known = self.received.saturating_add(self.lost);
        if known == 0 { 0.0 } else { self.lost as f64 / known as f64 }
    }
}

impl DirectionReport {
    /// Whether the accounts of both ends agree: nothing arrived that was not sent. Only without omitted
    /// seconds do both count from the same byte.
    pub fn is_balanced(&self) -> bool {
        match &self.datagrams {
            Some(all) => {
                let accounted = all.received.saturating_add(all.lost).saturating_add(all.in_flight);
                all.sent == accounted
            }
            None => self.received_bytes <= self.sent_bytes,
        }
    }
}

/// The numbers of both ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways<'a> {
    pub(crate) streams: &'a [Stream],
    pub(crate) said: &'a PeerResults,
    pub(crate) parameters: &'a Parameters,
    /// The time that counts, by this end's clock.
    pub(crate) counted: Duration,
}

impl Ways<'_> {
    /// What the peer sent: this end counted.
    pub(crate) fn received(self) -> Option<DirectionReport> {
        let pairs = self.pairs(false)?;
        let counts = || pairs.iter().map(|(moved, _)| moved.count);
        let bytes = counts().map(|count| count.bytes).sum();
        let resent: Option<Vec<u64>> = pairs.iter().map(|(_, said)| said.resent).collect();
        let seen: u64 = counts().map(|count| count.highest).sum();
        let received = counts().map(|count| count.packets).sum();
        let datagrams = self.is_udp().then(|| Datagrams {
            out_of_order: Some(counts().map(|count| count.out_of_order).sum()),
            duplicates: Some(counts().map(|count| count.duplicates).sum()),
            ..self.datagrams(
                sum(pairs.iter().map(|(_, said)| said.packets)),
                seen,
                received,
                counts().map(|count| count.jitter_seconds).sum::<f64>() / pairs.len() as f64,
            )
        });
        Some(DirectionReport {
            received_bytes: bytes,
            sent_bytes: sum(pairs.iter().map(|(_, said)| said.bytes)),
            seconds: self.counted.as_secs_f64(),
            rate_bits_per_second: rate(bytes, self.counted.as_secs_f64()),
            resent_segments: resent.filter(|_| !self.is_udp()).map(|all| sum(all.into_iter())),
            datagrams,
        })
    }

    /// What this end sent: the peer counted.
    pub(crate) fn sent(self) -> Option<DirectionReport> {
        let pairs = self.pairs(true)?;
        let saids = || pairs.iter().map(|(_, said)| said);
        let bytes = sum(saids().map(|said| said.bytes));
        // The receiver's clock, unless it says nothing of it.
        let seconds = saids().map(|said| said.seconds).fold(0.0, f64::max);
        let seconds = if seconds > 0.0 { seconds } else { self.counted.as_secs_f64() };
        let seen = sum(saids().map(|said| said.packets));
        let lost = sum(saids().map(|said| said.lost)).min(seen);
        let datagrams = self.is_udp().then(|| {
            let sent = pairs.iter().map(|(moved, _)| moved.count.packets).sum();
            let jitter: f64 = saids().map(|said| said.jitter_seconds).sum();
            self.datagrams(sent, seen, seen - lost, jitter / pairs.len() as f64)
        });
        Some(DirectionReport {
            received_bytes: bytes,
            sent_bytes: pairs.iter().map(|(moved, _)| moved.count.bytes).sum(),
            seconds,
            rate_bits_per_second: rate(bytes, seconds),
            resent_segments: (!self.is_udp())
                .then(|| pairs.iter().map(|(moved, _)| moved.resent).sum()),
            datagrams,
        })
    }

    /// The streams on which this end sends, or receives; `None` if there are none.
    fn pairs(self, sends: bool) -> Option<Vec<(Moved, PeerStreamResults)>> {
        let streams = self.streams.iter().filter(|stream| stream.sends == sends);
        let pairs: Vec<_> =
            streams.map(|stream| (stream.moved(), self.said.of(stream.id))).collect();
        (!pairs.is_empty()).then_some(pairs)
    }

    fn is_udp(self) -> bool {
        self.parameters.protocol == Protocol::Udp
    }

    /// `sent` as the sender counted, and of those `seen` or one before them was the last that arrived.
    fn datagrams(self, sent: u64, seen: u64, received: u64, jitter_seconds: f64) -> Datagrams {
        let is_comparable = self.parameters.omit.is_zero();
        Datagrams {
            sent: if is_comparable { sent } else { seen },
            received,
            lost: seen.saturating_sub(received),
            in_flight: if is_comparable { sent.saturating_sub(seen) } else { 0 },
            out_of_order: None,
            duplicates: None,
            jitter_seconds,
        }
    }
}

/// A peer's numbers may be anything.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
}

impl DirectionReport {
    /// What both ends count, on one line: sent, received, and what became of the rest.
    pub fn accounts(&self) -> String {
        if let Some(all) = &self.datagrams {
            return format!(
                "{} datagrams sent = {} received + {} lost + {} in flight at the end",
                all.sent, all.received, all.lost, all.in_flight
            );
        }
        let resent = match self.resent_segments {
            Some(1) => "; 1 segment was sent again".to_owned(),
            Some(number) => format!("; {number} segments were sent again"),
            None => String::new(),
        };
        let in_flight = self.sent_bytes.saturating_sub(self.received_bytes);
        format!(
            "{} octets sent = {} received + {in_flight} in flight at the end{resent}",
            self.sent_bytes, self.received_bytes
        )
    }

    /// In plain words.
    pub(crate) fn text(&self) -> String {
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
