//! Idealised contention against its closed form.

use std::f64::consts::E;

use btu_network::Contention;
use btu_units::{BitRate, Time};
use rand::RngExt;
use rand_pcg::Pcg64;

use super::drive::drive;
use super::load::{Load, delays, mean};
use super::*;
use crate::segment::{Segment, Tap};

/// Mean delay of Lam's model, all in seconds: frame time and its second moment, its Laplace
/// transform at `rate`, propagation delay. Source: Lam (1980); with this form (second moment (1 +
/// 4e) + 4e (2e - 1) of tau^2) the printed vectors below follow.
fn lam(rate: f64, time: f64, squared: f64, transform: f64, tau: f64) -> f64 {
    let first = time + tau * (1.0 + 2.0 * E);
    let second = squared
        + (4.0 * E + 2.0) * tau * time
        + (1.0 + 4.0 * E) * tau * tau
        + 4.0 * E * (2.0 * E - 1.0) * tau * tau;
    let slot = (-2.0 * rate * tau).exp();
    let empty = (1.0 - slot) * (1.0 / rate - 2.0 * tau)
        / (transform * (-rate * tau - 1.0).exp() - 1.0 + slot);
    time + tau + (2.0 * E + 1.0) * tau + rate * second / (2.0 * (1.0 - rate * first)) - empty
}

fn lam_fixed(rate: f64, time: f64, tau: f64) -> f64 {
    lam(rate, time, time * time, (-rate * time).exp(), tau)
}

fn lam_exponential(rate: f64, time: f64, tau: f64) -> f64 {
    lam(rate, time, 2.0 * time * time, 1.0 / (1.0 + rate * time), tau)
}

/// The vectors that were printed for the formula: (frames/s, frame time, propagation), in ms; D/X
/// at tau/X = .01, .005.
#[test]
fn the_formula_gives_its_printed_values() {
    let close = |value: f64, printed: f64, by: f64| {
        assert!((value - printed).abs() < by, "{value}, {printed}");
    };
    close(lam_fixed(70.0, 1.016_914e-3, 5.12e-6) * 1e3, 1.066_716, 1e-6);
    close(lam_fixed(1104.0, 0.84897e-3, 5.12e-6) * 1e3, 17.112, 3e-3);
    close(lam_fixed(500.0, 0.8e-3, 25.6e-6) * 1e3, 1.220_098, 1e-6);
    close(lam_exponential(500.0, 0.8e-3, 25.6e-6) * 1e3, 1.544_605, 1e-6);
    for (rate, printed) in [(0.1, 1.0775), (0.3, 1.2498), (0.5, 1.5879), (0.7, 2.5153)] {
        close(lam_fixed(rate, 1.0, 0.01), printed, 6e-5);
    }
    for (rate, printed) in [(0.1, 1.0665), (0.3, 1.2318), (0.5, 1.5422), (0.7, 2.3251)] {
        close(lam_fixed(rate, 1.0, 0.005), printed, 6e-5);
    }
    for (rate, printed) in [(0.1, 1.1338), (0.3, 1.4730), (0.5, 2.1310), (0.7, 3.9076)] {
        close(lam_exponential(rate, 1.0, 0.01), printed, 6e-5);
    }
}

/// A cable with this propagation delay to a nanosecond, on which an octet takes `nanoseconds`.
fn ideal(tau: Span, nanoseconds: u64) -> Drawn {
    let metres = tau.seconds() * 0.77 * 299_792_458.0;
    let drawn = Drawn {
        contention: Contention::Ideal,
        rate: BitRate::from_bits_per_second(8_000_000_000 / nanoseconds),
        length: Length::from_millimetres((metres * 1e3).round() as u64),
        ..cable(10, 0)
    };
    assert!(
        drawn.length.propagation(drawn.velocity).nanoseconds().abs_diff(tau.nanoseconds()) <= 1
    );
    drawn
}

