//! One number for many rows that are each measured once in a block, with an interval from the blocks.

use crate::interval::{Estimate, Level};
use crate::log_sample::geometric_interval;
use crate::means::geometric_mean;

/// Two blocks give no useful interval: Student's t has one degree of freedom then, and the interval is
/// thirteen times the deviation of their mean.
const FEWEST_BLOCKS: usize = 3;

/// A block with a smaller share of the rows has no rating: the noise of its few rows would count as
/// the difference of a block.
const LEAST_SHARE: f64 = 0.5;

/// Sweeps over the table, and the change that ends them. Their error shrinks by a factor that is
/// smaller the fewer gaps there are.
const MOST_SWEEPS: usize = 200;
const SMALL_CHANGE: f64 = 1e-12;

/// The geometric mean over rows, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverBlocks {
    /// The geometric mean over rows of each row's geometric mean over its blocks; the interval comes from the
    /// spread of whole blocks and is absent below three of them.
    pub estimate: Estimate,
    /// The number of blocks that the interval compares: those with at least half of the rows.
    pub blocks: usize,
}

/// One number for `table`, a line of block values for each row, positive or missing; rows without a value do not
/// count. `None` if no row has one.
///
/// Rows are fixed, not a sample of rows. What varies is the block: the mean over rows of a block contains
/// whatever its rows have in common, such as a machine that drifts, and what is each row's own. Where blocks
/// drift each for itself, these means are independent values of one normal distribution however far they drift,
/// and Student's interval over them holds what it says. A drift that lasts for several blocks makes it too narrow.
pub fn over_blocks(table: &[Vec<Option<f64>>], level: Level) -> Option<OverBlocks> {
    let row =
        |row: &Vec<Option<f64>>| geometric_mean(&row.iter().copied().flatten().collect::<Vec<_>>());
    let value = geometric_mean(&table.iter().filter_map(row).collect::<Vec<_>>())?;
    let blocks = block_ratings(table);
    let interval = (blocks.len() >= FEWEST_BLOCKS).then(|| {
        let over = geometric_interval(&blocks, level)?;
        // Values of a block that is left out count in the value and not in its interval.
        Some(over.interval?.map(|end| end * (value / over.value)))
    });
    Some(OverBlocks {
        estimate: Estimate { value, interval: interval.flatten() },
        blocks: blocks.len(),
    })
}

/// The geometric mean over all rows for each block of `table` that holds at least half of the rows;
/// `table` has a line of block values for each row, positive or missing. Where a block lacks rows,
/// they are those of the additive model of rows and blocks that fits the logarithms best by least
/// squares (Searle, Linear Models for Unbalanced Data, 1987, 4.4). Without gaps it is the geometric
/// mean of the block's values.
fn block_ratings(table: &[Vec<Option<f64>>]) -> Vec<f64> {
    let kept = kept_blocks(table);
    let logarithms: Vec<Vec<Option<f64>>> = table
        .iter()
        .map(|row| kept.iter().map(|&block| row[block].map(f64::ln)).collect())
        .collect();
    let mut blocks = vec![0.0; kept.len()];
    let mut rows = row_levels(&logarithms, &blocks);
    for _ in 0..MOST_SWEEPS {
        let next = block_levels(&logarithms, &rows);
        let change = next.iter().zip(&blocks).map(|(new, old)| (new - old).abs());
        let change = change.fold(0.0, f64::max);
        blocks = next;
        rows = row_levels(&logarithms, &blocks);
        if change < SMALL_CHANGE {
            break;
        }
    }
    let Some(mean) = mean(rows.into_iter().flatten()) else { return Vec::new() };
    blocks.into_iter().map(|block| (mean + block).exp()).collect()
}

fn kept_blocks(table: &[Vec<Option<f64>>]) -> Vec<usize> {
    let blocks = table.iter().map(Vec::len).min().unwrap_or(0);
    let measured = table.iter().filter(|row| row.iter().any(Option::is_some)).count();
    let least = LEAST_SHARE * measured as f64;
    let held = |block: usize| table.iter().filter(|row| row[block].is_some()).count() as f64;
    (0..blocks).filter(|&block| held(block) >= least.max(1.0)).collect()
}

