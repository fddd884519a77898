use btu_network::Fddi as Drawn;
use btu_units::{BitRate, Length, Span};
use proptest::prelude::*;

use super::*;
use crate::account::Cause;
use crate::ring::testing::*;
use crate::segment::{Segment, SegmentStep, Tap};

const AROUND: u64 = 22;

fn drawn(kilometres: u64) -> Drawn {
    Drawn {
        rate: BitRate::from_megabits_per_second(100),
        length: Length::from_metres(1000 * kilometres),
        // 5.085 us/km
        velocity: 1000.0 / (5.085e-6 * 299_792_458.0),
        station_latency: Span::from_microseconds(1),
        target_rotation: Span::from_milliseconds(8),
        queue: queue(65_535),
    }
}

fn ring(drawn: &Drawn, on_it: u32) -> Fddi {
    Fddi::new(drawn, &stations(on_it), "ring", 1)
}

/// The results of `active` saturated stations with frames of `size` octets on the ring.
struct Saturation {
    /// Latency and target rotation time, in nanoseconds.
    latency: u64,
    target: u64,
    /// The share of time that frames take, over one cycle in which every station has its turn.
    efficiency: f64,
    /// The longest a station waited from the end of a frame to the beginning of its next.
    longest_wait: u64,
}

fn saturation(kilometres: u64, on_it: u32, active: u32, size: u64) -> Saturation {
    let drawn = drawn(kilometres);
    let latency = (drawn.length.propagation(drawn.velocity)
        + drawn.station_latency * u64::from(on_it))
    .nanoseconds();
    let (target, time) = (drawn.target_rotation.nanoseconds(), size * 80);
    let cycle = u64::from(active) * target + latency;
    // Enough that no station ever runs out: a frame is replaced when it has been round the ring.
    let depth = (latency / time) as u32 + 3;
    let deliveries =
        saturate(&mut ring(&drawn, on_it), on_it, active, depth, size - AROUND, at(2 * cycle));
    let counted = deliveries.iter().filter(|delivery| delivery.1 > at(cycle)).count() as u64;
    let mut last = vec![None; active as usize];
    let gaps = deliveries
        .iter()
        .filter_map(|&(from, due)| Some(due.since(last[from as usize].replace(due)?)));
    let longest_wait = gaps.max().map_or(0, |gap| gap.nanoseconds() - time);
    Saturation { latency, target, efficiency: (counted * time) as f64 / cycle as f64, longest_wait }
}

/// Jain (1990): n (T - D) / (n T + D) with a target of 8 ms, fibre of 5.085 us/km and 1 us for each
/// station. Tolerance 1 %. The formula knows neither tokens' own bits nor overruns; with 1000
/// stations frames much shorter than the longest ones fall below that: a station that is early by
/// the smallest amount sends one frame, and its timer starts again.
#[test]
fn saturated_rings_are_as_efficient_as_jain_says() {
    for (kilometres, on_it, active, size, expected) in [
        (200, 1000, 1000, 4500, 0.7477),
        (200, 1000, 1, 1000, 0.5973),
        (200, 100, 100, 1000, 0.8592),
        (4, 20, 20, 1000, 0.9947),
    ] {
        let Saturation { efficiency, .. } = saturation(kilometres, on_it, active, size);
        assert!(
            (efficiency / expected - 1.0).abs() < 0.01,
            "{active} of {on_it}: {efficiency} instead of {expected}"
        );
    }
}

/// Jain's (n - 1) T + 2 D for the longest wait, where each of the n turns may overrun by a frame
/// and frees a token, and the two laps may meet a token each: Jain's formula leaves this out.
#[test]
fn no_station_waits_longer_than_jain_says() {
    for (kilometres, on_it, active, size) in [
        (200, 1000, 1, 200),
        (200, 100, 2, 200),
        (200, 100, 3, 200),
        (200, 100, 100, 200),
        (4, 20, 20, 200),
        (4, 20, 20, 4500),
    ] {
        let Saturation { latency, target, longest_wait, .. } =
            saturation(kilometres, on_it, active, size);
        let bound = u64::from(active - 1) * (target + size * 80 + 880) + 2 * (latency + 880);
        assert!(
            longest_wait <= bound,
            "{active} of {on_it}: {longest_wait} ns, more than {bound} ns"
        );
    }
}

