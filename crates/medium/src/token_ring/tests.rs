use btu_network::{Service, TokenRing as Drawn};
use btu_units::{BitRate, Length, Span};
use proptest::prelude::*;

use super::*;
use crate::account::{Account, Cause};
use crate::frame::Address;
use crate::ring::testing::*;
use crate::segment::{Meter, Segment, SegmentStep, Tap};

const AROUND: u64 = 15;

/// 8 Gb/s: an octet takes a nanosecond.
const OCTET_A_NANOSECOND: BitRate = BitRate::from_megabits_per_second(8000);

fn drawn(rate: BitRate, latency: Option<u64>, service: Service) -> Drawn {
    Drawn {
        rate,
        length: Length::from_metres(1000),
        velocity: 0.7,
        station_latency_bits: 1,
        ring_latency: latency.map(Span::from_nanoseconds),
        early_release: true,
        service,
        queue: queue(65_535),
    }
}

fn ring(drawn: &Drawn, on_it: u32) -> TokenRing {
    TokenRing::new(drawn, &stations(on_it), "ring", 1)
}

/// The mean wait on a ring of `stations` with a latency of `latency` octets.
fn wait(service: Service, early_release: bool, latency: u64, traffic: Traffic, frames: u32) -> f64 {
    let drawn = Drawn { early_release, ..drawn(OCTET_A_NANOSECOND, Some(latency), service) };
    let route = Route::new(traffic.stations as usize, Span::from_nanoseconds(latency));
    let between = |from, to| route.between(from, to).nanoseconds();
    traffic.mean_wait(&mut ring(&drawn, traffic.stations), AROUND, between, frames)
}

fn within(what: &str, value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{what}: {value} instead of {expected}");
}

impl Traffic {
    /// With one frame a turn a busy ring walks a hop for each frame.
    fn walking(self, service: Service, latency: u64) -> Self {
        let hop = latency as f64 / f64::from(self.stations);
        Self { walk: if service == Service::One { hop } else { 0.0 }, ..self }
    }
}

const SERVICES: [Service; 3] = [Service::Exhaustive, Service::Gated, Service::One];

/// With each service, and so much latency in nanoseconds, frames wait as long as `expected`, in
/// units of 100 ns, within 1 %.
fn every_service_waits(traffic: Traffic, latency: u64, expected: [f64; 3]) {
    for (service, expected) in SERVICES.into_iter().zip(expected) {
        let waited =
            wait(service, true, latency, traffic.walking(service, latency), 400_000) / 100.0;
        within(&format!("{service:?}"), waited, expected, 0.01);
    }
}

/// Symmetric polling: Takagi, "Analysis of polling systems" (1986). 10 stations, frames of 100
/// units, a latency of 50, half the capacity offered. A unit is 100 ns here. Tolerance 1 %; the
/// statistical error of these runs is below 0.3 %.
#[test]
fn fixed_frames_wait_as_the_polling_formulas_say() {
    let traffic = Traffic {
        stations: 10,
        mean: 10_000.0,
        lengths: Lengths::Fixed,
        load: 0.5,
        walk: 0.0,
        seed: 1,
    };
    every_service_waits(traffic, 5_000, [97.5, 102.5, 107.895]);
}

/// Like `fixed_frames_wait_as_the_polling_formulas_say`, with exponential frames and a load of 0.8.
#[test]
fn exponential_frames_wait_as_the_polling_formulas_say() {
    let traffic = Traffic {
        stations: 10,
        mean: 10_000.0,
        lengths: Lengths::Exponential,
        load: 0.8,
        walk: 0.0,
        seed: 2,
    };
    every_service_waits(traffic, 5_000, [515.0, 535.0, 668.75]);
}

/// Like `exponential_frames_wait_as_the_polling_formulas_say`, with 50 stations, exponential frames
/// of 250, a latency of 28.5 and a load of 0.7.
#[test]
fn fifty_stations_wait_as_the_polling_formulas_say() {
    let traffic = Traffic {
        stations: 50,
        mean: 25_000.0,
        lengths: Lengths::Exponential,
        load: 0.7,
        walk: 0.0,
        seed: 3,
    };
    every_service_waits(traffic, 2_850, [630.17, 631.50, 634.88]);
}

