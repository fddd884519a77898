//! The speed of whole blocks in a table with gaps.

/// A block with a smaller share of the rows has no rating: the noise of its few rows would count as
/// the difference of a block.
const LEAST_SHARE: f64 = 0.5;

/// Sweeps over the table, and the change that ends them. Their error shrinks by a factor that is
/// smaller the fewer gaps there are.
const MOST_SWEEPS: usize = 200;
const SMALL_CHANGE: f64 = 1e-12;

/// The geometric mean over all rows for each block of `table` that holds at least half of the rows;
/// `table` has a line of block values for each row, positive or missing. Where a block lacks rows,
/// they are those of the additive model of rows and blocks that fits the logarithms best by least
/// squares (Searle, Linear Models for Unbalanced Data, 1987, 4.4). Without gaps it is the geometric
/// mean of the block's values.
pub fn block_ratings(table: &[Vec<Option<f64>>]) -> Vec<f64> {
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
    let least = LEAST_SHARE * table.len() as f64;
    let held = |block: usize| table.iter().filter(|row| row[block].is_some()).count() as f64;
    (0..blocks).filter(|&block| held(block) >= least).collect()
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
    use proptest::prelude::*;

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