/// Mean delay in seconds and its interval: `frames` of a mean of `octets` come at `rate`; 30
/// batches.
fn simulated(
    drawn: &Drawn,
    rate: f64,
    frames: u32,
    size: impl FnMut(&mut Pcg64) -> u64,
) -> (f64, f64) {
    let mut medium = medium(drawn, &evenly(50, drawn), SEED);
    let load = Load { rate, stations: 50, frames };
    let batches = delays(&mut medium, &load, 30, SEED, size);
    assert!(medium.account().is_balanced());
    mean(&batches)
}

fn agrees((delay, interval): (f64, f64), expected: f64, what: &str) {
    println!("{what}: {delay:.6e} +- {interval:.1e}, closed form {expected:.6e}");
    let off = (delay - expected).abs();
    assert!(
        off < (0.01 * expected).max(interval),
        "{what}: {delay} +- {interval}, expected {expected}, seed {SEED}"
    );
}

/// The laboratory of 1995: 10 Mb/s, tau 5.12 us; frames of 1271 octets (1.0168 ms) and of 1061
/// octets (0.8488 ms).
#[test]
fn fixed_sizes_wait_as_long_as_the_formula_says() {
    let tau = Span::from_nanoseconds(5120);
    let drawn = ideal(tau, 800);
    for (rate, octets, frames) in [(70.0, 1271, 300_000), (1104.0, 1061, 2_000_000)] {
        let expected = lam_fixed(rate, octets as f64 * 800e-9, tau.seconds());
        agrees(simulated(&drawn, rate, frames, |_| octets), expected, &format!("{rate} frames/s"));
    }
}

/// D/X at tau/X = .01 and .005, loads .1 to .7; X is 1 ms, 10,000 octets of 100 ns.
#[test]
fn the_normalised_table_holds() {
    for (a, row) in
        [(0.01, [1.0775, 1.2498, 1.5879, 2.5153]), (0.005, [1.0665, 1.2318, 1.5422, 2.3251])]
    {
        let drawn = ideal(Span::from_nanoseconds((1e6 * a) as u64), 100);
        for (load, expected) in [0.1, 0.3, 0.5, 0.7].into_iter().zip(row) {
            let found = simulated(&drawn, load * 1e3, 300_000, |_| 10_000);
            agrees(found, expected * 1e-3, &format!("a {a}, load {load}"));
        }
    }
}

/// Exponential sizes, mean 10,000 octets rounded up to whole ones (a bias of 0.005 %).
#[test]
fn exponential_sizes_wait_as_long_as_the_formula_says() {
    let drawn = ideal(Span::from_nanoseconds(10_000), 100);
    for (load, expected) in [0.1, 0.3, 0.5, 0.7].into_iter().zip([1.1338, 1.4730, 2.1310, 3.9076]) {
        let size = |chance: &mut Pcg64| {
            4 + (-(1.0 - chance.random::<f64>()).ln() * 10_000.0 - 4.0).max(0.0) as u64
        };
        let found = simulated(&drawn, load * 1e3, 600_000, size);
        agrees(found, expected * 1e-3, &format!("exponential, load {load}"));
    }
}

/// By hand: slots of 20 us from 0 on. One frame at 5 us waits until 20 us, takes 100 us, and is
/// over everywhere 10 us later; one more came meanwhile and is sent at once.
#[test]
fn a_lone_frame_is_sent_at_the_end_of_its_slot() {
    let drawn = ideal(Span::from_nanoseconds(10_000), 100);
    let mut medium = medium(&drawn, &evenly(2, &drawn), SEED);
    let at = |microseconds| Time::ZERO + Span::from_microseconds(microseconds);
    let script = [(at(5), Tap(0), frame(0, 0, 1, 1000)), (at(60), Tap(1), frame(1, 1, 0, 500))];
    let journey = drive(&mut medium, &script);
    assert_eq!(journey.arrivals, [(at(130), Tap(1), 0), (at(190), Tap(0), 1)]);
    assert_eq!(medium.meter().data, Span::from_microseconds(150));
}
