//! Components of variance of repeated measurements.

/// Components of variance of a table of rows that were each measured once in every block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoWay {
    /// Variance of the part that all rows of a block have in common, at least 0.
    pub between_blocks: f64,
    /// Variance of the residual: a value without its row's mean and its block's part.
    pub residual: f64,
}

impl TwoWay {
    /// Of `table`, a line of block values for each row: analysis of variance of an additive two-way
    /// layout with one value in each place, blocks random (Scheffé, The Analysis of Variance, 1959,
    /// 4.2 and 7.4; Searle, Casella and `McCulloch`, Variance Components, 1992, 4.6). Unbiased but
    /// for the bound at 0. `None` below two rows or two blocks, where lines are of different
    /// lengths, and where a value is not finite.
    pub fn of(table: &[Vec<f64>]) -> Option<Self> {
        let (rows, blocks) = (table.len(), table.first()?.len());
        let is_table = table
            .iter()
            .all(|row| row.len() == blocks && row.iter().all(|value| value.is_finite()));
        if rows < 2 || blocks < 2 || !is_table {
            return None;
        }
        let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| {
            values.sum::<f64>() / count as f64
        };
        let of_row: Vec<f64> =
            table.iter().map(|row| mean(&mut row.iter().copied(), blocks)).collect();
        let of_block: Vec<f64> =
            (0..blocks).map(|block| mean(&mut table.iter().map(|row| row[block]), rows)).collect();
        let all = mean(&mut of_row.iter().copied(), rows);
        let left = table.iter().zip(&of_row).flat_map(|(row, of_row)| {
            row.iter()
                .zip(&of_block)
                .map(move |(value, of_block)| (value - of_row - of_block + all).powi(2))
        });
        let left: f64 = left.sum();
        let size: f64 = table.iter().flatten().map(|value| value * value).sum();
        let left = if left > size * ROUNDING { left } else { 0.0 };
        let residual = left / ((rows - 1) * (blocks - 1)) as f64;
        let squares: f64 = of_block.iter().map(|of_block| (of_block - all).powi(2)).sum();
        let between = squares / (blocks - 1) as f64 - residual / rows as f64;
        Some(Self { between_blocks: between.max(0.0), residual })
    }
}

/// Squares of differences that are a smaller share of the squares themselves come from rounding to
/// 53 bits.
const ROUNDING: f64 = 1e-24;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn normal(random: &mut Pcg64, deviation: f64) -> f64 {
        Normal::new(0.0, deviation).unwrap().sample(random)
    }

    /// A table of rows that lie far apart, of blocks with deviation `block`, and of values with
    /// deviation `own`.
    fn table(
        random: &mut Pcg64,
        (rows, blocks): (usize, usize),
        block: f64,
        own: f64,
    ) -> Vec<Vec<f64>> {
        let of_blocks: Vec<f64> = (0..blocks).map(|_| normal(random, block)).collect();
        let row = |at: usize, random: &mut Pcg64| {
            of_blocks.iter().map(|of_block| at as f64 + of_block + normal(random, own)).collect()
        };
        (0..rows).map(|at| row(at, random)).collect()
    }

    /// Scheffé's identity by hand: rows 1 2 / 3 6 have row means 1.5 and 4.5, block means 2 and 4,
    /// mean 3, four residuals of 0.5.
    #[test]
    fn a_table_by_hand() {
        let found = TwoWay::of(&[vec![1.0, 2.0], vec![3.0, 6.0]]).unwrap();
        assert!((found.residual - 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.between_blocks - (2.0 - 0.5)).abs() < 1e-12, "{found:?}");
    }

    /// The mean of 400 tables of 30 rows and 4 blocks. A variance between 4 blocks has 3 degrees of
    /// freedom, so a relative error of sqrt(2 / 3 / 400) = 4.1 % in the mean; the tolerance is four
    /// of these. The residual has 87: 0.8 %.
    #[test]
    fn drawn_components_are_found_again() {
        let mut random = Pcg64::seed_from_u64(0x00c1);
        let tables: Vec<TwoWay> = (0..400)
            .map(|_| TwoWay::of(&table(&mut random, (30, 4), 0.05, 0.1)).unwrap())
            .collect();
        let mean = |of: fn(&TwoWay) -> f64| tables.iter().map(of).sum::<f64>() / 400.0;
        let (between, residual) = (mean(|one| one.between_blocks), mean(|one| one.residual));
        assert!((between / 0.0025 - 1.0).abs() < 0.17, "{between}");
        assert!((residual / 0.01 - 1.0).abs() < 0.032, "{residual}");
    }

    #[test]
    fn what_is_no_table_has_no_components() {
        assert_eq!(TwoWay::of(&[]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 2.0], vec![2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, f64::NAN], vec![2.0, 3.0]]), None);
        let equal = TwoWay::of(&[vec![1.0, 1.0], vec![2.0, 2.0]]).unwrap();
        assert_eq!((equal.between_blocks, equal.residual), (0.0, 0.0));
    }
}
