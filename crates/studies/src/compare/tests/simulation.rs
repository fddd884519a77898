//! The share of false verdicts, and of true differences that are found, by simulation.
//!
//! A machine has noise in every cell and in every block (all its cells alike), and drifts from run to run. The drift
//! has memory: it is an Ornstein-Uhlenbeck process, whose values `n` runs apart have the correlation exp(-n / memory).

use super::*;

/// Comparisons in one simulation: few enough for every test run; `BTU_TRIALS=10000` is more exact.
fn trials() -> u32 {
    let asked = std::env::var("BTU_TRIALS").ok();
    asked.map_or(400, |trials| trials.parse().expect("BTU_TRIALS is a number"))
}

/// The most false verdicts: the stated 5 % and four standard deviations of the binomial
/// distribution.
fn bound() -> u32 {
    let expected = f64::from(trials()) * 0.05;
    (expected + 4.0 * (expected * 0.95).sqrt()) as u32
}

/// The variation of a machine: standard deviations in logarithms.
#[derive(Debug, Clone, Copy)]
struct Machine {
    cell: f64,
    block: f64,
    drift: f64,
    /// The correlation time of the drift in runs; with 0 runs drift each for itself.
    memory: f64,
}

/// Blocks of a run.
const BLOCKS: u32 = 3;

impl Machine {
    /// Runs one after the other in this order; those of the other side have `ratio` times the speed.
    fn sides(self, random: &mut Pcg64, order: &str, ratio: f64) -> [Group; 2] {
        let keeps = if self.memory > 0.0 { (-1.0 / self.memory).exp() } else { 0.0 };
        let mut drift = self.drift * normal(random);
        let [mut base, mut other] = [Vec::new(), Vec::new()];
        for side in order.chars() {
            let speed = if side == 'o' { ratio.ln() } else { 0.0 };
            let run = self.run(random, drift + speed);
            if side == 'o' {
                other.push(run);
            } else {
                base.push(run);
            }
            drift = keeps * drift + (1.0 - keeps * keeps).sqrt() * self.drift * normal(random);
        }
        in_order(order, group("base", base), group("other", other))
    }

    fn run(self, random: &mut Pcg64, level: f64) -> RunReadings {
        let blocks = [(); BLOCKS as usize].map(|()| level + self.block * normal(random));
        run("r", &rows(4), BLOCKS, |row, block| {
            row as f64 + blocks[block as usize] + self.cell * normal(random)
        })
    }
}

/// The number of comparisons that were faster or slower overall, and of those with any such cell.
struct Count {
    overall: u32,
    any_cell: u32,
}

fn count(what: &str, machine: Machine, order: &str, ratio: f64, seed: u64) -> Count {
    let mut random = seeded(seed);
    let (trials, mut count) = (trials(), Count { overall: 0, any_cell: 0 });
    for _ in 0..trials {
        let [base, other] = machine.sides(&mut random, order, ratio);
        // The smallest effect that matters is zero, so chance alone decides.
        let question = Question {
            matter: Matter::new(0.0).unwrap(),
            ..question(&base, std::slice::from_ref(&other))
        };
        let found = compare(&question).others.remove(0);
        count.overall += u32::from(found.overall.unwrap().finding.is_difference());
        count.any_cell += u32::from(found.cells.iter().any(|cell| cell.finding.is_difference()));
    }
    println!(
        "{what}: seed {seed:#x}, {} of {trials} overall, {} with a cell",
        count.overall, count.any_cell
    );
    count
}

/// So many runs of each side in turns.
fn turns(pairs: usize) -> String {
    "bo".repeat(pairs)
}

/// Noise of cells and blocks, and drift, as a busy virtual machine has them; the memory of the drift in runs.
const BUSY: Machine = Machine { cell: 0.05, block: 0.02, drift: 0.10, memory: 0.0 };
const MEMORIES: [f64; 5] = [0.0, 1.0, 3.0, 10.0, 50.0];

