//! The rate of one station, to the nanosecond, and of a few busy ones together.

use btu_units::{BitRate, Time};

use super::drive::{drive, saturate};
use super::*;
use crate::segment::{Segment, Tap};

/// Times of the first `count` deliveries from one station that always has frames.
fn deliveries(drawn: &Drawn, size: u64, count: usize) -> Vec<Time> {
    let mut medium = medium(drawn, &evenly(2, drawn), SEED);
    let script: Vec<_> =
        (0..count as u32).map(|tag| (Time::ZERO, Tap(0), frame(tag, 0, 1, size))).collect();
    drive(&mut medium, &script).arrivals.into_iter().map(|arrival| arrival.0).collect()
}

/// Frames per second = rate / (8 (octets + 20)): 14,880.95, 2349.6 and 812.74 at 10 Mb/s for 64,
/// 512 and 1518 octets (preamble 8, gap 12; RFC 2544, appendix A, and IEEE 802.3). Exact: the n-th
/// frame ends n times that period after the first one's beginning, less the gap, and is heard one
/// propagation delay later.
#[test]
fn one_station_sends_the_most_frames_there_can_be() {
    for (size, per_second) in [(64, 14_880.95), (512, 2349.6), (1518, 812.74)] {
        let drawn = cable(10, 500);
        let period = octets(size + 20);
        assert!((1e9 / period.nanoseconds() as f64 - per_second).abs() < 0.05, "{size}");
        let propagation = drawn.length.propagation(drawn.velocity);
        for (n, at) in (1..).zip(deliveries(&drawn, size, 1000)) {
            assert_eq!(
                at,
                Time::ZERO + (period * n - octets(12)) + propagation,
                "{size} octets, frame {n}"
            );
        }
    }
}

/// 3 Mb/s, the first Ethernet, where a bit is a third of a microsecond: 30,000 frames of 672 bits
/// take 6.72 s.
#[test]
fn fractions_of_nanoseconds_do_not_add_up() {
    let drawn = Drawn { rate: BitRate::from_megabits_per_second(3), ..cable(3, 0) };
    let last = deliveries(&drawn, 64, 30_000).pop().unwrap();
    let gap = Span::from_nanoseconds(32_000);
    assert_eq!(last, Time::ZERO + (Span::from_milliseconds(6720) - gap));
}

/// No other station sends: delay = preamble + frame + propagation, for every sender and receiver.
#[test]
fn a_lone_frame_takes_its_bits_and_its_way() {
    let drawn = cable(10, 1000);
    let taps = at(&[0, 100, 1000]);
    for (from, to, propagation) in [(0, 1, 433), (1, 0, 433), (0, 2, 4332), (2, 1, 4332 - 433)] {
        let mut medium = medium(&drawn, &taps, SEED);
        let sent = Time::from_nanoseconds(12_345);
        let arrivals = drive(&mut medium, &[(sent, Tap(from), frame(0, from, to, 1000))]).arrivals;
        assert_eq!(
            arrivals,
            [(sent + octets(1008) + Span::from_nanoseconds(propagation), Tap(to), 0)]
        );
        let meter = medium.meter();
        assert_eq!((meter.data, meter.overhead, meter.frames), (octets(1000), octets(20), 1));
        assert_eq!((meter.collisions, meter.collision_count, meter.lines), (Span::ZERO, 0, 1));
    }
}

/// Padding counts as overhead, not as data.
#[test]
fn a_short_frame_is_padded_to_64_octets() {
    let drawn = cable(10, 0);
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    let arrivals = drive(&mut medium, &[(Time::ZERO, Tap(0), frame(0, 0, 1, 50))]).arrivals;
    assert_eq!(arrivals[0].0, Time::ZERO + octets(72));
    assert_eq!((medium.meter().data, medium.meter().overhead), (octets(50), octets(34)));
}

/// Mb/s of MAC frames at 1, 2 and 5 busy hosts and 64, 512, 1024 and 1518 octets, on 914 m of cable
/// at 0.77 c with four clusters in the middles of its quarters and no time lost in hosts. Source:
/// an independent simulator written in C for this table, 200 s. Tolerance 1 %; twenty seconds here
/// are within 0.1 %.
#[test]
fn a_few_busy_stations_share_what_the_reference_says() {
    let table = [
        (1, [7.619, 9.624, 9.808, 9.870]),
        (2, [7.593, 9.592, 9.776, 9.838]),
        (5, [7.511, 9.497, 9.687, 9.755]),
    ];
    let drawn = cable(10, 914);
    let clusters: Vec<_> =
        (0..5).map(|n| Length::from_millimetres(914_000 * (2 * (n % 4) + 1) / 8)).collect();
    let taps: Vec<_> = (0..)
        .zip(clusters)
        .map(|(n, place)| (Listener::Station(Address::of_station(n)), place))
        .collect();
    for (hosts, row) in table {
        for (size, expected) in [64, 512, 1024, 1518].into_iter().zip(row) {
            let mut medium = medium(&drawn, &taps, SEED);
            let mut frames = 0;
            let end = Time::from_nanoseconds(20_000_000_000);
            saturate(
                &mut medium,
                hosts,
                end,
                |host| frame(host, host, (host + 1) % 5, size),
                |_, _| frames += 1,
            );
            let megabits = (frames * size * 8) as f64 / 20e6;
            let off = megabits / expected - 1.0;
            assert!(
                off.abs() < 0.01,
                "{hosts} hosts, {size} octets: {megabits:.3}, expected {expected}, seed {SEED}"
            );
        }
    }
}
