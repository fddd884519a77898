//! The life of an impairment: applied, changed, refused, removed.

use std::time::Duration;

use btu_conditions::judge;
use btu_medium::conformance::{FULL_FRAME, SHORTEST_FRAME};
use btu_network::{Direction, Discipline, Loss, QueueLimit, Rate};
use btu_testbed::netem::{Guard, NetemError, apply, clear, probe};
use btu_units::{BitRate, Bytes, Probability, Span};
use nix::net::if_::if_nameindex;

use crate::Scenario;
use crate::bench::{SEED, delay, duration, line, median, share, steady};
use crate::pair::{FAR, NEAR, Pair, in_fresh_namespace};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("life_probe", everything_is_there),
    ("life_end", nothing_is_left_behind),
    ("life_taken", a_taken_interface_is_named),
    ("life_refused", what_is_refused_leaves_nothing),
    ("life_change", changes_take_effect),
    ("life_change_under_way", frames_under_way_keep_their_times),
    ("life_other_shape", another_chain_replaces_the_first),
    ("life_seed", the_same_seed_loses_the_same_frames),
];

const SILENCE: Duration = Duration::from_millis(400);

fn delayed(milliseconds: u64) -> Direction {
    Direction { delay: Span::from_milliseconds(milliseconds), ..line(100) }
}

fn names() -> Vec<String> {
    if_nameindex()
        .unwrap()
        .iter()
        .map(|interface| interface.name().to_string_lossy().into_owned())
        .collect()
}

/// The median delay of 50 frames, in milliseconds.
fn milliseconds(pair: &Pair) -> f64 {
    let arrivals = pair.run(&steady(50, Span::from_microseconds(500), SHORTEST_FRAME), SILENCE);
    assert_eq!(arrivals.len(), 50);
    median(arrivals.iter().map(delay)).milliseconds()
}

fn near(seen: f64, expected: f64) {
    judge!(Machine, (seen - expected).abs() < 0.3, "{seen} ms instead of {expected} ms");
}

/// A distribution's kernel has all parts.
fn everything_is_there() {
    let support = probe().unwrap();
    assert!(
        support.token_bucket && support.red && support.codel && support.fq_codel,
        "{support:?}"
    );
}

fn nothing_is_left_behind() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let before = names();
        let guard = apply(FAR, &delayed(20), SEED).unwrap();
        assert_eq!((guard.interface(), names().len()), (FAR, before.len() + 1));
        near(milliseconds(&pair), 20.0);
        drop(guard);
        assert_eq!(names(), before);
        near(milliseconds(&pair), 0.0);
        // Both ends at once, each with a device of its own.
        let both = [NEAR, FAR].map(|interface| apply(interface, &delayed(5), SEED).unwrap());
        near(milliseconds(&pair), 5.0);
        drop(both);
        assert_eq!(names(), before);
    });
}

fn a_taken_interface_is_named() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let guard = apply(FAR, &delayed(20), SEED).unwrap();
        let error = apply(FAR, &delayed(1), SEED).unwrap_err();
        assert!(
            matches!(&error, NetemError::Taken { interface, .. } if interface == FAR),
            "{error}"
        );
        near(milliseconds(&pair), 20.0);
        // This is the state after a kill: the guard does not remove the impairment.
        std::mem::forget(guard);
        assert!(clear(FAR).unwrap());
        near(milliseconds(&pair), 0.0);
        assert!(!clear(FAR).unwrap());
        drop(apply(FAR, &delayed(1), SEED).unwrap());
    });
}

fn what_is_refused_leaves_nothing() {
    in_fresh_namespace(|| {
        let _pair = Pair::new();
        let before = names();
        assert!(matches!(apply("nowhere", &delayed(1), SEED), Err(NetemError::Interface { .. })));
        let trace = Rate::Trace(btu_network::Trace { opportunities_ms: vec![1] });
        let refused = apply(FAR, &Direction { rate: trace, ..delayed(1) }, SEED);
        assert!(matches!(refused, Err(NetemError::Unsupported { .. })));
        assert_eq!(names(), before);
    });
}

fn changes_take_effect() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let mut guard = apply(FAR, &delayed(20), SEED).unwrap();
        near(milliseconds(&pair), 20.0);
        guard.change(&delayed(5)).unwrap();
        near(milliseconds(&pair), 5.0);
        let slow = Rate::Fixed(BitRate::from_megabits_per_second(1));
        guard.change(&Direction { rate: slow, ..delayed(5) }).unwrap();
        let arrivals = pair.run(&[(Span::ZERO, FULL_FRAME); 51], SILENCE);
        let expected = 50.0 * 1538.0 * 8.0 / 1e6;
        let seconds = duration(&arrivals).seconds();
        judge!(Machine, (seconds / expected - 1.0).abs() < 0.02, "{seconds} of {expected} s");
        guard.change(&Direction { loss: Loss::Random(Probability::ALWAYS), ..delayed(5) }).unwrap();
        assert_eq!(pair.run(&[(Span::ZERO, FULL_FRAME); 50], SILENCE).len(), 0);
        let accounts = guard.accounts().unwrap();
        assert_eq!(
            (accounts.received, accounts.delivered, accounts.lost, accounts.held),
            (201, 151, 50, 0)
        );
        guard.change(&delayed(5)).unwrap();
        near(milliseconds(&pair), 5.0);
    });
}

fn frames_under_way_keep_their_times() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let mut guard = apply(FAR, &delayed(200), SEED).unwrap();
        let sent = pair.send(&[(Span::ZERO, SHORTEST_FRAME); 20]);
        guard.change(&delayed(1)).unwrap();
        assert_eq!(guard.accounts().unwrap().held, 20);
        let arrivals = pair.receive(&sent, SILENCE);
        near(median(arrivals.iter().map(delay)).milliseconds(), 200.0);
        near(milliseconds(&pair), 1.0);
    });
}

fn another_chain_replaces_the_first() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let mut guard = apply(FAR, &delayed(20), SEED).unwrap();
        let octets = Discipline::TailDrop { limit: QueueLimit::Bytes(Bytes::new(100_000)) };
        for milliseconds_of_delay in [5, 10] {
            guard.change(&Direction { queue: octets, ..delayed(milliseconds_of_delay) }).unwrap();
            near(milliseconds(&pair), milliseconds_of_delay as f64);
            guard.change(&delayed(milliseconds_of_delay + 1)).unwrap();
            near(milliseconds(&pair), (milliseconds_of_delay + 1) as f64);
        }
    });
}

/// On kernels that can be seeded.
fn the_same_seed_loses_the_same_frames() {
    let lossy = Direction { loss: Loss::Random(share(0.2)), ..line(100) };
    let survivors = |seed| {
        in_fresh_namespace(|| {
            let pair = Pair::new();
            let _guard: Guard = apply(FAR, &lossy, seed).unwrap();
            let arrivals =
                pair.run(&steady(500, Span::from_microseconds(50), SHORTEST_FRAME), SILENCE);
            arrivals.iter().map(|arrival| arrival.number).collect::<Vec<_>>()
        })
    };
    let (one, again, other) = (survivors(1), survivors(1), survivors(2));
    assert_ne!(one, other);
    if probe().unwrap().seeded {
        assert_eq!(one, again);
    }
}