/// 802.5 without early release: where a frame is shorter than the ring, the token is free when the
/// frame is back. So the polling formula with one frame a turn holds for frames as long as the
/// ring. 10 stations, frames of 50 units, a latency of 100; half the capacity is taken.
#[test]
fn a_short_frame_keeps_the_token_for_a_lap() {
    let (lap, load, stations) = (100.0_f64, 0.5, 10.0);
    let rate = load / lap;
    let expected = (rate * lap * lap + lap * (1.0 + load / stations))
        / (2.0 * (1.0 - load - rate * lap / stations));
    let traffic = Traffic {
        stations: 10,
        mean: 5_000.0,
        lengths: Lengths::Fixed,
        load: 0.25,
        walk: 6_000.0,
        seed: 4,
    };
    within(
        "service of a lap",
        wait(Service::One, false, 10_000, traffic, 400_000) / 100.0,
        expected,
        0.01,
    );
}

/// 16 Mb/s: an octet takes 500 ns. Four stations, 2500 ns apart.
fn four(service: Service, early_release: bool) -> TokenRing {
    ring(
        &Drawn {
            early_release,
            ..drawn(BitRate::from_megabits_per_second(16), Some(10_000), service)
        },
        4,
    )
}

fn offer(now: u64, tag: u32, length: u64, from: u32, to: u32) -> Offer {
    Offer { at: at(now), tap: Tap(from), frame: frame(tag, length, from, to) }
}

/// When a frame of 985 octets (1000 on the ring, 500 us) is due, from the time of its beginning and
/// the distance.
const FRAME: u64 = 985;
const TIME: u64 = 500_000;

#[test]
fn a_lone_frame_waits_for_the_token_and_takes_its_bits_and_its_way() {
    // The token is at station 1 at 2500 ns; from there to station 3 are 5000 ns.
    let journey = drive(&mut four(Service::Exhaustive, true), &[offer(100, 7, FRAME, 1, 3)]);
    assert_eq!(journey.deliveries, [(Tap(3), 7, at(2_500 + TIME + 5_000))]);
}

#[test]
fn a_token_that_just_passed_comes_back_after_a_lap() {
    let journey = drive(&mut four(Service::Exhaustive, true), &[offer(2_500, 7, FRAME, 1, 0)]);
    assert_eq!(journey.deliveries, [(Tap(0), 7, at(12_500 + TIME + 7_500))]);
}

#[test]
fn an_idle_ring_sleeps_and_its_token_goes_on() {
    let mut ring = four(Service::One, true);
    assert_eq!(ring.poll(at(5)), SegmentStep::Idle);
    // After 1000 laps and a half the token is at station 2 and has not reached station 3.
    let journey = drive(&mut ring, &[offer(10_005_000, 1, FRAME, 3, 2)]);
    assert_eq!(journey.deliveries, [(Tap(2), 1, at(10_007_500 + TIME + 7_500))]);
}

/// Frames of station 1 to station 2 at time 0 and when the first is half through: when they begin.
fn begins(service: Service, early_release: bool, lengths: &[u64]) -> Vec<u64> {
    let mut script: Vec<_> =
        (0..).zip(lengths).map(|(tag, &length)| offer(0, tag, length, 1, 2)).collect();
    script.push(offer(300_000, 99, FRAME, 1, 2));
    let journey = drive(&mut four(service, early_release), &script);
    let length = |tag: u32| lengths.get(tag as usize).copied().unwrap_or(FRAME);
    let begin = |&(_, tag, due): &(Tap, u32, Time)| {
        due.nanoseconds() - 2_500 - (length(tag) + AROUND) * 500
    };
    journey.deliveries.iter().map(begin).collect()
}

#[test]
fn services_keep_the_token_as_they_say() {
    let lap = 10_000;
    let turns = |begins: &[u64]| begins.iter().map(|begin| begin - 2_500).collect::<Vec<_>>();
    assert_eq!(turns(&begins(Service::Exhaustive, true, &[FRAME; 2])), [0, TIME, 2 * TIME]);
    assert_eq!(turns(&begins(Service::Gated, true, &[FRAME; 2])), [0, TIME, 2 * TIME + lap]);
    assert_eq!(turns(&begins(Service::One, true, &[FRAME; 2])), [0, TIME + lap, 2 * (TIME + lap)]);
    let for_two = Service::HoldingTime(Span::from_nanoseconds(2 * TIME + 499_999));
    assert_eq!(turns(&begins(for_two, true, &[FRAME; 2])), [0, TIME, 2 * TIME + lap]);
}

#[test]
fn without_early_release_a_short_frame_holds_the_token_until_it_is_back() {
    // Three octets, 9000 ns with what is around them: shorter than the lap of 10 000 ns.
    assert_eq!(begins(Service::One, true, &[3; 2])[1], 2_500 + 9_000 + 10_000);
    assert_eq!(begins(Service::One, false, &[3; 2])[1], 2_500 + 10_000 + 10_000);
    // A long frame is back before it ends.
    assert_eq!(begins(Service::One, false, &[FRAME; 2])[1], 2_500 + TIME + 10_000);
}

