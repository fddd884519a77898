//! A token ring.
//!
//! Source: IEEE 802.5 (ISO 8802-5:1995) clauses 3 and 4; closed forms: Bux, "Local-area
//! subnetworks: a performance comparison", IEEE Transactions on Communications, 1981.
//!
//! **What a frame occupies.** Starting delimiter, access control and frame control (3 octets), the
//! addresses (12), the payload, check sequence (4), ending delimiter and frame status (2). Frames
//! come from an Ethernet-like world: their header's type field travels as 8 octets of LLC and SNAP
//! (RFC 1042), that is 6 more. So a frame of [`Frame::length`] octets occupies 15 more, and is not
//! padded. No routing information is carried.
//!
//! **The token** has 24 bits. Its place here is that of its first bit. A station that takes it
//! turns one bit of it over and so makes it the beginning of its frame; a station that frees it
//! sends a new one right behind. Taking and freeing cost no time therefore; the 24 bits only say
//! how short a ring may be.
//!
//! **The ring's latency** is the cable's propagation and each station's bits, or the value that the
//! file gives, and at least 24 bits: the active monitor's latency buffer makes room for the token.
//! Stations divide it evenly, in the order of their taps.
//!
//! **Without early release** a station frees the token when its last frame has ended and the first
//! bit of that frame has come back. Deviation: the standard waits for the source address, 15 octets
//! later; the closed forms do not.
//!
//! Deviation: priorities and reservations are not modelled, all stations have the same. A frame
//! that does not fit the token holding time alone is dropped as too long.
//!
//! [`Frame::length`]: crate::Frame::length

#[cfg(test)]
mod tests;

use std::ops::Range;

use btu_network::Service;
use btu_units::{BitRate, Bytes, Span, Time};

use crate::listeners::Listener;
use crate::ring::{Access, Ring, Route, bits_at, stations_of};

/// The length of the token in bits.
const TOKEN_BITS: u64 = 24;

/// A token ring with its stations and their queues.
pub type TokenRing = Ring<Turn>;

impl TokenRing {
    /// The ring with `listeners` on it, in this order; the chance in its queues comes from `name`
    /// and `seed`.
    pub fn new(
        ring: &btu_network::TokenRing,
        listeners: &[Listener],
        name: &str,
        seed: u64,
    ) -> Self {
        let latency = latency_of(ring, listeners.len() as u64);
        let turn = Turn {
            service: ring.service,
            rate: ring.rate,
            comes_back_after: if ring.early_release { Span::ZERO } else { latency },
            came: Time::ZERO,
            left: 0,
        };
        let route = Route::new(listeners.len(), latency);
        let stations = stations_of(&ring.queue, ring.rate, listeners, name, seed);
        Self::of(turn, route, ring.rate, stations, listeners)
    }
}

/// How long a bit takes to go round.
fn latency_of(ring: &btu_network::TokenRing, stations: u64) -> Span {
    let latency = ring.ring_latency.unwrap_or_else(|| {
        let bits = stations.saturating_mul(u64::from(ring.station_latency_bits));
        ring.length.propagation(ring.velocity) + bits_at(bits, ring.rate)
    });
    latency.max(bits_at(TOKEN_BITS, ring.rate))
}

/// A station's turn: how long it keeps the token.
#[derive(Debug)]
pub struct Turn {
    service: Service,
    rate: BitRate,
    /// From the beginning of a frame until the token may be freed at the earliest.
    comes_back_after: Span,
    /// When the token came to the station that has it.
    came: Time,
    /// Frames that this station may still send, where they are counted.
    left: usize,
}

impl Access for Turn {
    /// Three octets before the addresses, six more of LLC and SNAP than of type, four of check
    /// sequence, two behind.
    const AROUND: Bytes = Bytes::new(3 + 6 + 4 + 2);

    fn carries(&self, size: Bytes) -> bool {
        match self.service {
            Service::HoldingTime(longest) => self.time_of(size) <= longest,
            Service::Exhaustive | Service::Gated | Service::One => true,
        }
    }

    fn pass(&mut self, _: Time, _: Range<u64>) {}

    fn keeps(&mut self, _: u64, _: Time, waiting: usize, now: Time) -> bool {
        self.came = now;
        self.left = if self.service == Service::One { 1 } else { waiting };
        true
    }

    fn begins(&mut self, size: Bytes, now: Time) -> bool {
        match self.service {
            Service::HoldingTime(longest) => now.since(self.came) + self.time_of(size) <= longest,
            Service::Exhaustive => true,
            Service::Gated | Service::One if self.left == 0 => false,
            Service::Gated | Service::One => {
                self.left -= 1;
                true
            }
        }
    }

    fn leaves(&self, began: Time, ended: Time) -> Time {
        ended.max(began + self.comes_back_after)
    }

    fn left(&mut self, _: u64, _: Time) {}
}

impl Turn {
    /// The time `size` takes, up to the next whole nanosecond: what is allowed once is always
    /// allowed.
    fn time_of(&self, size: Bytes) -> Span {
        let rate = u128::from(self.rate.bits_per_second().max(1));
        let nanoseconds = (u128::from(size.count()) * 8_000_000_000).div_ceil(rate);
        Span::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}
