//! The life of an impairment: applied, changed, refused, removed.

use std::time::Duration;

use btu_conditions::judge;
use btu_medium::conformance::{FULL_FRAME, SHORTEST_FRAME};
use btu_testbed::netem::{Guard, NetemError, apply, clear};
use btu_units::{Probability, Span};
use nix::net::if_::if_nameindex;

use crate::Scenario;
use crate::bench::{SEED, delay, median, share, steady, within};
use crate::driver::is_seeded;
use crate::pair::{FAR, NEAR, Pair, in_fresh_namespace};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("life_end", nothing_is_left_behind),
    ("life_taken", a_taken_interface_is_named),
    ("life_refused", what_is_refused_leaves_nothing),
    ("life_change", changes_take_effect),
    ("life_change_under_way", frames_under_way_keep_their_times),
    ("life_seed", the_same_seed_loses_the_same_frames),
];

const SILENCE: Duration = Duration::from_millis(400);

/// Delays what comes in at an interface.
fn delayed(interface: &str, milliseconds: u64) -> Result<Guard, NetemError> {
    apply(interface, Span::from_milliseconds(milliseconds), Probability::NEVER, SEED)
}

fn change(guard: &mut Guard, milliseconds: u64, loss: Probability) {
    guard.change(Span::from_milliseconds(milliseconds), loss).unwrap();
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

fn nothing_is_left_behind() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let before = names();
        let guard = delayed(FAR, 20).unwrap();
        assert_eq!((guard.interface(), names().len()), (FAR, before.len() + 1));
        near(milliseconds(&pair), 20.0);
        drop(guard);
        assert_eq!(names(), before);
        near(milliseconds(&pair), 0.0);
        // Both ends at once, each with a device of its own.
        let both = [NEAR, FAR].map(|interface| delayed(interface, 5).unwrap());
        near(milliseconds(&pair), 5.0);
        drop(both);
        assert_eq!(names(), before);
    });
}

fn a_taken_interface_is_named() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let guard = delayed(FAR, 20).unwrap();
        let error = delayed(FAR, 1).unwrap_err();
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
        drop(delayed(FAR, 1).unwrap());
    });
}

fn what_is_refused_leaves_nothing() {
    in_fresh_namespace(|| {
        let _pair = Pair::new();
        let before = names();
        assert!(matches!(delayed("nowhere", 1), Err(NetemError::Interface { .. })));
        assert_eq!(names(), before);
    });
}

fn changes_take_effect() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let mut guard = delayed(FAR, 20).unwrap();
        near(milliseconds(&pair), 20.0);
        change(&mut guard, 5, Probability::NEVER);
        near(milliseconds(&pair), 5.0);
        change(&mut guard, 5, Probability::ALWAYS);
        assert_eq!(pair.run(&[(Span::ZERO, FULL_FRAME); 50], SILENCE).len(), 0);
        change(&mut guard, 5, Probability::NEVER);
        near(milliseconds(&pair), 5.0);
    });
}

fn frames_under_way_keep_their_times() {
    in_fresh_namespace(|| {
        let pair = Pair::new();
        let mut guard = delayed(FAR, 200).unwrap();
        let sent = pair.send(&[(Span::ZERO, SHORTEST_FRAME); 20]);
        change(&mut guard, 1, Probability::NEVER);
        let arrivals = pair.receive(&sent, SILENCE);
        assert_eq!(arrivals.len(), 20);
        near(median(arrivals.iter().map(delay)).milliseconds(), 200.0);
        near(milliseconds(&pair), 1.0);
    });
}

/// A loss is binomial, and on kernels that can be seeded the same seed loses the same frames.
fn the_same_seed_loses_the_same_frames() {
    let survivors = |seed| {
        in_fresh_namespace(|| {
            let pair = Pair::new();
            let _guard = apply(FAR, Span::ZERO, share(0.2), seed).unwrap();
            let arrivals =
                pair.run(&steady(500, Span::from_microseconds(50), SHORTEST_FRAME), SILENCE);
            let numbers = arrivals.iter().map(|arrival| arrival.number).collect::<Vec<_>>();
            (numbers, is_seeded(FAR))
        })
    };
    let ((one, seeded), (again, _), (other, _)) = (survivors(1), survivors(1), survivors(2));
    let lost = 500.0 - one.len() as f64;
    within("lost", lost, 100.0, 80f64.sqrt());
    assert_ne!(one, other);
    if seeded {
        assert_eq!(one, again);
    }
}
