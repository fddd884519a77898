//! The share of false verdicts, and of true differences that are found, by simulation.
//!
//! A machine has noise in every cell, in every block (all its cells alike), and in every run (all
//! its blocks alike).

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
    run: f64,
}

impl Machine {
    /// Runs, all speeds times `speed`.
    fn runs(self, random: &mut Pcg64, count: usize, speed: f64) -> Group {
        let rows = rows(4);
        let one = |random: &mut Pcg64| {
            let drift = self.run * normal(random);
            let blocks = [(); BLOCKS as usize].map(|()| drift + self.block * normal(random));
            run("r", &rows, BLOCKS, |row, block| {
                row as f64 + speed.ln() + blocks[block as usize] + self.cell * normal(random)
            })
        };
        group("g", (0..count).map(|_| one(random)).collect())
    }
}

/// Blocks of a run.
const BLOCKS: u32 = 3;

/// The numbers of runs of base and of other.
#[derive(Debug, Clone, Copy)]
struct Design {
    base: usize,
    other: usize,
}

/// The number of comparisons that were faster or slower overall, and of those with any such cell.
struct Count {
    overall: u32,
    any_cell: u32,
}

fn count(what: &str, machine: Machine, design: Design, cut: f64, seed: u64) -> Count {
    let mut random = seeded(seed);
    let (trials, mut count) = (trials(), Count { overall: 0, any_cell: 0 });
    let different = |finding: Finding| matches!(finding, Finding::Faster | Finding::Slower);
    for _ in 0..trials {
        let mut runs = |number, speed| machine.runs(&mut random, number, speed);
        let (base, other) = (runs(design.base, 1.0), runs(design.other, 1.0 - cut));
        // The smallest effect that matters is zero, so chance alone decides.
        let question = Question {
            matter: Matter::new(0.0).unwrap(),
            ..question(&base, std::slice::from_ref(&other))
        };
        let found = compare(&question).others.remove(0);
        count.overall += u32::from(different(found.overall.unwrap().finding));
        count.any_cell += u32::from(found.cells.iter().any(|cell| different(cell.finding)));
    }
    println!(
        "{what}: seed {seed:#x}, {} of {trials} overall, {} with a cell",
        count.overall, count.any_cell
    );
    count
}

/// Two equal sides.
fn assert_honest(what: &str, machine: Machine, design: Design, seed: u64) {
    let found = count(what, machine, design, 0.0, seed);
    assert!(
        found.overall <= bound(),
        "{what}: {} false verdicts overall, seed {seed:#x}",
        found.overall
    );
    assert!(
        found.any_cell <= bound(),
        "{what}: {} false verdicts on cells, seed {seed:#x}",
        found.any_cell
    );
}

/// Noise of cells and blocks as a busy virtual machine has them.
const BUSY: Machine = Machine { cell: 0.05, block: 0.02, run: 0.0 };

#[test]
fn several_runs_however_much_they_drift() {
    let machine = Machine { run: 0.10, ..BUSY };
    for (base, other, seed) in [
        (2, 2, 0x0c31),
        (3, 3, 0x0c32),
        (5, 5, 0x0c33),
        (10, 3, 0x0c34),
        (3, 1, 0x0c35),
        (8, 1, 0x0c36),
    ] {
        let design = Design { base, other };
        assert_honest(&format!("{base} runs against {other}"), machine, design, seed);
    }
}

/// The share of comparisons that find a loss of five per cent.
fn power(what: &str, machine: Machine, design: Design, seed: u64) -> f64 {
    f64::from(count(what, machine, design, 0.05, seed).overall) / f64::from(trials())
}

#[test]
fn a_cut_of_five_per_cent_is_seen() {
    // An emulated path repeats within some tenths of a per cent.
    let path = Machine { cell: 0.005, block: 0.003, run: 0.003 };
    let three = Design { base: 3, other: 3 };
    let seen = power("three runs of each on an emulated path", path, three, 0x0c61);
    assert!(seen > 0.99, "{seen}");
    // Runs that drift by two per cent, 2.2 % with their blocks and cells: error 2.2 % sqrt(2/5), so
    // t = 3.7 on 8 degrees against 2.31, which is passed nine times in ten.
    let machine = Machine { cell: 0.02, block: 0.01, run: 0.02 };
    let seen = power("five runs against five", machine, Design { base: 5, other: 5 }, 0x0c62);
    assert!(seen > 0.80, "{seen}");
    let seen = power("one run against ten", machine, Design { base: 10, other: 1 }, 0x0c63);
    // Error 2.2 % sqrt(11/10), so t = 2.2 on 9 degrees against 2.26: every other time.
    assert!(seen > 0.40, "{seen}");
}
