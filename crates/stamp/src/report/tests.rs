use btu_units::Span;
use proptest::prelude::*;

use super::*;
use crate::ledger::sequence;
use crate::packet::ReflectorPacket;
use crate::time::Timestamp;

const PACKETS: u32 = 10;

/// The far clock is a day ahead.
const AHEAD: Span = Span::from_seconds(86_400);

fn near(number: u32) -> Time {
    Time::from_nanoseconds(5_000_000_000 + 100_000_000 * u64::from(number))
}

/// All packets sent.
fn sent() -> Ledger {
    let mut ledger = Ledger::new(PACKETS);
    for number in (0..PACKETS).map(sequence) {
        let stamp = Timestamp::of_wall(near(number));
        ledger.note_sent(number, SentPacket { at: near(number), stamp });
    }
    ledger
}

/// An answer with this number: so long there, 1 ms at the reflector, so long back.
fn answer(ledger: &mut Ledger, number: u32, reflectors: u32, ways_ms: [u64; 2]) {
    answer_by(AHEAD, ledger, number, reflectors, ways_ms);
}

/// The same, with a far clock that is so much ahead.
fn answer_by(ahead: Span, ledger: &mut Ledger, number: u32, reflectors: u32, ways_ms: [u64; 2]) {
    let [there, back] = ways_ms.map(Span::from_milliseconds);
    let received = near(number) + ahead + there;
    let packet = ReflectorPacket {
        sequence: reflectors,
        sent: Timestamp::of_wall(received + Span::from_milliseconds(1)),
        error: ErrorEstimate::of_clock(None),
        session: 1,
        received: Timestamp::of_wall(received),
        sender_sequence: number,
        sender_sent: Timestamp::of_wall(near(number)),
        sender_error: ErrorEstimate::of_clock(None),
        sender_ttl: Some(60),
    };
    let arrived = near(number) + there + Span::from_milliseconds(1) + back;
    ledger.take(&packet.encode(), arrived);
}

fn report(ledger: &Ledger) -> StampReport {
    let report = StampReport::of(ledger, 0, ErrorEstimate::of_clock(None));
    crate::fuzz::check(&report);
    report
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 2e-9
}

#[test]
fn losses_have_their_direction() {
    // 0 2 3 4 5 6 7 8 9 10 were sent; 3 and 4 are lost there, 6 is lost back, and of 9 and 10 no number tells.
    let mut ledger = sent();
    for (number, reflectors) in [(0, 0), (2, 1), (5, 2), (7, 4), (8, 5)] {
        answer(&mut ledger, number, reflectors, [10, 10]);
    }
    let report = report(&ledger);
    assert_eq!(report.losses, Losses::ByDirection { there: 2, back: 1, unknown: 2 });
    assert_eq!((report.counts.sent, report.counts.answered), (10, 5));
    assert_eq!(report.ttl, Some([60, 60]));
}

#[test]
fn a_reflector_that_copies_numbers_tells_no_direction() {
    let mut ledger = sent();
    for number in [0, 2, 3, 6, 7] {
        answer(&mut ledger, number, number, [10, 10]);
    }
    assert_eq!(report(&ledger).losses, Losses::Copied { lost: 5 });
}

#[test]
fn numbers_that_do_not_count_tell_no_direction() {
    let mut ledger = sent();
    for number in [0, 2, 3, 6] {
        answer(&mut ledger, number, 100 + number, [10, 10]);
    }
    assert_eq!(report(&ledger).losses, Losses::Inconsistent { lost: 6 });
    // A reflector that was started again begins anew.
    let mut ledger = sent();
    for (number, reflectors) in [(0, 0), (2, 1), (3, 2), (4, 0), (5, 1)] {
        answer(&mut ledger, number, reflectors, [10, 10]);
    }
    assert_eq!(report(&ledger).losses, Losses::Inconsistent { lost: 5 });
}

#[test]
fn copies_and_overtaking_are_counted_and_are_no_losses() {
    let mut ledger = sent();
    answer(&mut ledger, 0, 0, [10, 10]);
    answer(&mut ledger, 2, 1, [10, 10]);
    answer(&mut ledger, 2, 2, [10, 12]);
    answer(&mut ledger, 4, 3, [10, 10]);
    answer(&mut ledger, 3, 4, [210, 10]);
    answer(&mut ledger, 3, 4, [210, 11]);
    let report = report(&ledger);
    assert_eq!((report.counts.duplicates, report.counts.reordered), (2, 1));
    assert_eq!(report.losses, Losses::ByDirection { there: 0, back: 0, unknown: 6 });
}

#[test]
fn round_trips_leave_out_the_reflectors_time_and_variations_its_clock() {
    let mut ledger = sent();
    for (reflectors, (number, ways)) in (0..).zip([(0, [10, 20]), (2, [13, 20]), (3, [10, 27])]) {
        answer(&mut ledger, number, reflectors, ways);
    }
    let report = report(&ledger);
    let seconds = report.round_trips.iter().map(|one| one.seconds);
    assert!(seconds.zip([0.030, 0.033, 0.037]).all(|(found, expected)| close(found, expected)));
    assert!(report.turnaround_seconds.iter().all(|found| close(*found, 0.001)));
    let is_near = |found: &[f64], expected: [f64; 3]| {
        found.iter().zip(expected).all(|(found, expected)| close(*found, expected))
    };
    assert!(is_near(&report.variation_there_seconds, [0.0, 0.003, 0.0]), "{report:?}");
    assert!(is_near(&report.variation_back_seconds, [0.0, 0.0, 0.007]), "{report:?}");
    assert_eq!(report.one_way_seconds, None);
}

