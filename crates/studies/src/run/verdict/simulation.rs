//! The share of false differences of two rows that take turns within blocks, by simulation.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::*;

/// Runs in one simulation.
const RUNS: u32 = 400;

/// 5 % of them and four standard deviations of the binomial distribution.
const MOST: u32 = 37;

fn normal(random: &mut Pcg64) -> f64 {
    StandardNormal.sample(random)
}

/// The finding of a run of so many blocks of two rows in random order, of which the second takes `times` the time. The
/// machine drifts from cell to cell, as an Ornstein-Uhlenbeck process with this correlation time.
fn finding(random: &mut Pcg64, blocks: u32, memory: f64, times: f64) -> Finding {
    let keeps = if memory > 0.0 { (-1.0 / memory).exp() } else { 0.0 };
    let (mut base, mut own) = (Vec::new(), Vec::new());
    let mut drift = 0.10 * normal(random);
    for block in 0..blocks {
        let first = random.random_bool(0.5);
        for is_base in [first, !first] {
            let time = (drift + 0.03 * normal(random)).exp();
            if is_base {
                base.push((block, time));
            } else {
                own.push((block, times * time));
            }
            drift = keeps * drift + (1.0 - keeps * keeps).sqrt() * 0.10 * normal(random);
        }
    }
    let ratios = worsening(&own, &base, Better::Lower);
    let speed =
        geometric_interval(&ratios.iter().map(|times| 1.0 / times).collect::<Vec<_>>(), Level::P95);
    find(&speed.unwrap(), chance(&ratios), Level::P95, Matter::DEFAULT)
}

fn differences(what: &str, seed: u64, mut finding: impl FnMut(&mut Pcg64) -> Finding) -> u32 {
    let mut random = Pcg64::seed_from_u64(seed);
    let found = (0..RUNS).filter(|_| finding(&mut random).is_difference()).count() as u32;
    println!("{what}: seed {seed:#x}, {found} of {RUNS}");
    found
}

#[test]
fn false_differences_within_a_run_whatever_the_memory_of_drift() {
    let memories = [0.0, 1.0, 3.0, 10.0, 50.0].into_iter();
    let designs = memories.flat_map(|memory| [5, 15].map(|blocks| (memory, blocks)));
    for ((memory, blocks), seed) in designs.zip(0x0d00..) {
        let what = format!("{blocks} blocks, memory of {memory} cells");
        let found = differences(&what, seed, |random| finding(random, blocks, memory, 1.0));
        assert!(found <= MOST, "{what}: {found}, seed {seed:#x}");
    }
}

#[test]
fn a_real_difference_within_a_run_is_seen() {
    let found = differences("20 % longer", 0x0d20, |random| finding(random, 5, 50.0, 1.2));
    assert!(found > 9 * RUNS / 10, "{found}");
}