/// The mean of each row without its blocks' parts; `None` for a row that no block holds.
fn row_levels(table: &[Vec<Option<f64>>], blocks: &[f64]) -> Vec<Option<f64>> {
    let level = |row: &Vec<Option<f64>>| {
        mean(row.iter().zip(blocks).filter_map(|(value, block)| Some((*value)? - block)))
    };
    table.iter().map(level).collect()
}

/// The mean of each block without its rows' levels.
fn block_levels(table: &[Vec<Option<f64>>], rows: &[Option<f64>]) -> Vec<f64> {
    let blocks = table.first().map_or(0, Vec::len);
    let level = |block: usize| {
        let own = table.iter().zip(rows);
        mean(own.filter_map(|(row, level)| Some(row[block]? - (*level)?))).unwrap_or(0.0)
    };
    (0..blocks).map(level).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::{coverage, covered, log_normal};
    use proptest::prelude::*;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    /// Six rows in `blocks` blocks, each slowed or sped up as a whole by a spread of `drift`; of the last block only
    /// so many rows are there.
    fn drawn(
        random: &mut Pcg64,
        blocks: usize,
        drift: f64,
        rows_of_last: usize,
    ) -> Vec<Vec<Option<f64>>> {
        let speeds = log_normal(random, 1.0, drift, blocks);
        let centres = [1.0, 10.0, 100.0].into_iter().cycle().take(6).enumerate();
        centres
            .map(|(row, centre)| {
                let is_there = |block: usize| block + 1 < blocks || row < rows_of_last;
                let value = |(block, speed): (usize, &f64)| {
                    let value = log_normal(random, centre * speed, 0.05, 1)[0];
                    is_there(block).then_some(value)
                };
                speeds.iter().enumerate().map(value).collect()
            })
            .collect()
    }

    /// The true value is 10. Blocks drift not at all, as much as rows, and by three times as much; blocks may lack rows.
    #[test]
    fn its_interval_holds_what_it_says_however_blocks_drift() {
        let drifts = [1e-9, 0.05, 0.15];
        let cases = [(3, 6), (4, 6), (5, 6), (10, 6), (3, 4)];
        let all = drifts.into_iter().flat_map(|drift| cases.map(|case| (drift, case)));
        for ((drift, (blocks, rows_of_last)), seed) in all.zip(0x00a0..) {
            let what = format!("{blocks} blocks, {rows_of_last} rows in the last, drift {drift}");
            coverage(&what, seed, |random| {
                let table = drawn(random, blocks, drift, rows_of_last);
                let found = over_blocks(&table, Level::P95).unwrap();
                found.estimate.interval.unwrap().contains(10.0)
            });
        }
    }

    /// The share of intervals that hold the true value where drift has a memory of so many blocks: an
    /// Ornstein-Uhlenbeck process that goes on from cell to cell, as rows are measured one after the other.
    fn covered_under_memory(memory: f64, blocks: usize, seed: u64) -> f64 {
        const ROWS: usize = 30;
        let normal = |random: &mut Pcg64| -> f64 { StandardNormal.sample(random) };
        let keeps = (-1.0 / (memory * ROWS as f64)).exp();
        covered(&format!("{blocks} blocks, memory of {memory} blocks"), seed, |random| {
            let mut drift = normal(random);
            let mut table = vec![Vec::new(); ROWS];
            for row in (0..blocks).flat_map(|_| 0..ROWS) {
                table[row].push(Some((0.10 * drift + 0.05 * normal(random)).exp()));
                drift = keeps * drift + (1.0 - keeps * keeps).sqrt() * normal(random);
            }
            over_blocks(&table, Level::P95).unwrap().estimate.interval.unwrap().contains(1.0)
        })
    }

    /// The table of docs/methods-rating.md: memory in blocks, and per cent of 3, 5 and 10 blocks.
    const BY_MEMORY: [(f64, [u32; 3]); 5] = [
        (0.1, [95, 95, 94]),
        (0.3, [93, 92, 90]),
        (1.0, [86, 80, 77]),
        (3.0, [68, 59, 53]),
        (10.0, [49, 35, 30]),
    ];

    #[test]
    fn a_drift_that_lasts_for_blocks_makes_it_as_narrow_as_the_table_says() {
        for ((memory, expected), seed) in BY_MEMORY.into_iter().zip(0x0100..) {
            for (blocks, expected) in [3, 5, 10].into_iter().zip(expected) {
                let share = 100.0 * covered_under_memory(memory, blocks, seed);
                assert!((share - f64::from(expected)).abs() < 4.0, "{memory}, {blocks}: {share}");
            }
        }
    }

    #[test]
    fn two_blocks_are_too_few_for_an_interval() {
        let table = [vec![Some(3.0), Some(6.0)], vec![Some(2.0), Some(4.0)]];
        let found = over_blocks(&table, Level::P95).unwrap();
        // (3 x 6 x 2 x 4)^(1/4)
        assert!((found.estimate.value - 12.0_f64.sqrt()).abs() < 1e-9, "{found:?}");
        assert_eq!((found.estimate.interval, found.blocks), (None, 2));
        assert_eq!(over_blocks(&[], Level::P95), None);
        assert_eq!(over_blocks(&[vec![None, None]], Level::P95), None);
    }

    #[test]
    fn its_interval_is_never_narrower_than_that_of_the_blocks() {
        let table = vec![vec![Some(9.0), Some(10.0), Some(11.0)]; 2];
        let found = over_blocks(&table, Level::P95).unwrap().estimate;
        let own = geometric_interval(&[9.0, 10.0, 11.0], Level::P95).unwrap();
        assert!((found.value - own.value).abs() < 1e-9, "{found:?}");
        assert!((found.interval.unwrap().low - own.interval.unwrap().low).abs() < 1e-9);
    }

    #[test]
    fn a_block_that_lacks_a_fast_row_is_no_slower() {
        let table = [
            vec![Some(1.0), Some(2.0), Some(4.0)],
            vec![Some(100.0), Some(200.0), None],
            vec![Some(10.0), Some(20.0), Some(40.0)],
        ];
        let found = block_ratings(&table);
        for (found, expected) in found.iter().zip([10.0, 20.0, 40.0]) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
        }
    }

    #[test]
    fn a_block_of_a_few_rows_has_no_rating() {
        let table = [vec![Some(1.0), Some(3.0)], vec![Some(1.0), None], vec![Some(1.0), None]];
        assert_eq!(block_ratings(&table).len(), 1);
        assert_eq!(block_ratings(&[]), [] as [f64; 0]);
    }

    proptest! {
        #[test]
        fn the_value_is_the_geometric_mean_over_rows(
            rows in prop::collection::vec(prop::collection::vec(1.0f64..1e6, 1..5), 1..20)
        ) {
            let means: Vec<f64> =
                rows.iter().map(|row| geometric_mean(row).unwrap()).collect();
            let longest = rows.iter().map(Vec::len).max().unwrap();
            let line = |row: &Vec<f64>| {
                (0..longest).map(|block| row.get(block).copied()).collect::<Vec<_>>()
            };
            let table: Vec<Vec<_>> = rows.iter().map(line).collect();
            let found = over_blocks(&table, Level::P95).unwrap().estimate.value;
            prop_assert!((found / geometric_mean(&means).unwrap() - 1.0).abs() < 1e-9);
        }

        #[test]
        fn without_gaps_it_is_the_geometric_mean(
            table in prop::collection::vec(prop::array::uniform4(1.0f64..1e9), 1..20)
        ) {
            let whole: Vec<Vec<_>> =
                table.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
            for (block, found) in block_ratings(&whole).into_iter().enumerate() {
                let values: Vec<f64> = table.iter().map(|row| row[block]).collect();
                let expected = crate::geometric_mean(&values).unwrap();
                prop_assert!((found / expected - 1.0).abs() < 1e-9);
            }
        }

        /// A table of products of a row and a block is fitted exactly, whatever is missing.
        #[test]
        fn products_are_found_again(
            rows in prop::collection::vec(1.0f64..1e6, 6..12),
            blocks in prop::collection::vec(0.5f64..2.0, 3..6),
            gap in 0_usize..3,
        ) {
            let value = |row: usize, block: usize| {
                (block == 0 || row % 3 != gap).then(|| rows[row] * blocks[block])
            };
            let table: Vec<Vec<_>> = (0..rows.len())
                .map(|row| (0..blocks.len()).map(|block| value(row, block)).collect())
                .collect();
            let found = block_ratings(&table);
            prop_assert_eq!(found.len(), blocks.len());
            for (value, block) in found.iter().zip(&blocks) {
                prop_assert!((value / found[0] / (block / blocks[0]) - 1.0).abs() < 1e-6);
            }
        }
    }
}
