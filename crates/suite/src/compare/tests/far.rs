//! Comparisons of ratings with cells whose processors were far from each other, or slow: what that cost is
//! taken out, and its error is in the interval.
//!
//! The spreads are those of decision 0021: cells of a row differ by 0.28 (as logarithms), large
//! messages lose 0.26 to far processors and others 0.05; and of decision 0029: arithmetic takes twice as long on a slow
//! processor, and goodput falls by 0.44 % for each per cent. Blocks and runs drift as the interval
//! assumes, a run as much as the mean of a block over the compared rows, so that the interval from
//! blocks is exact and not only safe.

use btu_units::{Bytes, Span};

use super::*;
use crate::record::ProcessorReadings;
use crate::verdict::{EarlierRuns, KnownCosts, PlacedReading, run_of};

const CELL: f64 = 0.28;
const BLOCK: f64 = 0.02;

/// As earlier runs know it: less than a tenth of a run's cells may be near.
const NEAR_LATENCY: Span = Span::from_nanoseconds(60);

/// Arithmetic at full speed.
const QUICK: Span = Span::from_microseconds(28);

/// The logarithm of goodput for one of the time that arithmetic takes.
const SLOWED_BY: f64 = -0.44;

/// Trials of a coverage test: the standard error of a true 95 % is 0.69 %, so 93..97 % is three of
/// them.
const TRIALS: u32 = 1000;

/// A machine that is compared with itself or with one of another speed.
#[derive(Debug, Clone, Copy)]
struct Machine {
    /// Message sizes, of the largest first.
    sizes: usize,
    blocks: u32,
    /// The least and the largest share of far cells in a block.
    far: [f64; 2],
    /// The least and the largest share of slow processors in a block; far ones are slow more often, by half of
    /// what is left.
    slow: [f64; 2],
}

/// Every rated component with these sizes, alone and under cpu load.
fn rated(sizes: usize) -> Vec<Row> {
    let row = |load| {
        move |component| {
            let messages = MESSAGE_SIZES.iter().rev().take(sizes);
            messages.map(move |&message| Row::Network { component, message, load })
        }
    };
    let all = [Load::Idle, Load::Cpu].map(|load| Component::RATED.into_iter().flat_map(row(load)));
    all.into_iter().flatten().collect()
}

/// What a far cell of a row loses.
fn loss(row: Row) -> f64 {
    let is_large = matches!(row, Row::Network { message, .. } if message == Bytes::new(65_536));
    if is_large { 0.26 } else { 0.05 }
}

/// The time for arithmetic of a cell, the mean of two processors before and after it, each slow with this
/// probability; and its slowness.
fn arithmetic(random: &mut Pcg64, slow: f64) -> (Span, f64) {
    let slow = (0..4).filter(|_| slow > 0.0 && random.random_bool(slow)).count();
    let ratio = 1.0 + slow as f64 / 4.0;
    (Span::from_nanoseconds((QUICK.nanoseconds() as f64 * ratio) as u64), ratio.ln())
}

impl Machine {
    /// Rows under a load decide the overall ratio.
    fn compared_rows(self) -> usize {
        rated(self.sizes).len() / 2
    }

    /// The cells of a run with all speeds times `speed`.
    fn cells(self, random: &mut Pcg64, speed: f64) -> Vec<PlacedReading> {
        let of_block = (BLOCK.powi(2) + CELL.powi(2) / self.compared_rows() as f64).sqrt();
        let drift = of_block * normal(random);
        let mut cells = Vec::new();
        for block in 0..self.blocks {
            let far = random.random_range(self.far[0]..self.far[1]);
            let slow = if self.slow[1] > 0.0 {
                random.random_range(self.slow[0]..self.slow[1])
            } else {
                0.0
            };
            let drift = drift + BLOCK * normal(random);
            for row in rated(self.sizes) {
                let is_far = random.random_bool(far);
                let lost = if is_far { loss(row) } else { 0.0 };
                let core_to_core = Some(NEAR_LATENCY * if is_far { 5 } else { 1 });
                let more = if is_far && slow > 0.0 { (1.0 - slow) / 2.0 } else { 0.0 };
                let (arithmetic, slowness) = arithmetic(random, slow + more);
                let lost = lost - SLOWED_BY * slowness;
                let log = speed.ln() + 18.0 + drift - lost + CELL * normal(random);
                let reading = Reading { row, block, per_second: log.exp() };
                let processors = ProcessorReadings { core_to_core, arithmetic: Some(arithmetic) };
                cells.push((reading, processors));
            }
        }
        PlacedReading::in_order(&cells)
    }

