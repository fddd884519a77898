//! The share of false verdicts, and of true differences that are found, by simulation.
//!
//! A machine has noise in every cell and in every block (all its cells alike), and drifts from run to run. The drift
//! has memory: it is an Ornstein-Uhlenbeck process, whose values `n` runs apart have the correlation exp(-n / memory).

use rand::RngExt;
use rand_distr::Cauchy;

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

/// How the cells of a machine vary that is none with normal noise.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    /// One of two times at random, 10 % apart.
    TwoModes,
    /// Values in steps of 5 %.
    Ticks,
    Cauchy,
    /// One run in five is 50 % slower.
    SometimesSlower,
    /// Every second cell varies ten times as much.
    QuietAndNoisy,
}

impl Noise {
    const ALL: [Self; 6] = [
        Self::Normal,
        Self::TwoModes,
        Self::Ticks,
        Self::Cauchy,
        Self::SometimesSlower,
        Self::QuietAndNoisy,
    ];

    /// A value of a cell in a run, in logarithms.
    fn sample(self, random: &mut Pcg64, cell: usize) -> f64 {
        let noise = normal(random);
        match self {
            Self::Normal => 0.05 * noise,
            Self::TwoModes => f64::from(random.random_bool(0.5)) * 0.1 + 3e-4 * noise,
            Self::Ticks => ((20.0 + 0.5 * noise).round() / 20.0).ln(),
            Self::Cauchy => Cauchy::new(0.0_f64, 0.01).unwrap().sample(random).clamp(-5.0, 5.0),
            Self::SometimesSlower => 1e-3 * noise - f64::from(random.random_bool(0.2)) * 0.405,
            Self::QuietAndNoisy => [0.01, 0.1][cell % 2] * noise,
        }
    }

    /// Runs in turns with so many cells, each by itself; those of the other side have `ratio` times the speed.
    fn sides(self, random: &mut Pcg64, pairs: usize, cells: usize, ratio: f64) -> [Group; 2] {
        let names = rows(cells);
        assert_eq!(names.len(), cells);
        let mut side = |ratio: f64| {
            let mut one = || run("r", &names, 1, |cell, _| ratio.ln() + self.sample(random, cell));
            group("side", (0..pairs).map(|_| one()).collect())
        };
        let [base, other] = [side(1.0), side(ratio)];
        in_order(&turns(pairs), base, other)
    }

    /// The number of comparisons in which a cell is faster or slower, and that of those in which the first cell is.
    fn count(self, pairs: usize, cells: usize, ratio: f64, seed: u64) -> [u32; 2] {
        let mut random = seeded(seed);
        let mut found = [0, 0];
        for _ in 0..trials() {
            let [base, other] = self.sides(&mut random, pairs, cells, ratio);
            let compared = one(&base, &other).cells;
            found[0] += u32::from(compared.iter().any(|cell| cell.finding.is_difference()));
            let first = compared.iter().find(|cell| cell.row == rows(1)[0]).unwrap();
            found[1] += u32::from(first.finding.is_difference());
        }
        let [any, first] = found;
        let what = format!("{self:?}, {cells} cells, {pairs} pairs, ratio {ratio}");
        println!("{what}: seed {seed:#x}, {any} of {} with a cell, {first} the first", trials());
        found
    }
}

/// Before deviations had a least value, three pairs of 40 cells had a verdict in 72 % of comparisons with two modes, and in 56 %
/// with values in steps.
#[test]
fn false_verdicts_of_cells_whatever_their_noise() {
    let cells = |pairs: usize| if pairs < 10 { &[1, 2, 10, 40][..] } else { &[1, 2, 10] };
    let designs = [3, 5, 10]
        .into_iter()
        .flat_map(|pairs| cells(pairs).iter().map(move |&cells| (pairs, cells)));
    let designs = designs.flat_map(|design| Noise::ALL.map(|noise| (noise, design)));
    for ((noise, (pairs, cells)), seed) in designs.zip(0x0c70..) {
        let [any, _] = noise.count(pairs, cells, 1.0, seed);
        assert!(any <= bound(), "{noise:?}, {cells} cells, {pairs} pairs: {any}, seed {seed:#x}");
    }
}

/// 10 % in each of ten cells; without a least deviation the shares are 93 %, 17 %, and 100 %.
#[test]
fn a_real_difference_of_a_cell_is_seen() {
    for (noise, pairs, least, seed) in [
        (Noise::Normal, 10, 0.85, 0x0ce0),
        (Noise::Normal, 5, 0.08, 0x0ce1),
        (Noise::QuietAndNoisy, 10, 0.97, 0x0ce2),
    ] {
        let [_, first] = noise.count(pairs, 10, 0.9, seed);
        let seen = f64::from(first) / f64::from(trials());
        assert!(seen > least, "{noise:?}, {pairs} pairs: {seen}, seed {seed:#x}");
    }
}

/// What happens to one run in five of the other side happens to none of three in half of the comparisons.
#[test]
fn what_is_rare_is_in_few_pairs() {
    for (pairs, seed) in [(3, 0x0cf0), (5, 0x0cf1), (10, 0x0cf2)] {
        let mut random = seeded(seed);
        let unseen = (0..trials()).filter(|_| {
            let steady = (0..pairs).map(|_| run("r", &rows(1), 1, |_, _| 0.0)).collect();
            let [_, other] = Noise::SometimesSlower.sides(&mut random, pairs, 1, 1.0);
            let [base, other] = in_order(&turns(pairs), group("base", steady), other);
            one(&base, &other).cells[0].finding == Finding::NoDifferenceSeen
        });
        let (unseen, trials) = (unseen.count() as f64, f64::from(trials()));
        let share = 0.8_f64.powf(pairs as f64);
        println!("{pairs} pairs: seed {seed:#x}, {unseen} of {trials} see none of it");
        let error = (share * (1.0 - share) / trials).sqrt();
        assert!((unseen / trials - share).abs() < 4.0 * error, "{pairs} pairs: {unseen}");
    }
}
