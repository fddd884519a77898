//! FDDI: a ring with a timed token.
//!
//! Source: ISO 9314-2:1989 (FDDI media access control) clauses 7 and 8; Grow, "A timed token
//! protocol for local area networks", Electro 1982; closed forms: Jain, "Performance analysis of
//! FDDI token ring networks", 1990.
//!
//! **What a frame occupies.** Preamble (16 symbols of 4 bits), starting delimiter (2), frame
//! control (2), the addresses (24), the payload, check sequence (8), ending delimiter and frame
//! status (4): 8 + 1 + 1 and 4 + 2 octets around addresses and payload. The type field of an
//! Ethernet-like frame travels as 8 octets of LLC and SNAP (RFC 1390), that is 6 more. So a frame
//! of [`Frame::length`] octets occupies 22 more, and is not padded. A frame of more than 9000
//! symbols, four of preamble counted, is dropped as too long.
//!
//! **The token** has 88 bits with its preamble. Its place here is that of its last bit, because a
//! station must have seen all of it before it sends. A station that kept it sends a new one right
//! behind its last frame (early release), which takes 88 bits.
//!
//! **Transmission rules.** All traffic is asynchronous and of one priority; deviation: synchronous
//! bandwidth, restricted tokens and priority thresholds are not modelled. The file `timers.rs` has
//! the rule. A frame is begun while holding time is left, and ends even if it is over then
//! (asynchronous overrun).
//!
//! **The ring's latency** is the fibre's propagation and each station's latency, divided evenly
//! between the stations in the order of their taps; at least the token's 88 bits.
//!
//! A target rotation time that the ring cannot keep is raised to the least it can: latency, token
//! and a longest frame (ISO 9314-2, clause 8: what stations must bid at least, without synchronous
//! traffic).
//!
//! [`Frame::length`]: crate::Frame::length

#[cfg(test)]
mod tests;
mod timers;

use std::ops::Range;

use btu_units::{Bytes, Span, Time};

use crate::listeners::Listener;
use crate::ring::{Access, Ring, Route, bits_at, stations_of};
use timers::Timers;

/// The token's bits, preamble included.
const TOKEN_BITS: u64 = 88;
/// The longest frame's: 9000 symbols, and twelve more of preamble than are counted in them.
const LONGEST_BITS: u64 = 4 * (9000 + 12);

/// An FDDI ring with its stations and their queues.
pub type Fddi = Ring<TimedToken>;

impl Fddi {
    /// The ring with `listeners` on it, in this order; the chance in its queues comes from `name`
    /// and `seed`.
    pub fn new(ring: &btu_network::Fddi, listeners: &[Listener], name: &str, seed: u64) -> Self {
        let token = bits_at(TOKEN_BITS, ring.rate);
        let latency = (ring.length.propagation(ring.velocity)
            + ring.station_latency * listeners.len() as u64)
            .max(token);
        let target = ring.target_rotation.max(latency + token + bits_at(LONGEST_BITS, ring.rate));
        let route = Route::new(listeners.len(), latency);
        let stations = stations_of(&ring.queue, ring.rate, listeners, name, seed);
        let timed = TimedToken {
            timers: Timers::new(route, target),
            token,
            until: Time::ZERO,
            start: Time::ZERO,
        };
        Self::of(timed, route, ring.rate, stations, listeners)
    }
}

/// The rules of the timed token.
#[derive(Debug)]
pub struct TimedToken {
    timers: Timers,
    /// The time a token takes.
    token: Span,
    /// When the holding time of the station that has the token is over.
    until: Time,
    /// The start from which the time of its passage follows.
    start: Time,
}

impl Access for TimedToken {
    /// Ten octets before the addresses, six more of LLC and SNAP than of type, four of check
    /// sequence, two behind.
    const AROUND: Bytes = Bytes::new(8 + 1 + 1 + 6 + 4 + 2);

    fn carries(&self, size: Bytes) -> bool {
        size.count() <= LONGEST_BITS / 8
    }

    fn pass(&mut self, start: Time, passages: Range<u64>) {
        self.timers.pass(start, passages);
    }

    fn keeps(&mut self, passage: u64, start: Time, _: usize, now: Time) -> bool {
        let until = self.timers.token(passage, start);
        (self.start, self.until) = (start, until.unwrap_or(now));
        until.is_some()
    }

    fn begins(&mut self, _: Bytes, now: Time) -> bool {
        now < self.until
    }

    fn leaves(&self, _: Time, ended: Time) -> Time {
        ended + self.token
    }

    fn left(&mut self, passage: u64, start: Time) {
        self.timers.freed(passage, self.start, start);
    }
}