    fn run(self, random: &mut Pcg64, speed: f64) -> Run {
        let known = EarlierRuns { near: Some(NEAR_LATENCY), ..EarlierRuns::default() };
        run_of("r".to_owned(), &self.cells(random, speed), &known)
    }

    /// A run that knows what earlier ones of this machine tell.
    fn run_knowing(self, costs: &KnownCosts, random: &mut Pcg64) -> Run {
        let (near, costs) = (Some(NEAR_LATENCY), costs.clone());
        let known = EarlierRuns { near, costs, ..EarlierRuns::default() };
        run_of("r".to_owned(), &self.cells(random, 1.0), &known)
    }

    /// What so many runs under these conditions tell.
    fn known(self, runs: usize, random: &mut Pcg64) -> KnownCosts {
        let runs: Vec<_> = (0..runs).map(|_| self.cells(random, 1.0)).collect();
        KnownCosts::of(&runs, Some(NEAR_LATENCY))
    }
}

/// The same machine with its cells as measured.
fn as_measured(cells: &[PlacedReading]) -> Run {
    let readings = cells.iter().map(|cell| cell.reading).collect();
    Run { name: "r".to_owned(), readings, ..Run::default() }
}

/// What comparisons of runs from `sides` (base, other, history) found: the share of intervals that
/// hold the true ratio, of overall verdicts that are false if the ratio is 1, and of comparisons with
/// any such verdict on a cell.
struct Shares {
    covered: f64,
    different: f64,
    any_cell: f64,
}

fn shares(
    what: &str,
    seed: u64,
    truth: f64,
    mut sides: impl FnMut(&mut Pcg64) -> [Vec<Run>; 3],
) -> Shares {
    let mut random = seeded(seed);
    let [mut covered, mut different, mut any_cell] = [0_u32; 3];
    let is_different = |finding: Finding| matches!(finding, Finding::Faster | Finding::Slower);
    for _ in 0..TRIALS {
        let [base, other, history] = sides(&mut random).map(|runs| group("g", runs));
        let history = [history];
        let question = Question {
            matter: Matter::new(0.0).unwrap(),
            ..question(&base, std::slice::from_ref(&other), &history)
        };
        let found = compare(&question).others.remove(0);
        let overall = found.overall.unwrap();
        covered += u32::from(overall.ratio.interval.unwrap().contains(truth));
        different += u32::from(is_different(overall.finding));
        any_cell += u32::from(found.cells.iter().any(|cell| is_different(cell.finding)));
    }
    println!(
        "{what}: seed {seed:#x}, of {TRIALS}: {covered} hold the ratio, {different} verdicts overall, {any_cell} with \
         one on a cell"
    );
    let [covered, different, any_cell] =
        [covered, different, any_cell].map(|count| f64::from(count) / f64::from(TRIALS));
    Shares { covered, different, any_cell }
}

/// Intervals hold what they say; equal sides differ in at most 7 of 100 comparisons, and on any cell
/// in at most 5 and four standard errors.
fn assert_honest(what: &str, shares: &Shares) {
    let Shares { covered, different, any_cell } = shares;
    assert!((0.93..=0.97).contains(covered), "{what}: {covered} covered");
    assert!(*different <= 0.07, "{what}: {different} false verdicts");
    assert!(*any_cell <= 0.07, "{what}: {any_cell} with a false verdict on a cell");
}

/// Blocks with few far cells and with many.
const MIXED: Machine = Machine { sizes: 3, blocks: 5, far: [0.05, 0.95], slow: [0.0, 0.0] };

/// Large messages, mostly far: the error of the cost is a quarter of the variance. With fewer blocks or near
/// cells some runs could not tell the cost (a weight below 4), and would be as measured.
const MOSTLY_FAR: Machine = Machine { sizes: 1, blocks: 8, far: [0.75, 0.95], slow: [0.0, 0.0] };

const NEAR: Machine = Machine { sizes: 1, blocks: 8, far: [0.0, 1e-9], slow: [0.0, 0.0] };

/// Near and slow at times, as in most runs, and as in the slowest one.
const SLOW_AT_TIMES: Machine = Machine { sizes: 5, blocks: 8, far: [0.0, 1e-9], slow: [0.02, 0.3] };
const OFTEN_SLOW: Machine = Machine { sizes: 5, blocks: 8, far: [0.0, 1e-9], slow: [0.3, 0.6] };

/// Both, and not independent of each other.
const MIXED_AND_SLOW: Machine =
    Machine { sizes: 5, blocks: 8, far: [0.05, 0.95], slow: [0.02, 0.6] };

