//! Reads the segments of a network file, `[segments.NAME]`.

use btu_units::{BitRate, Length, Span};

use super::fields::{Fields, Item};
use super::line::Partial;
use super::problem::Spot;
use super::trace::Files;
use super::{limits, queue};
use crate::direction::{Direction, Framing};
use crate::queue::Discipline;
use crate::segment::{Atm, Contention, Fddi, Medium, Service, SharedEthernet, Star, TokenRing};

/// A segment as written.
#[derive(Debug)]
pub(super) struct SegmentGroup {
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) medium: Medium,
}

#[derive(Debug, Clone, Copy)]
enum SegmentKind {
    Shared,
    Switched,
    TokenRing,
    Fddi,
    Atm,
}

const KINDS: &[(&str, SegmentKind)] = &[
    ("shared-ethernet", SegmentKind::Shared),
    ("switched-ethernet", SegmentKind::Switched),
    ("token-ring", SegmentKind::TokenRing),
    ("fddi", SegmentKind::Fddi),
    ("atm", SegmentKind::Atm),
];

/// Reads a segment from its table.
pub(super) fn read(
    name: &str,
    spot: Spot,
    item: &Item<'_>,
    files: Files<'_>,
) -> Option<SegmentGroup> {
    let fields = item.fields()?;
    let kind = fields.need("medium", "\"shared-ethernet\"").and_then(|item| item.word(KINDS));
    let count = fields.whole("count", 1..=limits::OTHERS);
    let medium = match kind? {
        SegmentKind::Shared => Medium::SharedEthernet(shared(&fields)),
        SegmentKind::Switched => Medium::SwitchedEthernet(star(&fields, files, &switched())),
        SegmentKind::TokenRing => Medium::TokenRing(token_ring(&fields)),
        SegmentKind::Fddi => Medium::Fddi(fddi(&fields)),
        SegmentKind::Atm => Medium::Atm(Atm { star: star(&fields, files, &atm()) }),
    };
    fields.finish();
    Some(SegmentGroup { spot, name: name.to_owned(), count, medium })
}

/// Coaxial cable of 10BASE5: 0.77 c, and segments of 500 m (IEEE 802.3, clause 8.4.1 and 8.6.1).
const COAX: f64 = 0.77;
const COAX_LENGTH: Length = Length::from_metres(500);

/// Optical fibre as FDDI counts it: 5.085 us for each km (Jain 1990).
const FIBRE: f64 = 0.656;

/// Bits from one end of a shared Ethernet to the other and back, at most (IEEE 802.3, 4.4.2:
/// slotTime).
const SLOT_BITS: f64 = 512.0;

fn shared(fields: &Fields<'_>) -> SharedEthernet {
    let contentions = [("802.3", Contention::Standard), ("ideal", Contention::Ideal)];
    let read = SharedEthernet {
        rate: rate(fields, BitRate::from_megabits_per_second(10)),
        length: fields.quantity_in("length", limits::LENGTH).unwrap_or(COAX_LENGTH),
        velocity: velocity(fields, COAX),
        contention: fields
            .get("contention")
            .and_then(|item| item.word(&contentions))
            .unwrap_or(Contention::Standard),
        queue: station_queue(fields),
    };
    within_slot(fields, &read);
    read
}

/// Every station must detect a collision before its shortest frame ends.
fn within_slot(fields: &Fields<'_>, segment: &SharedEthernet) {
    if segment.contention == Contention::Ideal {
        return;
    }
    let slot_s = SLOT_BITS / segment.rate.bits_per_second() as f64;
    let greatest = slot_s / 2.0 * segment.velocity * LIGHT;
    if segment.length.metres() > greatest {
        let spot = fields.get("length").map_or_else(|| fields.spot.clone(), |item| item.spot);
        fields.problem_at(
            &spot,
            format!(
                "a shared Ethernet of {} is at most {} m long at {} c: a signal must come and go within the slot of 512 \
                 bits, or collisions are not noticed; this one is {}",
                segment.rate,
                greatest.floor(),
                segment.velocity,
                segment.length
            ),
        );
    }
}

/// The speed of light in vacuum, metres per second.
const LIGHT: f64 = 299_792_458.0;

/// A full-duplex line of 100 Mb/s that takes no time.
fn switched() -> Direction {
    Direction::new(BitRate::from_megabits_per_second(100), Span::ZERO)
}

