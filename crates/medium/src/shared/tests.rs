//! Tests of a shared Ethernet: vectors with their sources, and properties under any script.

mod contention;
mod drive;
mod lam;
mod load;
mod properties;
mod rates;

use btu_network::{Contention, Discipline, QueueLimit, SharedEthernet as Drawn};
use btu_units::{BitRate, Bytes, Length, Span};

use super::SharedEthernet;
use crate::frame::{Address, Frame};
use crate::listeners::Listener;

/// The seed of all these tests, where they do not count seeds.
const SEED: u64 = 1995;

/// A cable at 0.77 times the speed of light, and queues without a limit that a test could reach.
fn cable(megabits: u64, metres: u64) -> Drawn {
    Drawn {
        rate: BitRate::from_megabits_per_second(megabits),
        length: Length::from_metres(metres),
        velocity: 0.77,
        contention: Contention::Standard,
        queue: Discipline::TailDrop { limit: QueueLimit::Frames(1_000_000) },
    }
}

/// Stations at these metres.
fn at(metres: &[u64]) -> Vec<(Listener, Length)> {
    (0..)
        .zip(metres)
        .map(|(n, &metres)| {
            (Listener::Station(Address::of_station(n)), Length::from_metres(metres))
        })
        .collect()
}

/// `count` stations, evenly from end to end.
fn evenly(count: u32, drawn: &Drawn) -> Vec<(Listener, Length)> {
    let place = |n: u32| drawn.length.millimetres() * u64::from(n) / u64::from((count - 1).max(1));
    (0..count)
        .map(|n| (Listener::Station(Address::of_station(n)), Length::from_millimetres(place(n))))
        .collect()
}

fn medium(drawn: &Drawn, taps: &[(Listener, Length)], seed: u64) -> SharedEthernet {
    SharedEthernet::new(drawn, taps, "lan", seed).unwrap()
}

/// A frame of `octets`, check sequence included, from one station to another.
fn frame(tag: u32, from: u32, to: u32, octets: u64) -> Frame {
    Frame::new(tag, Bytes::new(octets - 4))
        .between(Address::of_station(from), Address::of_station(to))
}

/// How long octets take at 10 Mb/s.
fn octets(count: u64) -> Span {
    Span::from_nanoseconds(800 * count)
}