#[test]
fn false_verdicts_in_turns_whatever_the_memory_of_drift() {
    let designs = [3, 5, 10].into_iter().flat_map(|pairs| MEMORIES.map(|memory| (pairs, memory)));
    for ((pairs, memory), seed) in designs.zip(0x0c30..) {
        let what = format!("{pairs} and {pairs} in turns, memory of {memory} runs");
        let found = count(&what, Machine { memory, ..BUSY }, &turns(pairs), 1.0, seed);
        assert!(found.overall <= bound(), "{what}: {} overall, seed {seed:#x}", found.overall);
        assert!(
            found.any_cell <= bound(),
            "{what}: {} with a cell, seed {seed:#x}",
            found.any_cell
        );
    }
}

/// A machine that gets faster from run to run, by as much as its runs differ.
#[test]
fn false_verdicts_under_a_steady_trend() {
    for (pairs, seed) in [(3, 0x0c4a), (5, 0x0c4b), (10, 0x0c4c)] {
        let mut random = seeded(seed);
        let false_verdicts = (0..trials()).filter(|_| {
            let level = |place: usize| 0.03 * place as f64;
            let runs: Vec<RunReadings> =
                (0..2 * pairs).map(|place| BUSY.run(&mut random, level(place))).collect();
            let side = |first: usize| runs[first..].iter().step_by(2).cloned().collect();
            let [base, other] =
                in_order(&turns(pairs), group("base", side(0)), group("other", side(1)));
            one(&base, &other).overall.unwrap().finding.is_difference()
        });
        let found = false_verdicts.count();
        println!("{pairs} pairs under a trend: seed {seed:#x}, {found} of {} overall", trials());
        assert!(found <= bound() as usize, "{pairs} pairs: {found}, seed {seed:#x}");
    }
}

/// Sessions of several runs are pairs like single ones.
#[test]
fn false_verdicts_of_sessions_in_turns() {
    for (memory, seed) in MEMORIES.into_iter().zip(0x0c50..) {
        let what = format!("five sessions of three runs each, memory of {memory} runs");
        let found = count(&what, Machine { memory, ..BUSY }, &"bbbooo".repeat(5), 1.0, seed);
        assert!(found.overall <= bound(), "{what}: {} overall, seed {seed:#x}", found.overall);
    }
}

/// More runs do not help: of ten and ten, half of such comparisons had a verdict before.
#[test]
fn no_verdict_of_one_sitting_against_another() {
    for runs in [1, 3, 10] {
        let order = "b".repeat(runs) + &"o".repeat(runs);
        let found = count(&order, Machine { memory: 10.0, ..BUSY }, &order, 0.5, 0x0c58);
        assert_eq!((found.overall, found.any_cell), (0, 0), "{order}");
    }
}

/// The share of comparisons in turns that find a difference.
fn power(what: &str, machine: Machine, pairs: usize, ratio: f64, seed: u64) -> f64 {
    f64::from(count(what, machine, &turns(pairs), ratio, seed).overall) / f64::from(trials())
}

#[test]
fn a_real_difference_is_seen_in_turns() {
    // An emulated path repeats within some tenths of a per cent.
    let path = Machine { cell: 0.005, block: 0.003, drift: 0.003, memory: 0.0 };
    let seen = power("a cut of 5 %, three pairs on an emulated path", path, 3, 0.95, 0x0c61);
    assert!(seen > 0.99, "{seen}");
    // A drift of ten per cent with a memory of ten runs: neighbours differ by 4.4 %, and a difference of ten by
    // t = 10 / (4.9 / sqrt(5)) = 4.5 on four degrees, against 2.78.
    let drifting = Machine { memory: 10.0, cell: 0.02, ..BUSY };
    for (pairs, least, seed) in [(3, 0.3, 0x0c62), (5, 0.8, 0x0c63), (10, 0.99, 0x0c64)] {
        let what = format!("10 % slower, {pairs} pairs, memory of ten runs");
        let seen = power(&what, drifting, pairs, 0.9, seed);
        assert!(seen > least, "{what}: {seen}");
    }
}
