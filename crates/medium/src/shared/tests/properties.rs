//! Properties under any script, on any cable.

use std::collections::HashMap;

use btu_network::{Contention, Discipline, QueueLimit};
use btu_units::{BitRate, Bytes, Length, Span, Time};
use proptest::prelude::*;

use super::super::long::LongCable;
use super::super::mac::Mac;
use super::super::{SharedEthernet, SharedMedium, stations};
use super::drive::{drive, drive_late};
use super::*;
use crate::account::Cause;
use crate::listeners::Listeners;
use crate::segment::{Segment, Tap};
use crate::shared::timing::Timing;

const STATIONS: u32 = 6;

prop_compose! {
    /// Cables shorter and longer than what a fragment of a collision takes; rates with and without
    /// whole nanoseconds.
    fn any_cable()(
        rate in prop::sample::select(vec![3_000_000, 10_000_000, 100_000_000, 7_654_321u64]),
        bits_long in 0u64..=250,
        queue in any_queue(),
        ideal in prop::bool::weighted(0.2),
    ) -> Drawn {
        let metres = bits_long as f64 / rate as f64 * 0.77 * 299_792_458.0;
        Drawn {
            rate: BitRate::from_bits_per_second(rate),
            length: Length::from_millimetres((metres * 1e3) as u64),
            velocity: 0.77,
            contention: if ideal { Contention::Ideal } else { Contention::Standard },
            queue: if ideal { Discipline::TailDrop { limit: QueueLimit::Frames(3) } } else { queue },
        }
    }
}

/// Queues that drop at their tail, and one that drops at its head when frames have waited.
fn any_queue() -> impl Strategy<Value = Discipline> {
    (1u32..8, any::<bool>()).prop_map(|(frames, codel)| {
        let limit = QueueLimit::Frames(frames);
        let (target, interval) = (Span::from_microseconds(500), Span::from_milliseconds(2));
        if codel {
            Discipline::Codel(btu_network::Codel { limit, target, interval })
        } else {
            Discipline::TailDrop { limit }
        }
    })
}

prop_compose! {
    /// Frames at random times, often at the same; to stations, to all, and to those beyond a
    /// bridge.
    fn any_script()(steps in prop::collection::vec(
        (prop_oneof![Just(0u64), 0u64..2_000, 0u64..60_000, 0u64..1_500_000], 0..STATIONS, 0..STATIONS + 2, 64u64..1519),
        1..120)) -> Vec<(Time, Tap, Frame)> {
        let mut now = Time::ZERO;
        (0..).zip(steps).map(|(tag, (gap, from, to, octets))| {
            now += Span::from_nanoseconds(gap);
            let sent = frame(tag, from, to, octets);
            let sent = if to > STATIONS { sent.between(sent.source, Address::BROADCAST) } else { sent };
            (now, Tap(from), sent)
        }).collect()
    }
}

/// Five stations and a bridge at its end.
fn taps(drawn: &Drawn) -> Vec<(Listener, Length)> {
    let mut taps = evenly(STATIONS, drawn);
    taps[STATIONS as usize - 1].0 = Listener::Bridge;
    taps
}

proptest! {
    /// Each frame and each announced copy is delivered or dropped, once; `drive` checks accounts,
    /// due times and order.
    #[test]
    fn nothing_appears_or_vanishes(drawn in any_cable(), script in any_script(), seed in 0u64..1000) {
        let mut medium = medium(&drawn, &taps(&drawn), seed);
        let journey = drive(&mut medium, &script);
        let mut balance: HashMap<u32, i64> = HashMap::new();
        for tag in script.iter().map(|(_, _, frame)| frame.tag).chain(journey.copies.iter().copied()) {
            *balance.entry(tag).or_default() += 1;
        }
        let gone = journey.arrivals.iter().map(|arrival| arrival.2).chain(journey.drops.iter().map(|drop| drop.0));
        for tag in gone {
            *balance.entry(tag).or_default() -= 1;
        }
        prop_assert!(balance.values().all(|&frames| frames == 0), "{:?}", balance);
        prop_assert!(journey.arrivals.iter().all(|&(at, _, tag)| at > script[tag as usize].0));
        prop_assert_eq!(medium.meter().frames, medium.carried_after().iter().sum::<u64>());
    }

    /// Late polls change when an event is reported, never the event or its due time.
    #[test]
    fn lateness_changes_nothing(
        drawn in any_cable(),
        script in any_script(),
        seed in 0u64..1000,
        skips in prop::collection::vec(any::<bool>(), 1..64),
    ) {
        let mut exact_medium = medium(&drawn, &taps(&drawn), seed);
        let exact = drive(&mut exact_medium, &script);
        let mut late_medium = medium(&drawn, &taps(&drawn), seed);
        let late = drive_late(&mut late_medium, &script, |poll| skips[poll % skips.len()]);
        prop_assert_eq!(&exact.arrivals, &late.arrivals);
        let sorted = |mut drops: Vec<(u32, Cause)>| { drops.sort_unstable(); drops };
        prop_assert_eq!(sorted(exact.drops), sorted(late.drops));
        prop_assert_eq!(exact_medium.meter(), late_medium.meter());
    }

    /// On a short cable, transmissions in rounds give the results of following each signal to each
    /// station.
    #[test]
    fn rounds_are_what_each_station_hears(
        drawn in any_cable(), bits_long in 0u64..=47, script in any_script(), seed in 0u64..1000,
    ) {
        let metres = bits_long as f64 / drawn.rate.bits_per_second() as f64 * 0.77 * 299_792_458.0;
        let drawn = Drawn {
            length: Length::from_millimetres((metres * 1e3) as u64),
            contention: Contention::Standard,
            queue: Discipline::TailDrop { limit: QueueLimit::Frames(1_000_000) },
            ..drawn
        };
        let mut short = medium(&drawn, &taps(&drawn), seed);
        prop_assert!(matches!(short.0, SharedMedium::Short(_)));
        let mut long = SharedEthernet(SharedMedium::Long(Box::new(followed(&drawn, seed))));
        prop_assert_eq!(drive(&mut short, &script), drive(&mut long, &script));
        prop_assert_eq!(short.meter(), long.meter());
        prop_assert_eq!(short.carried_after(), long.carried_after());
    }

    /// New accounts at any moment still balance, and frames that were inside are carried over.
    #[test]
    fn accounts_opened_under_way_balance(drawn in any_cable(), script in any_script(), opened in 0usize..120) {
        let mut medium = medium(&drawn, &taps(&drawn), SEED);
        for (n, &(now, tap, frame)) in script.iter().enumerate() {
            medium.accept(tap, frame, now);
            if n == opened {
                let held = medium.account().held;
                medium.reset();
                prop_assert_eq!(medium.account().received, held);
                prop_assert_eq!(medium.meter().frames, 0);
            }
            prop_assert!(medium.account().is_balanced());
        }
        drive(&mut medium, &[]);
    }
}

