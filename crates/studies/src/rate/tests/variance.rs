//! The spread of drawn runs with known components.

use btu_units::Span;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use btu_contract::record::Outcome;

use super::{VOLUME, context, network_cell};
use crate::rate::record::CellRecord;
use crate::rate::row::Row;
use crate::rate::{Context, Variance, judge};

/// Standard deviations of the draws: of blocks, of repetitions, and of one hundredth of a cell's
/// time.
#[derive(Clone, Copy)]
struct Drawn {
    blocks: f64,
    repetitions: f64,
    pieces: f64,
}

const PIECES: usize = 100;

fn normal(random: &mut Pcg64, deviation: f64) -> f64 {
    Normal::new(0.0, deviation).unwrap().sample(random)
}

/// The progress of a receiver with goodput that varies from one hundredth of its bytes to the next,
/// and its time.
fn progress(random: &mut Pcg64, seconds: f64, deviation: f64) -> Vec<(u64, u64)> {
    let (mut at, piece) = (0.0, VOLUME.count() / PIECES as u64);
    // The logarithm's deviation that gives a factor this relative deviation.
    let logarithm = (1.0 + deviation * deviation).ln().sqrt();
    (1..=PIECES as u64)
        .map(|done| {
            at += seconds / PIECES as f64 * normal(random, logarithm).exp();
            ((at * 1e9) as u64, done * piece)
        })
        .collect()
}

fn cell(random: &mut Pcg64, row: Row, block: u32, seconds: f64, pieces: f64) -> CellRecord {
    let points = progress(random, seconds, pieces);
    let end = points[PIECES - 1].0;
    let mut record = network_cell(row, block, VOLUME, end as f64 * 1e-9, None);
    for placed in &mut record.reports {
        if let Ok(report) = &mut placed.result
            && let Outcome::Received(received) = &mut report.outcome
        {
            received.progress.clone_from(&points);
            received.last_byte = Span::from_nanoseconds(end);
        }
    }
    record
}

/// A run of `blocks`.
fn run(context: &Context, random: &mut Pcg64, blocks: u32, drawn: Drawn) -> Vec<CellRecord> {
    let mut records = Vec::new();
    let rows: Vec<Row> =
        context.plan.rows().into_iter().filter(|row| matches!(row, Row::Network { .. })).collect();
    for block in 0..blocks {
        let of_block = normal(random, drawn.blocks);
        for (&row, position) in rows.iter().zip(0..) {
            let own = normal(random, drawn.repetitions);
            let mut record = cell(random, row, block, (-of_block - own).exp(), drawn.pieces);
            record.position = position;
            records.push(record);
        }
    }
    records
}

fn explained(drawn: Drawn, blocks: u32, seed: u64) -> Variance {
    let (context, mut random) = (context(), Pcg64::seed_from_u64(seed));
    let records = run(&context, &mut random, blocks, drawn);
    judge(&records, &context).variance.unwrap()
}

/// 120 rows in 20 blocks. The part of the blocks has 19 degrees of freedom: a standard error of 1 /
/// sqrt(2 x 19) = 16 % of the deviation, and the tolerance is three of them, 0.49. The two others
/// have more than 2000: 1.6 %, and half of that again for the correlation of a cell's batches; the
/// tolerance is 10 %. A hundredth of the time that varies by 0.5 makes cells vary by 0.05.
#[test]
fn known_components_are_found() {
    let drawn = Drawn { blocks: 0.03, repetitions: 0.06, pieces: 0.5 };
    let found = explained(drawn, 20, 0x00d1);
    let near = |found: f64, expected: f64, tolerance: f64| {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
    };
    // A rating over 120 rows in 20 blocks: the blocks' common part remains, of the rest a
    // hundredth.
    near(found.between_blocks, 0.03 / 20_f64.sqrt(), 0.49);
    near(found.between_repetitions, 0.06 / 2400_f64.sqrt(), 0.10);
    near(found.within_cells, 0.05 / 2400_f64.sqrt(), 0.10);
    assert!(found.advice().contains("drifts"), "{}", found.advice());
}

/// The estimate of an absent component is zero within the errors of 120 rows in 20 blocks: in
/// variance 1 / sqrt(2400 / 2) = 2.9 % of the total, for blocks that over 120 rows.
#[test]
fn what_has_no_part_gets_none() {
    let quiet = Drawn { blocks: 0.0, repetitions: 0.0, pieces: 0.5 };
    let found = explained(quiet, 20, 0x00d2);
    let blocks = 0.05 * (3.0 * 0.33 / 120.0_f64).sqrt() / 20_f64.sqrt();
    assert!(found.between_blocks < blocks, "{found:?}");
    let repetitions = 0.05 * (3.0 * 0.029_f64).sqrt() / 2400_f64.sqrt();
    assert!(found.between_repetitions < repetitions, "{found:?}");
    assert!(found.advice().contains("within cells"), "{}", found.advice());
    let steady = Drawn { blocks: 0.0, repetitions: 0.1, pieces: 1e-9 };
    let found = explained(steady, 5, 0x00d3);
    assert!(found.within_cells < 1e-3 / 600_f64.sqrt(), "{found:?}");
}

#[test]
fn what_was_not_repeated_has_no_spread() {
    let context = context();
    let mut random = Pcg64::seed_from_u64(0x00d6);
    let once = run(&context, &mut random, 1, Drawn { blocks: 0.1, repetitions: 0.1, pieces: 0.1 });
    assert_eq!(judge(&once, &context).variance, None);
}