#[test]
fn what_never_fits_the_holding_time_is_too_long() {
    let mut ring = four(Service::HoldingTime(Span::from_nanoseconds(TIME)), true);
    let journey = drive(&mut ring, &[offer(0, 0, FRAME, 1, 2), offer(0, 1, FRAME + 1, 1, 2)]);
    assert_eq!((journey.deliveries.len(), journey.drops), (1, vec![(1, Cause::TooLong)]));
}

#[test]
fn a_broadcast_reaches_everybody_as_it_passes() {
    let mut broadcast = offer(0, 0, FRAME, 2, 0);
    broadcast.frame.destination = Address::BROADCAST;
    let mut ring = four(Service::One, true);
    let due = |hops: u64| at(5_000 + TIME + 2_500 * hops);
    assert_eq!(
        drive(&mut ring, &[broadcast]).deliveries,
        [(Tap(3), 0, due(1)), (Tap(0), 0, due(2)), (Tap(1), 0, due(3))]
    );
    assert_eq!((ring.account().duplicated, ring.account().delivered), (2, 3));
}

#[test]
fn a_frame_for_nobody_takes_its_time_and_is_dropped() {
    let mut ring = four(Service::One, true);
    let journey = drive(&mut ring, &[offer(0, 0, FRAME, 1, 77)]);
    assert_eq!(journey.drops, [(0, Cause::NoRoute)]);
    assert_eq!((ring.meter().frames, ring.meter().overhead), (0, Span::from_nanoseconds(TIME)));
}

#[test]
fn the_queue_does_not_count_the_frame_in_transmission() {
    let drawn = Drawn {
        queue: queue(1),
        ..drawn(BitRate::from_megabits_per_second(16), Some(10_000), Service::One)
    };
    let script =
        [(0, 0), (1, 1), (2_501, 2), (2_502, 3)].map(|(now, tag)| offer(now, tag, FRAME, 1, 2));
    let journey = drive(&mut ring(&drawn, 4), &script);
    assert_eq!(journey.drops, [(1, Cause::QueueFull), (3, Cause::QueueFull)]);
}

#[test]
fn the_meter_tells_data_from_overhead_and_both_from_walking() {
    let mut ring = four(Service::One, true);
    drive(&mut ring, &[offer(0, 0, FRAME, 1, 2), offer(0, 1, FRAME, 2, 3)]);
    let octets = |octets: u64| Span::from_nanoseconds(octets * 500);
    let meter = ring.meter();
    assert_eq!(
        (meter.frames, meter.data, meter.overhead),
        (2, octets(2 * (FRAME + 4)), octets(2 * 11))
    );
    ring.reset();
    assert_eq!(
        (ring.meter(), ring.account()),
        (Meter { lines: 1, ..Meter::default() }, Account::default())
    );
}

#[test]
fn a_ring_has_room_for_its_token() {
    let ring = drawn(BitRate::from_megabits_per_second(4), Some(0), Service::One);
    assert_eq!(latency_of(&ring, 3), Span::from_microseconds(6));
    // 1000 m at 0.7 c are 4765 ns, and 250 stations add a bit each.
    let ring = Drawn { ring_latency: None, ..ring };
    assert_eq!(latency_of(&ring, 250), Span::from_nanoseconds(4_765 + 62_500));
}

#[test]
fn ten_thousand_stations_are_served_in_order() {
    let drawn = drawn(BitRate::from_megabits_per_second(16), Some(1_000_000), Service::One);
    let script: Vec<_> =
        (0..10_000).rev().step_by(7).map(|from| offer(0, from, 100, from, 0)).collect();
    let journey = drive(&mut ring(&drawn, 10_000), &script);
    assert_eq!(journey.deliveries.len(), script.len());
    assert!(journey.deliveries.is_sorted_by_key(|delivery| delivery.1));
}

proptest! {
    #[test]
    fn polls_change_nothing(
        script in script(4, 30_000),
        service in prop_oneof![
            Just(Service::Exhaustive), Just(Service::Gated), Just(Service::One),
            (1_000_000u64..4_000_000).prop_map(|most| Service::HoldingTime(Span::from_nanoseconds(most))),
        ],
        early_release: bool,
        latency in 1u64..200_000,
        queue in discipline(),
    ) {
        let rate = BitRate::from_megabits_per_second(16);
        let drawn = Drawn { early_release, queue, ..drawn(rate, Some(latency), service) };
        laziness_changes_nothing(|| Box::new(TokenRing::new(&drawn, &stations_and_a_bridge(), "ring", 1)), &script)?;
    }
}