/// The medium that follows each signal, whatever the cable's length.
fn followed(drawn: &Drawn, seed: u64) -> Mac<LongCable> {
    let timing = Timing::new(drawn.rate);
    let taps = taps(drawn);
    let listeners: Vec<Listener> = taps.iter().map(|tap| tap.0).collect();
    let cable = LongCable::new(drawn.length.propagation(drawn.velocity), timing);
    Mac::new(
        cable,
        timing,
        stations(drawn, &taps, "lan", seed).unwrap(),
        Listeners::new(&listeners),
    )
}

#[test]
fn everybody_but_the_sender_hears_a_broadcast() {
    let drawn = cable(10, 500);
    let mut medium = medium(&drawn, &evenly(5, &drawn), SEED);
    let sent = frame(7, 2, 0, 64).between(Address::of_station(2), Address::BROADCAST);
    let journey = drive(&mut medium, &[(Time::ZERO, Tap(2), sent)]);
    let mut taps: Vec<u32> = journey.arrivals.iter().map(|arrival| arrival.1.0).collect();
    taps.sort_unstable();
    assert_eq!((taps, journey.copies), (vec![0, 1, 3, 4], vec![7; 3]));
}

#[test]
fn what_nobody_takes_up_is_dropped_after_it_was_carried() {
    let drawn = cable(10, 500);
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    let journey = drive(&mut medium, &[(Time::ZERO, Tap(0), frame(7, 0, 5, 64))]);
    assert_eq!((journey.drops, medium.meter().frames), (vec![(7, Cause::NoRoute)], 1));
}

#[test]
fn the_queue_does_not_count_the_frame_whose_turn_it_is() {
    let drawn =
        Drawn { queue: Discipline::TailDrop { limit: QueueLimit::Frames(2) }, ..cable(10, 500) };
    for contention in [Contention::Standard, Contention::Ideal] {
        let drawn = Drawn { contention, ..drawn.clone() };
        let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
        let script: Vec<_> =
            (0..5).map(|tag| (Time::ZERO, Tap(0), frame(tag, 0, 1, 1000))).collect();
        let journey = drive(&mut medium, &script);
        assert_eq!(journey.drops, [(3, Cause::QueueFull), (4, Cause::QueueFull)]);
    }
}

#[test]
fn a_queue_in_octets_counts_octets() {
    let limit = QueueLimit::Bytes(Bytes::new(2000));
    let drawn = Drawn { queue: Discipline::TailDrop { limit }, ..cable(10, 500) };
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    let script: Vec<_> = (0..4).map(|tag| (Time::ZERO, Tap(0), frame(tag, 0, 1, 1004))).collect();
    assert_eq!(drive(&mut medium, &script).drops, [(3, Cause::QueueFull)]);
}

#[test]
fn what_cannot_work_is_refused_with_what_to_do() {
    let new = |drawn: &Drawn, place| {
        let tap = (Listener::Bridge, Length::from_metres(place));
        SharedEthernet::new(drawn, &[tap], "lan", SEED).unwrap_err().to_string()
    };
    let too_long = new(&cable(100, 700), 0);
    assert!(
        too_long.contains("\"lan\"")
            && too_long.contains("6.06 us")
            && too_long.contains("shorten"),
        "{too_long}"
    );
    assert!(
        SharedEthernet::new(&cable(1000, 400), &[], "lan", SEED).is_ok(),
        "a gigabit's slot is longer"
    );
    let outside = new(&cable(10, 500), 600);
    assert!(outside.contains("tap 0 is 600 m") && outside.contains("500 m"), "{outside}");
    let queue = Discipline::Codel(btu_network::Codel {
        limit: QueueLimit::Suited,
        target: Span::from_milliseconds(5),
        interval: Span::from_milliseconds(100),
    });
    assert!(
        new(&Drawn { queue, contention: Contention::Ideal, ..cable(10, 500) }, 0)
            .contains("tail-drop")
    );
}
