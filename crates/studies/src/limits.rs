//! The limits of a network by closed forms: the rate of its slowest part, and the time of a file there.

use btu_model::{Ethernet, ModelError, Transport};
use btu_network::{Direction as Line, Discipline, Drawing, Medium, Rate, StationId};
use btu_units::{BitRate, Bytes};

use btu_contract::experiment::{AROUND_DATAGRAM, AROUND_SEGMENT, SEGMENT, passage};

/// Payload of one datagram of background traffic: its frame has 1046 octets, like those of CITI
/// report 89-4 (mean 1047).
pub const DATAGRAM: Bytes = Bytes::new(1000);

/// The limits of the network, by the closed forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathLimits {
    /// The rate of an Ethernet with full frames of equal time.
    pub rate: BitRate,
    /// Datagrams of [`DATAGRAM`], counted over the payload, that take all of its time.
    pub full: BitRate,
    /// Whether stations share one medium: then other traffic gives way to a copy, by an amount that
    /// no form here gives.
    pub is_shared: bool,
    /// Whether the slowest links have a queue for each flow (RFC 8290): then a copy gets its equal
    /// share of them, however much other traffic is offered.
    pub is_fair: bool,
    /// There and back, without the time that frames take on the slowest part of the way, in
    /// seconds.
    pub round_trip: f64,
}

/// What the frame of a full segment occupies on an Ethernet, in octets.
const FULL_FRAME: f64 = 1538.0;

/// Octets of a small answer over TCP: a reply to WRITE of NFS version 3.
const ANSWER: usize = 140;

impl PathLimits {
    /// The path from one station to another; `None` without emulation or if the closed forms have
    /// no answer.
    pub fn between(drawing: &Drawing, from: StationId, to: StationId) -> Option<Self> {
        if drawing.bare {
            return None;
        }
        let rate = |bits: f64, seconds: f64| {
            BitRate::from_bits_per_second((bits / seconds).round() as u64)
        };
        let segment = passage(drawing, from, to, SEGMENT + AROUND_SEGMENT)?;
        let reply = passage(drawing, to, from, ANSWER + AROUND_SEGMENT)?;
        let datagram =
            passage(drawing, from, to, DATAGRAM.count() as usize + AROUND_DATAGRAM)?.occupied;
        let slowest = rate(8.0 * FULL_FRAME, segment.occupied);
        Some(Self {
            rate: slowest,
            is_fair: is_fair(drawing, slowest),
            full: rate(DATAGRAM.bits(), datagram),
            is_shared: drawing.segments.iter().any(|segment| is_shared(&segment.medium)),
            round_trip: segment.beyond + reply.beyond,
        })
    }

    /// The raw time of a file and that of the line alone, in seconds.
    pub fn seconds(&self, size: Bytes) -> Option<(f64, f64)> {
        wire_seconds(size, self.rate).ok()
    }
}

/// With headers of TCP/IP in full packets on Ethernet. An error when headers leave no room, which an
/// Ethernet's never do.
fn wire_seconds(size: Bytes, rate: BitRate) -> Result<(f64, f64), ModelError> {
    let goodput = Ethernet::new(rate).goodput(Transport::Tcp)?;
    Ok((size.bits() / rate.bits_per_second() as f64, size.bits() / goodput))
}

/// Whether all links that are as slow as that, or slower, have a queue for each flow.
fn is_fair(drawing: &Drawing, slowest: BitRate) -> bool {
    // The rate is known to a bit in a second.
    let is_slow = |line: &&Line| matches!(line.rate, Rate::Fixed(rate) if rate.bits_per_second() <= slowest.bits_per_second() + 1);
    let lines = drawing.links.iter().flat_map(|link| [&link.forth, &link.back]);
    let mut slow = lines.filter(is_slow).peekable();
    slow.peek().is_some() && slow.all(|line| matches!(line.queue, Discipline::FqCodel(_)))
}

fn is_shared(medium: &Medium) -> bool {
    match medium {
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => true,
        Medium::SwitchedEthernet(_) | Medium::Atm(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 MB at 10 Mb/s: 80 s raw, 84.97 s on the line.
    #[test]
    fn the_line_alone() {
        let (raw, line) =
            wire_seconds(Bytes::new(100_000_000), BitRate::from_megabits_per_second(10)).unwrap();
        assert!((raw - 80.0).abs() < 1e-9, "{raw}");
        assert!((line - 84.97).abs() < 0.005, "{line}");
    }
}