/// The part of a 155.52 Mb/s SDH line that carries cells: 260 of its 270 columns (ITU-T I.432.2).
/// Longest packet: RFC 2225, section 7.
fn atm() -> Direction {
    let mut line = Direction::new(BitRate::from_bits_per_second(149_760_000), Span::ZERO);
    line.framing = Framing::Aal5;
    line.mtu = btu_units::Bytes::new(9_180);
    line
}

fn star(fields: &Fields<'_>, files: Files<'_>, standard: &Direction) -> Star {
    let both = Partial::read(fields, files, false);
    Star {
        up: both.overridden(fields, "up", files, false).complete(standard),
        down: both.overridden(fields, "down", files, false).complete(standard),
        latency: fields.quantity_in("latency", limits::TIME).unwrap_or_default(),
    }
}

fn token_ring(fields: &Fields<'_>) -> TokenRing {
    let rate = rate(fields, BitRate::from_megabits_per_second(16));
    TokenRing {
        rate,
        length: fields.quantity_in("length", limits::LENGTH).unwrap_or(COAX_LENGTH),
        velocity: velocity(fields, COAX),
        station_latency_bits: fields
            .get("station_latency")
            .and_then(|item| bits(&item))
            .unwrap_or(1),
        ring_latency: fields.quantity_in("ring_latency", limits::TIME),
        // Early release came with 16 Mb/s (IEEE 802.5-1989).
        early_release: fields
            .truth("early_release")
            .unwrap_or(rate >= BitRate::from_megabits_per_second(16)),
        service: fields.get("service").and_then(|item| service(&item)).unwrap_or(HOLDING_TIME),
        queue: station_queue(fields),
    }
}

/// IEEE 802.5's default token holding time.
const HOLDING_TIME: Service = Service::HoldingTime(Span::from_milliseconds(10));

/// Reads a number of bits, such as `"2 bits"`.
fn bits(item: &Item<'_>) -> Option<u32> {
    let text = item.text()?.trim();
    let number = text.strip_suffix("bits").or_else(|| text.strip_suffix("bit"));
    let bits = number.and_then(|number| number.trim().parse().ok()).filter(|bits| *bits <= 10_000);
    if bits.is_none() {
        item.problem("what a station adds to the ring is written in bits, `2 bits`, at most 10000");
    }
    bits
}

/// `"10 ms"`, `"exhaustive"`, `"gated"` or `"one"`.
fn service(item: &Item<'_>) -> Option<Service> {
    match item.text()? {
        "exhaustive" => return Some(Service::Exhaustive),
        "gated" => return Some(Service::Gated),
        "one" => return Some(Service::One),
        _ => {}
    }
    match item.text()?.parse::<Span>() {
        Ok(time) if time > Span::ZERO && limits::TIME.contains(&time) => {
            Some(Service::HoldingTime(time))
        }
        _ => {
            item.problem(
                "how long a station keeps the token is a time such as `10 ms`, or `exhaustive`, `gated` or `one`",
            );
            None
        }
    }
}

fn fddi(fields: &Fields<'_>) -> Fddi {
    Fddi {
        rate: rate(fields, BitRate::from_megabits_per_second(100)),
        length: fields.quantity_in("length", limits::LENGTH).unwrap_or(Length::from_metres(4_000)),
        velocity: velocity(fields, FIBRE),
        station_latency: fields
            .quantity_in("station_latency", limits::TIME)
            .unwrap_or(Span::from_microseconds(1)),
        target_rotation: fields.quantity_in("ttrt", TTRT).unwrap_or(Span::from_milliseconds(8)),
        queue: station_queue(fields),
    }
}

/// The range of the target token rotation time: ISO 9314-2's least and greatest requested rotation
/// times.
const TTRT: std::ops::RangeInclusive<Span> =
    Span::from_milliseconds(4)..=Span::from_milliseconds(165);

fn rate(fields: &Fields<'_>, standard: BitRate) -> BitRate {
    fields.quantity_in("rate", limits::RATE).unwrap_or(standard)
}

fn velocity(fields: &Fields<'_>, standard: f64) -> f64 {
    fields.get("velocity").and_then(|item| item.number(limits::VELOCITY)).unwrap_or(standard)
}

fn station_queue(fields: &Fields<'_>) -> Discipline {
    fields.get("queue").and_then(|item| queue::discipline(&item)).unwrap_or_default()
}