/// Four stations, 1000 ns apart; frames take 80 ns an octet.
fn four(limit: u32, target: Span) -> Fddi {
    ring(&Drawn { queue: queue(limit), target_rotation: target, ..drawn(0) }, 4)
}

fn offer(now: u64, tag: u32, length: u64, from: u32, to: u32) -> Offer {
    Offer { at: at(now), tap: Tap(from), frame: frame(tag, length, from, to) }
}

/// 1000 octets on the ring: 80 us.
const FRAME: u64 = 978;
const TIME: u64 = 80_000;

#[test]
fn a_lone_frame_waits_for_the_token_and_takes_its_bits_and_its_way() {
    let journey = drive(&mut four(9, Span::from_milliseconds(8)), &[offer(100, 7, FRAME, 1, 3)]);
    assert_eq!(journey.deliveries, [(Tap(3), 7, at(1_000 + TIME + 2_000))]);
    // After some laps, at 4 us each.
    let journey =
        drive(&mut four(9, Span::from_milliseconds(8)), &[offer(40_000_999, 7, FRAME, 1, 3)]);
    assert_eq!(journey.deliveries, [(Tap(3), 7, at(40_001_000 + TIME + 2_000))]);
}

#[test]
fn a_new_token_takes_its_bits() {
    let script = [offer(0, 1, FRAME, 1, 2), offer(0, 2, FRAME, 2, 3)];
    let due = drive(&mut four(9, Span::from_milliseconds(8)), &script).deliveries[1].2;
    assert_eq!(due, at(1_000 + TIME + 880 + 1_000 + TIME + 1_000));
}

#[test]
fn a_frame_begun_in_time_ends_and_the_next_round_pays() {
    // The token is early by 400 - 4 us: five frames of 80 us are begun, the last one in the last 76
    // us.
    let target = Span::from_microseconds(400);
    let script: Vec<_> = (0..9).map(|tag| offer(0, tag, FRAME, 1, 2)).collect();
    let due = drive(&mut four(9, target), &script).deliveries;
    let begins: Vec<u64> =
        due.iter().map(|delivery| delivery.2.nanoseconds() - 1_000 - TIME).collect();
    assert_eq!(begins[..5], [0, 1, 2, 3, 4].map(|frame| 1_000 + frame * TIME));
    // The token is back 880 + 4000 ns after them, 4880 ns late on 400 us; a lap later it is in
    // time.
    let again = 1_000 + 5 * TIME + 880 + 2 * 4_000;
    assert_eq!(begins[5..], [0, 1, 2, 3].map(|frame| again + frame * TIME));
}

#[test]
fn a_target_that_the_ring_cannot_keep_is_raised() {
    let longest = 4_500 - 22 + 6;
    let mut ring = four(9, Span::ZERO);
    let journey = drive(
        &mut ring,
        &[offer(0, 0, longest, 1, 2), offer(0, 1, longest + 1, 1, 2), offer(0, 2, 60, 3, 0)],
    );
    assert_eq!((journey.deliveries.len(), journey.drops), (2, vec![(1, Cause::TooLong)]));
    assert_eq!(ring.poll(at(1 << 40)), SegmentStep::Idle);
}

#[test]
fn the_meter_counts_the_tokens_bits_as_overhead() {
    let mut ring = four(9, Span::from_milliseconds(8));
    drive(&mut ring, &[offer(0, 0, FRAME, 1, 2)]);
    let meter = ring.meter();
    assert_eq!(meter.data, Span::from_nanoseconds((FRAME + 4) * 80));
    assert_eq!(meter.overhead, Span::from_nanoseconds(18 * 80 + 880));
}

proptest! {
    #[test]
    fn polls_change_nothing(script in script(4, 300_000), kilometres in 0u64..300, queue in discipline()) {
        let drawn = Drawn { queue, target_rotation: Span::from_milliseconds(2), ..drawn(kilometres) };
        laziness_changes_nothing(|| Box::new(Fddi::new(&drawn, &stations_and_a_bridge(), "ring", 1)), &script)?;
    }
}