#[test]
fn intervals_of_equal_machines_hold_one() {
    for (what, machine, seed) in [
        ("mixed", MIXED, 0x0f01),
        ("mostly far", MOSTLY_FAR, 0x0f02),
        ("slow at times", SLOW_AT_TIMES, 0x0f03),
        ("often slow", OFTEN_SLOW, 0x0f04),
        ("mixed and slow", MIXED_AND_SLOW, 0x0f05),
    ] {
        let found = shares(what, seed, 1.0, |random| {
            [vec![machine.run(random, 1.0)], vec![machine.run(random, 1.0)], vec![]]
        });
        assert_honest(what, &found);
    }
}

/// A run with near processors only, against one that was mostly far.
#[test]
fn intervals_of_near_against_far_runs_hold_one() {
    let found = shares("near against mostly far", 0x0f11, 1.0, |random| {
        [vec![NEAR.run(random, 1.0)], vec![MOSTLY_FAR.run(random, 1.0)], vec![]]
    });
    assert_honest("near against mostly far", &found);
}

/// Runs that cannot tell what their far cells lost, as earlier ones have told it: nothing in them is near.
#[test]
fn intervals_of_wholly_far_runs_hold_one() {
    let wholly = Machine { far: [1.0 - 1e-9, 1.0], ..MIXED };
    for (earlier, seed) in [(3, 0x0f14), (10, 0x0f15)] {
        let what = format!("near against wholly far after {earlier}");
        let near = Machine { far: [0.0, 1e-9], ..MIXED };
        let found = shares(&what, seed, 1.0, |random| {
            let known = MIXED.known(earlier, random);
            [vec![near.run(random, 1.0)], vec![wholly.run_knowing(&known, random)], vec![]]
        });
        // Intervals allow for runs that lose more or less than others, and here all lose the same.
        assert!((0.93..=0.99).contains(&found.covered), "{what}: {}", found.covered);
        assert!(found.different <= 0.07 && found.any_cell <= 0.07, "{what}");
    }
}

/// A run that was slow at times, against one that was often slow, and against one with far processors as well.
#[test]
fn intervals_of_quick_against_slow_runs_hold_one() {
    for (what, seed, other) in [
        ("against often slow", 0x0f12, OFTEN_SLOW),
        ("against mixed and slow", 0x0f13, MIXED_AND_SLOW),
    ] {
        let found = shares(what, seed, 1.0, |random| {
            [vec![SLOW_AT_TIMES.run(random, 1.0)], vec![other.run(random, 1.0)], vec![]]
        });
        assert_honest(what, &found);
    }
}

/// The same, after runs of the machine that tell what slowness costs.
#[test]
fn intervals_of_slow_runs_after_others_hold_one() {
    for (earlier, seed) in [(3, 0x0f17), (10, 0x0f16)] {
        let what = format!("often slow after {earlier}");
        let found = shares(&what, seed, 1.0, |random| {
            let known = Machine { blocks: 5, ..MIXED_AND_SLOW }.known(earlier, random);
            let [base, other] = [SLOW_AT_TIMES, OFTEN_SLOW]
                .map(|machine| vec![machine.run_knowing(&known, random)]);
            [base, other, vec![]]
        });
        assert!((0.93..=0.99).contains(&found.covered), "{what}: {}", found.covered);
        assert!(found.different <= 0.07 && found.any_cell <= 0.07, "{what}");
    }
}

#[test]
fn intervals_of_machines_that_differ_hold_their_ratio() {
    let found = shares("a fifth slower", 0x0f21, 0.8, |random| {
        [vec![MIXED.run(random, 1.0)], vec![MIXED.run(random, 0.8)], vec![]]
    });
    assert!((0.93..=0.97).contains(&found.covered), "{}", found.covered);
}

/// The spread between runs contains the error of what was taken out as far as these runs have it:
/// near ones do not, so what the far run has more is added.
#[test]
fn intervals_from_the_spread_of_runs_hold_what_they_say() {
    for (what, seed, machines) in [
        ("three against three", 0x0f31, [MOSTLY_FAR, MOSTLY_FAR]),
        ("three near against three far", 0x0f32, [NEAR, MOSTLY_FAR]),
    ] {
        let found = shares(what, seed, 1.0, |random| {
            let [base, other] =
                machines.map(|machine| (0..3).map(|_| machine.run(random, 1.0)).collect());
            [base, other, vec![]]
        });
        // Of Student's form and Welch's, the wider is taken.
        assert!((0.93..=0.98).contains(&found.covered), "{what}: {}", found.covered);
    }
    let found = shares("five near against one far", 0x0f33, 1.0, |random| {
        let base = (0..5).map(|_| NEAR.run(random, 1.0)).collect();
        [base, vec![MOSTLY_FAR.run(random, 1.0)], vec![]]
    });
    assert_honest("five near against one far", &found);
}

