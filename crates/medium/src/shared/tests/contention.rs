//! Collisions and their consequences.

use btu_units::Time;

use super::drive::{drive, saturate};
use super::*;
use crate::account::Cause;
use crate::segment::{Segment, Tap};

const RUNS: u32 = 20_000;

/// Two stations that collide once: contention ends in round k with probability (1 - 2^-(k-1))
/// 2^-((k-1)(k-2)/2), and 1.6416326 collisions are expected, the sum of 2^-(k(k+1)/2). 20,000
/// seeds; five standard deviations either way.
#[test]
fn two_stations_end_their_contention_as_often_as_they_should() {
    let drawn = cable(10, 500);
    let taps = evenly(2, &drawn);
    let script =
        [(Time::ZERO, Tap(0), frame(0, 0, 1, 512)), (Time::ZERO, Tap(1), frame(1, 1, 0, 512))];
    let mut ended_in = [0u32; 6];
    let mut collisions = 0;
    for seed in 0..u64::from(RUNS) {
        let mut medium = medium(&drawn, &taps, seed);
        drive(&mut medium, &script);
        let round = medium.meter().collision_count + 1;
        collisions += medium.meter().collision_count;
        ended_in[(round as usize - 1).min(5)] += 1;
    }
    for (round, expected) in (1..).zip([0.0, 0.5, 0.375, 0.109_375, 0.014_648_437_5]) {
        let share = f64::from(ended_in[round - 1]) / f64::from(RUNS);
        let sigma = (expected * (1.0 - expected) / f64::from(RUNS)).sqrt();
        assert!(
            (share - expected).abs() <= 5.0 * sigma,
            "round {round}: {share}, expected {expected}"
        );
    }
    // Variance of the number of collisions, from the same distribution: 0.5388.
    let mean = collisions as f64 / f64::from(RUNS);
    assert!((mean - 1.641_632_6).abs() < 5.0 * (0.5388 / f64::from(RUNS)).sqrt(), "{mean}");
}

/// Two stations 433 ns apart that start 100 ns after each other, times computed by hand: the first
/// hears the second at 533 ns, the second hears the first at 433 ns; both complete their preambles
/// and jam. The cable's time is lost from the first bit to the last jam's end and a gap.
#[test]
fn a_collision_spoils_the_cable_until_its_gap_is_over() {
    let drawn = cable(10, 100);
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    medium.accept(Tap(0), frame(0, 0, 1, 1518), Time::ZERO);
    medium.accept(Tap(1), frame(1, 1, 0, 1518), Time::from_nanoseconds(100));
    medium.poll(Time::from_nanoseconds(10_000));
    let spoilt = Span::from_nanoseconds(100 + 6_400 + 3_200 + 9_600);
    assert_eq!((medium.meter().collisions, medium.meter().collision_count), (spoilt, 1));
}

/// By hand, on 2.5 km (10,830 ns; fragments last 9600 ns): A and B at the left end start at once
/// and are silent again at 9600 ns. C at the right end has heard nothing when it starts at 10,000
/// ns; it hears A's fragment at 10,830 ns and jams until 19,600 ns. Its fragment reaches A at
/// 20,830 ns. If neither A nor B waits, both start after their gap, at 19,200 ns, and hear each
/// other at once; if one waits a slot, the other starts alone, and C's fragment still strikes it.
/// Either way, there is a second collision before anything succeeds.
#[test]
fn a_fragment_strikes_those_who_have_already_heard_silence() {
    let drawn = cable(10, 2500);
    let mut alone = 0;
    for seed in 0..64 {
        let mut medium = medium(&drawn, &at(&[0, 0, 2500]), seed);
        let script = [
            (Time::ZERO, Tap(0), frame(0, 0, 2, 1518)),
            (Time::ZERO, Tap(1), frame(1, 1, 2, 1518)),
            (Time::from_nanoseconds(10_000), Tap(2), frame(2, 2, 0, 64)),
        ];
        for (at, tap, frame) in script {
            medium.accept(tap, frame, at);
        }
        medium.poll(Time::from_nanoseconds(19_700));
        let before = medium.meter();
        medium.poll(Time::from_nanoseconds(35_000));
        // A station that started at 19,200 ns is struck at 20,830 ns at the latest and jams until
        // 28,800 ns, gap 9600 ns.
        let more = medium.meter().collisions - before.collisions;
        alone += u32::from(more > Span::ZERO);
        if more > Span::ZERO {
            assert_eq!(
                medium.meter().collisions,
                Span::from_nanoseconds(28_800 + 9_600),
                "seed {seed}"
            );
        }
        assert_eq!(drive(&mut medium, &[]).arrivals.len(), 3, "seed {seed}");
    }
    // At least one of A and B does not wait with probability 3/4; 64 runs, five standard
    // deviations.
    assert!((31..=64).contains(&alone), "{alone} of 64");
}

/// Every frame of many stations that begin together is carried or has collided sixteen times, and
/// some have.
#[test]
fn sixteen_collisions_drop_a_frame() {
    let drawn = cable(10, 500);
    let taps = evenly(3000, &drawn);
    let mut medium = medium(&drawn, &taps, SEED);
    let script: Vec<_> =
        (0..3000).map(|n| (Time::ZERO, Tap(n), frame(n, n, (n + 1) % 3000, 1518))).collect();
    let journey = drive(&mut medium, &script);
    assert!(journey.drops.iter().all(|&(_, cause)| cause == Cause::Collisions));
    assert!(journey.drops.len() > 100, "{}", journey.drops.len());
    assert_eq!(journey.drops.len() + journey.arrivals.len(), 3000);
    assert_eq!(medium.account().dropped_for(Cause::Collisions), journey.drops.len() as u64);
    assert_eq!(medium.carried_after()[0], 0, "all began together");
}

/// After a success or a drop a station's next frame has no collisions behind it: the winner of a
/// collision has drawn from two values, the loser of its next one from four. So winners continue to
/// win (the capture effect): of two busy stations with frames of 1518 octets, the last sender also
/// sends the next frame in far more than half of all cases.
#[test]
fn a_winner_begins_anew() {
    let drawn = cable(10, 500);
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    let (mut frames, mut same, mut last) = (0, 0, 0);
    let end = Time::from_nanoseconds(10_000_000_000);
    let arrived = |sent: crate::Frame, _| {
        frames += 1;
        same += u32::from(sent.tag == last);
        last = sent.tag;
    };
    saturate(&mut medium, 2, end, |n| frame(n, n, 1 - n, 1518), arrived);
    assert!(f64::from(same) > 0.8 * f64::from(frames), "{same} of {frames}, seed {SEED}");
    let [at_once, once, ..] = medium.carried_after();
    assert!(at_once > once && once > 0, "{:?}", medium.carried_after());
}