/// Half a second forward, and 30 s back: neither is delay variation, and no delay of one way is known.
#[test]
fn a_step_of_the_far_clock_is_no_delay_variation() {
    let at = |milliseconds: u64| AHEAD + Span::from_milliseconds(milliseconds);
    let mut ledger = sent();
    for (reflectors, number) in (0..PACKETS).zip((0..PACKETS).map(sequence)) {
        let ahead = match number {
            0..=3 => at(30_000),
            4..=6 => at(30_500),
            _ => at(500),
        };
        let ways = [10 + u64::from(number % 3), 20];
        answer_by(ahead, &mut ledger, number, reflectors, ways);
    }
    let report = report(&ledger);
    let steps = report.steps.iter().map(|step| (step.at_seconds, step.seconds));
    for ((at, found), (expected_at, expected)) in steps.clone().zip([(0.4, 0.5), (0.7, -30.0)]) {
        assert!((at - expected_at).abs() < 1e-6 && (found - expected).abs() < 0.002, "{report:?}");
    }
    assert_eq!(steps.count(), 2);
    let most = |variation: &[f64]| variation.iter().copied().fold(0.0, f64::max);
    assert!(close(most(&report.variation_there_seconds), 0.002), "{report:?}");
    assert!(close(most(&report.variation_back_seconds), 0.0), "{report:?}");
    assert_eq!((report.variation_there_seconds.len(), report.one_way_seconds), (10, None));
}

/// Losses are counted in the part of the measurement in which they were.
#[test]
fn the_order_of_losses_is_kept() {
    let mut ledger = sent();
    for (number, reflectors) in [(0, 0), (2, 1), (5, 2), (7, 4), (8, 5)] {
        answer(&mut ledger, number, reflectors, [10, 10]);
    }
    // 0 2 3 4 5 6 7 8 until the last answer: two lost there before the fifth, one back before the seventh.
    let [there, back] = report(&ledger).lost_batches;
    assert_eq!((there, back), (vec![0, 0, 0, 0, 2, 0, 0, 0], vec![0, 0, 0, 0, 0, 0, 1, 0]));
    let mut ledger = sent();
    for number in [0, 2, 3, 6, 7] {
        answer(&mut ledger, number, number, [10, 10]);
    }
    assert_eq!(report(&ledger).lost_batches, [vec![0, 0, 0, 1, 1, 0, 0, 1, 1, 1], vec![]]);
}

#[test]
fn times_that_cannot_be_have_no_round_trip() {
    let mut ledger = sent();
    answer(&mut ledger, 0, 0, [10, 10]);
    let mut packet = ledger.answers[0].expect("an answer").packet;
    (packet.sender_sequence, packet.sequence) = (2, 1);
    packet.sender_sent = Timestamp::of_wall(near(2));
    (packet.sent, packet.received) = (packet.received, packet.sent);
    ledger.take(&packet.encode(), near(2) + Span::from_milliseconds(5));
    let report = report(&ledger);
    assert_eq!((report.impossible, report.round_trips.len()), (1, 1));
}

#[test]
fn strangers_are_counted_and_change_nothing() {
    let mut ledger = sent();
    ledger.take(&[], near(9));
    ledger.take(&[0; 44], near(9));
    ledger.take(&[255; 1500], near(9));
    // A packet that was never sent.
    answer(&mut ledger, 1, 0, [10, 10]);
    let report = report(&ledger);
    assert_eq!((report.counts.strange, report.counts.answered), (4, 0));
    assert_eq!(report.losses, Losses::ByDirection { there: 0, back: 0, unknown: 10 });
}

proptest! {
    /// Whatever is lost on either way, a reflector with state tells it, apart from the end.
    #[test]
    fn every_loss_is_found(fates in prop::collection::vec(0u8..4, PACKETS as usize)) {
        let mut ledger = sent();
        let (mut reached, mut answered, mut there, mut back) = (0, 0, 0, 0);
        let (mut last, mut told) = (0, (0, 0, 0));
        for (place, fate) in (0..).zip(&fates) {
            match fate {
                0 => there += 1,
                1 => { back += 1; reached += 1 }
                _ => {
                    answer(&mut ledger, sequence(place), reached, [10, 10]);
                    reached += 1;
                    answered += 1;
                    (last, told) = (place + 1, (there, back, answered));
                }
            }
        }
        let (there, back, answered) = told;
        let unknown = u64::from(PACKETS - last);
        let losses = report(&ledger).losses;
        prop_assert_eq!(losses.all(), there + back + unknown);
        prop_assert_eq!(ledger.answered, answered);
        prop_assert_eq!(losses, Losses::ByDirection { there, back, unknown });
    }

    #[test]
    fn any_datagrams_are_survived(octets in prop::collection::vec(any::<u8>(), 0..500)) {
        crate::fuzz::sender_packet(&octets);
        crate::fuzz::reflector_packet(&octets);
    }
}

/// Packets that overtake each other arrive before or after a step whatever the order in which they were sent.
#[test]
fn packets_next_to_a_step_are_no_delay_variation() {
    const LONGEST: f64 = 0.02;
    let packet = |number: u32| {
        let (at, jitter) = (f64::from(number) * 0.01, f64::from(number * 7 % 11) * LONGEST / 10.0);
        let set = if at + jitter >= 1.5 { -30.0 } else { 0.0 };
        Ways { at, there: jitter + set, back: -set }
    };
    let ways: Vec<Ways> = (0..300).map(packet).collect();
    let starts: Vec<usize> = steps(&ways).into_iter().map(|(start, _)| start).collect();
    let there = variation(&ways, &starts, |one| one.there);
    assert!(!starts.is_empty() && there.len() > 280, "{starts:?}, {}", there.len());
    assert!(there.iter().all(|above| *above <= LONGEST + 1e-9), "{there:?}");
}
