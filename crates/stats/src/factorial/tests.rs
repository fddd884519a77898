use proptest::prelude::*;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use super::*;
use crate::log_sample::tests::covered;
use crate::{Bootstrap, Level, Method};

fn bootstrap() -> Bootstrap {
    Bootstrap { method: Method::Percentile, level: Level::P95, resamples: 1000, seed: 7 }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn a_full_design_has_every_combination_once() {
    let design = Factorial::full(&[2, 3]).unwrap();
    assert_eq!(design.runs(), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    assert_eq!((design.resolution(), design.aliases(&[0])), (None, Vec::new()));
    assert_eq!(Factorial::full(&[]), None);
    assert_eq!(Factorial::full(&[2, 1]), None);
    assert_eq!(Factorial::full(&[2; 17]), None);
    assert_eq!(Factorial::full(&[300, 300]), None);
}

/// Box, Hunter and Hunter 2005, section 6.2: 2^(6-1) by F = ABCDE; each interaction of three is
/// that of the other three.
#[test]
fn half_of_six_factors_has_resolution_six() {
    let design = Factorial::half(6).unwrap();
    assert_eq!((design.runs().len(), design.resolution()), (32, Some(6)));
    assert_eq!(design.aliases(&[0, 1, 2]), [[3, 4, 5]]);
    assert_eq!(design.terms(2).len(), 6 + 15);
    assert_eq!(design.terms(3).len(), 31);
    for run in design.runs() {
        let low = run.iter().filter(|level| **level == 0).count();
        assert_eq!(low % 2, 0, "{run:?}");
    }
    assert_eq!(Factorial::half(2), None);
}

/// Box, Hunter and Hunter 2005, table 6.3: 2^(7-4) by D = AB, E = AC, F = BC, G = ABC.
#[test]
fn seven_factors_in_eight_runs_are_mixed_up_with_pairs() {
    let design = Factorial::fraction(3, &[&[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]]).unwrap();
    assert_eq!((design.runs().len(), design.resolution()), (8, Some(3)));
    assert_eq!(design.aliases(&[0])[..3], [[1, 3], [2, 4], [5, 6]]);
    // Seven degrees of freedom: the factors take them all, and no pair is listed twice.
    assert_eq!(design.terms(2).len(), 7);
    for generator in [&[0][..], &[0, 0], &[0, 3]] {
        assert_eq!(Factorial::fraction(3, &[generator]), None, "{generator:?}");
    }
}

/// Jain 1991, example 18.1 to 18.3: memory and cache, three repetitions: effects 41, 21.5, 9.5, 5;
/// SSA 5547, SSB 1083, SSAB 300. Here the factors' parts are divided by what the runs' means differ
/// by, 6930, without the errors' 102.
#[test]
fn effects_of_a_textbook() {
    let design = Factorial::full(&[2, 2]).unwrap();
    // Runs of ours: (cache, memory) = (low, low), (low, high), (high, low), (high, high).
    let blocks = [[15.0, 45.0, 25.0, 75.0], [18.0, 48.0, 28.0, 75.0], [12.0, 51.0, 19.0, 81.0]]
        .map(Vec::from);
    let effects = design.effects(&blocks, 2, &bootstrap()).unwrap();
    let share = |factors: &[usize]| effects.term(factors).unwrap().share.value;
    assert!(close(effects.mean.value, 41.0) && close(effects.variance, 6930.0 / 12.0));
    assert!(close(share(&[1]), 5547.0 / 6930.0) && close(share(&[0]), 1083.0 / 6930.0));
    assert!(close(share(&[0, 1]), 300.0 / 6930.0) && effects.rest < 1e-9);
    let contrast = |factors: &[usize]| effects.term(factors).unwrap().contrast().unwrap();
    assert!(close(contrast(&[1]).value, 43.0) && close(contrast(&[0]).value, 19.0));
    assert!(close(contrast(&[0, 1]).value, 10.0));
    // The memory's effect in each block: 43.5, 38.5, 50.5 less the cache's; Student's interval of
    // their mean holds it.
    assert!(contrast(&[1]).interval.unwrap().contains(43.0));
    // Errors squared: 102 in all, of which the blocks' means (40, 42.25, 40.75) take 4 (1 + 1.5625
    // + 0.0625).
    assert!(close(effects.error_variance.unwrap(), (102.0 - 10.5) / 6.0), "{effects:?}");
}

#[test]
fn what_is_no_experiment_has_no_effects() {
    let design = Factorial::full(&[2, 2]).unwrap();
    let effects = |blocks: &[Vec<f64>]| design.effects(blocks, 2, &bootstrap());
    assert_eq!(effects(&[]), None);
    assert_eq!(effects(&[vec![1.0, 2.0, 3.0]]), None);
    assert_eq!(effects(&[vec![1.0, 2.0, 3.0, f64::NAN]]), None);
    assert_eq!(effects(&[vec![1.0; 4]]), None);
    let once = effects(&[vec![1.0, 2.0, 3.0, 5.0]]).unwrap();
    assert!(
        once.terms.iter().all(|term| term.share.interval.is_none())
            && once.error_variance.is_none()
    );
}

/// Six factors of known effects (one of them none, and one interaction), three blocks that drift,
/// errors of two kinds.
fn experiment(random: &mut Pcg64, design: &Factorial, truth: [f64; 6], pair: f64) -> Vec<Vec<f64>> {
    let error = Normal::new(0.0, 0.05).unwrap();
    let of_block = |random: &mut Pcg64| {
        let drift = error.sample(random);
        let own = truth.map(|effect| effect + error.sample(random) / 4.0);
        let value = |run: &Vec<usize>| {
            let sign = |factor: usize| if run[factor] == 0 { -1.0 } else { 1.0 };
            let main: f64 =
                own.iter().enumerate().map(|(factor, effect)| effect * sign(factor)).sum();
            3.0 + drift + main + pair * sign(0) * sign(1) + error.sample(random)
        };
        design.runs().iter().map(value).collect()
    };
    (0..3).map(|_| of_block(random)).collect()
}

#[test]
fn shares_are_covered_at_least_as_stated() {
    let truth = [1.0, 0.5, 0.25, 0.1, 0.02, 0.0];
    let whole = truth.iter().map(|effect| effect * effect).sum::<f64>() + 0.3f64.powi(2);
    // 400 draws place the end of an interval to one per cent of its coverage.
    let quick = Bootstrap { resamples: 400, ..bootstrap() };
    let design = Factorial::half(6).unwrap();
    let (mut hits, mut trials) = ([0u32; 6], 0);
    covered("shares of six factors", 0x0f01, |random| {
        let effects = design.effects(&experiment(random, &design, truth, 0.3), 1, &quick).unwrap();
        trials += 1;
        let hit = |factor: usize| {
            let share = effects.term(&[factor]).unwrap().share.interval.unwrap();
            share.contains(truth[factor].powi(2) / whole)
        };
        let found = [0, 1, 2, 3, 4, 5].map(hit);
        hits.iter_mut().zip(found).for_each(|(hits, hit)| *hits += u32::from(hit));
        found == [true; 6]
    });
    println!("{hits:?} of {trials}");
    assert!(
        hits.into_iter().all(|hits| f64::from(hits) >= 0.93 * f64::from(trials)),
        "{hits:?} of {trials}"
    );
}

/// The interval must show a wide scatter, and must not present a large share as certain.
#[test]
fn factors_are_ranked_by_what_they_do() {
    let truth = [1.0, 0.5, 0.25, 0.1, 0.0, 0.0];
    let mut random: Pcg64 = rand::SeedableRng::seed_from_u64(11);
    let design = Factorial::half(6).unwrap();
    let effects =
        design.effects(&experiment(&mut random, &design, truth, 0.0), 3, &bootstrap()).unwrap();
    let mut order: Vec<&Term> = effects.terms.iter().collect();
    order.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    assert_eq!([0, 1, 2, 3].map(|place| order[place].factors.clone()), [[0], [1], [2], [3]]);
    let first = order[0].share.interval.unwrap();
    assert!(first.width() > 0.0 && first.high < 1.0, "{first:?}");
    assert!(effects.term(&[5]).unwrap().share.interval.unwrap().contains(0.0));
    assert!(effects.noise(3).unwrap() < 0.01, "{effects:?}");
}

proptest! {
    /// Whatever the values, all shares and the rest are the whole; and a change of unit changes no
    /// share.
    #[test]
    fn shares_are_the_whole(values in prop::collection::vec(-9.0f64..9.0, 24..=24), scale in 0.1f64..10.0) {
        let design = Factorial::full(&[2, 3, 4]).unwrap();
        let quick = Bootstrap { resamples: 1, ..bootstrap() };
        for order in 1..=3 {
            let effects = design.effects(std::slice::from_ref(&values), order, &quick).unwrap();
            let all: f64 = effects.terms.iter().map(|term| term.share.value).sum();
            prop_assert!((all + effects.rest - 1.0).abs() < 1e-9);
            prop_assert!(order < 3 || effects.rest < 1e-9);
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let scaled = design.effects(&[scaled], order, &quick).unwrap();
            for (a, b) in effects.terms.iter().zip(&scaled.terms) {
                prop_assert!((a.share.value - b.share.value).abs() < 1e-9);
            }
        }
    }

    /// Factors that add up have no interaction, and every level's effect is its distance from the
    /// mean level.
    #[test]
    fn effects_that_add_up_do_not_interact(
        rows in prop::collection::vec(-9.0f64..9.0, 2..6),
        columns in prop::collection::vec(-9.0f64..9.0, 2..6),
    ) {
        let design = Factorial::full(&[rows.len(), columns.len()]).unwrap();
        let values: Vec<f64> = design.runs().iter().map(|run| rows[run[0]] + columns[run[1]]).collect();
        let Some(effects) = design.effects(&[values], 2, &bootstrap()) else { return Ok(()) };
        prop_assert!(effects.term(&[0, 1]).unwrap().share.value < 1e-9);
        let mean = rows.iter().sum::<f64>() / rows.len() as f64;
        for (effect, row) in effects.term(&[0]).unwrap().effects.iter().zip(&rows) {
            prop_assert!((effect.value.value - (row - mean)).abs() < 1e-9);
        }
    }
}
