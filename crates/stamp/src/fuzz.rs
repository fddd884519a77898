//! Entry points for fuzzers. They must return for whatever a peer sends.

use std::net::SocketAddr;

use btu_units::{Span, Time};

use crate::ledger::{Ledger, SentPacket, sequence};
use crate::packet::{BASE_OCTETS, ReflectorPacket, SenderPacket};
use crate::reflector::Answers;
use crate::report::StampReport;
use crate::socket::Arrival;
use crate::time::{ErrorEstimate, Timestamp};

/// A datagram that a reflector gets.
pub fn sender_packet(octets: &[u8]) {
    if let Some(packet) = SenderPacket::decode(octets) {
        assert_eq!(SenderPacket::decode(&packet.encode()), Some(packet));
    }
    let from = SocketAddr::from(([192, 0, 2, 1], 4711));
    let now = Time::from_nanoseconds(1 << 60);
    let arrival =
        Arrival { octets: octets.len(), from: Some(from), wall: now, monotonic: now, ttl: None };
    let mut answer = octets.to_vec();
    let is_answered = Answers::new(1).write(&mut answer, from, &arrival).is_some();
    assert!(!is_answered || octets.len() >= BASE_OCTETS);
    if let Some(behind) = octets.get(BASE_OCTETS..) {
        assert_eq!(answer[BASE_OCTETS..], *behind);
    }
}

/// Datagrams that a sender gets, 44 octets each: as they come, and with the numbers and times that were
/// sent.
pub fn reflector_packet(octets: &[u8]) {
    const PACKETS: u32 = 20;
    let mut ledger = Ledger::new(PACKETS);
    let at = |place: u32| {
        Time::ZERO + Span::from_seconds(1_000_000) + Span::from_milliseconds(u64::from(place))
    };
    for number in (0..PACKETS).map(sequence) {
        let stamp = Timestamp::of_wall(at(number));
        ledger.note_sent(number, SentPacket { at: at(number), stamp });
    }
    for (place, octets) in (0..).zip(octets.chunks(BASE_OCTETS)) {
        ledger.take(octets, at(place));
        if let Some(packet) = ReflectorPacket::decode(octets) {
            let sender_sequence = packet.sender_sequence % (PACKETS + 2);
            let sender_sent = Timestamp::of_wall(at(sender_sequence));
            let likely = ReflectorPacket { sender_sequence, sender_sent, ..packet };
            ledger.take(&likely.encode(), at(place));
        }
    }
    check(&StampReport::of(&ledger, 0, ErrorEstimate::of_clock(None)));
}

/// The accounts of any answers balance, and every time is a number.
pub(crate) fn check(report: &StampReport) {
    let counts = report.counts;
    assert_eq!(counts.sent, counts.answered + report.losses.all(), "{report:?}");
    assert_eq!(report.round_trips.len() as u64 + report.impossible, counts.answered);
    assert!(report.round_trips.iter().all(|one| one.seconds >= 0.0 && one.seconds.is_finite()));
    let variations = report.variation_there_seconds.iter().chain(&report.variation_back_seconds);
    assert!(variations.copied().all(|seconds| seconds >= 0.0 && seconds.is_finite()));
}