/// The interval of single runs is never narrower than their own blocks allow.
#[test]
fn intervals_from_earlier_runs_hold_what_they_say() {
    for (what, seed, history) in
        [("after far runs", 0x0f41, MOSTLY_FAR), ("after near runs", 0x0f42, NEAR)]
    {
        let found = shares(what, seed, 1.0, |random| {
            let earlier = (0..5).map(|_| history.run(random, 1.0)).collect();
            [vec![MOSTLY_FAR.run(random, 1.0)], vec![MOSTLY_FAR.run(random, 1.0)], earlier]
        });
        assert!((0.93..=0.98).contains(&found.covered), "{what}: {}", found.covered);
        assert!(found.different <= 0.07 && found.any_cell <= 0.07, "{what}");
    }
}

/// The share of false verdicts on two runs of one machine under different conditions, without the correction. If these
/// tests fail, it does nothing.
fn different_as_measured(what: &str, seed: u64, conditions: [Machine; 2]) -> f64 {
    let found = shares(what, seed, 1.0, |random| {
        let [base, other] = conditions.map(|machine| as_measured(&machine.cells(random, 1.0)));
        [vec![base], vec![other], vec![]]
    });
    found.different
}

#[test]
fn as_measured_a_near_run_and_a_far_one_differ_too_often() {
    let different = different_as_measured("as measured", 0x0f51, [NEAR, MOSTLY_FAR]);
    assert!(different > 0.15, "{different}");
}

#[test]
fn as_measured_a_quick_run_and_a_slow_one_differ_too_often() {
    let different = different_as_measured("as measured, slow", 0x0f52, [SLOW_AT_TIMES, OFTEN_SLOW]);
    assert!(different > 0.1, "{different}");
}

/// By hand: two of four cells of one row are far and half as quick. Taken out, all are alike; blocks
/// differ not at all, so the interval is that of the cost's error alone.
#[test]
fn the_error_of_what_was_taken_out_is_in_the_interval() {
    let rows = rows(1);
    let mut other = run("r2", &rows, 4, |_, block| f64::from(block % 2));
    let base = run("r1", &rows, 4, |_, block| f64::from(block % 2));
    let alike = one(&group("a", vec![base.clone()]), &group("b", vec![other.clone()]), &[]);
    let cost = TakenCost::Far(crate::verdict::FarCost {
        message: Bytes::new(65_536),
        ratio: Estimate { value: 0.5, interval: None },
        earlier_runs: 0,
    });
    let error = btu_stats::LogSample::of(&[1.0, std::f64::consts::E.powi(2)]).unwrap();
    other.taken_out =
        vec![TakenOut { cost, error, exposure: [(rows[0], 0.5)].into_iter().collect() }];
    let found = one(&group("a", vec![base]), &group("b", vec![other]), &[]);
    // Blocks: variance 1/3 each, 1 + 1/4 of it for each side, 6 degrees. The error: variance 2 / 2,
    // one degree, of which half the cells have a quarter.
    let [blocks, taken] = [2.0 * (1.0 + 0.25) / 3.0, 0.25f64];
    let degrees = (blocks + taken).powi(2) / (blocks.powi(2) / 6.0 + taken * taken);
    // These would be 6.6: no more than without.
    let degrees = degrees.min(6.0);
    let (before, after) = (alike.overall.unwrap(), found.overall.unwrap());
    assert!((before.degrees_of_freedom.unwrap() - 6.0).abs() < 1e-9);
    assert!((after.degrees_of_freedom.unwrap() - degrees).abs() < 1e-9);
    let half = |degrees, variance: f64| {
        btu_stats::student_quantile(Level::P95, degrees).unwrap() * variance.sqrt()
    };
    let high = |overall: &Overall| overall.ratio.interval.unwrap().high.ln();
    assert!((high(&before) - half(6.0, blocks)).abs() < 1e-9);
    assert!((high(&after) - half(degrees, blocks + taken)).abs() < 1e-9);
    let costs = &found.side.taken_out;
    assert_eq!(
        (costs.len(), costs[0].run.as_str(), costs[0].costs[0].message.count()),
        (1, "r2", 65_536)
    );
}
