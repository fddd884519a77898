//! Two factors and what each of them does to a value, when every pair of their levels was measured once.

use crate::arithmetic_mean;

/// The variance of a table of values, divided between its rows, its columns and their interaction.
///
/// The three parts add up to `variance` exactly. With one value for each pair of levels, error cannot be told from
/// interaction. Give logarithms where effects multiply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoWay {
    /// Mean square distance of all values from their mean.
    pub variance: f64,
    /// The part that the means of the rows make.
    pub rows: f64,
    /// The part that the means of the columns make.
    pub columns: f64,
    /// The part that neither makes: a row does something else in one column than in another.
    pub interaction: f64,
}

impl TwoWay {
    /// Divides the variance of a table given by rows. `None` without two rows and two columns, with rows of unequal
    /// length, or with a value that is not finite.
    pub fn of(table: &[Vec<f64>]) -> Option<Self> {
        let width = table.first().map_or(0, Vec::len);
        let whole = table.iter().all(|row| row.len() == width && row.iter().all(|value| value.is_finite()));
        if table.len() < 2 || width < 2 || !whole {
            return None;
        }
        let row_means: Vec<f64> = table.iter().filter_map(|row| arithmetic_mean(row)).collect();
        let column = |index: usize| table.iter().map(|row| row[index]).collect::<Vec<f64>>();
        let column_means: Vec<f64> = (0..width).filter_map(|index| arithmetic_mean(&column(index))).collect();
        let variance = population_variance(&table.concat())?;
        let (rows, columns) = (population_variance(&row_means)?, population_variance(&column_means)?);
        Some(Self { variance, rows, columns, interaction: (variance - rows - columns).max(0.0) })
    }

    /// Shares of rows, columns and interaction, between 0 and 1; `None` where all values are equal.
    pub fn shares(&self) -> Option<[f64; 3]> {
        (self.variance > 0.0).then(|| [self.rows, self.columns, self.interaction].map(|part| part / self.variance))
    }
}

/// Mean square distance from the mean.
fn population_variance(values: &[f64]) -> Option<f64> {
    let mean = arithmetic_mean(values)?;
    arithmetic_mean(&values.iter().map(|value| (value - mean).powi(2)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: rows differ by 4, columns by 2, and one corner is 4 higher than their sum, so each effect gets 1 more:
    /// rows 9, columns 4, interaction 1 (half of half of what the corner adds, squared).
    #[test]
    fn effects_of_a_small_table() {
        let parts = TwoWay::of(&[vec![0.0, 2.0], vec![4.0, 10.0]]).unwrap();
        assert_eq!(parts, TwoWay { variance: 14.0, rows: 9.0, columns: 4.0, interaction: 1.0 });
        let shares = parts.shares().unwrap();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_table_has_no_parts() {
        assert_eq!(TwoWay::of(&[]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 2.0], vec![2.0]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 2.0], vec![2.0, f64::NAN]]), None);
        assert_eq!(TwoWay::of(&[vec![1.0, 1.0], vec![1.0, 1.0]]).unwrap().shares(), None);
    }

    proptest! {
        /// Rows plus columns without interaction: nothing is left over, and each part is the variance of its effects.
        #[test]
        fn effects_that_add_up_do_not_interact(
            rows in prop::collection::vec(-9.0f64..9.0, 2..6),
            columns in prop::collection::vec(-9.0f64..9.0, 2..6),
        ) {
            let table: Vec<Vec<f64>> =
                rows.iter().map(|row| columns.iter().map(|column| row + column).collect()).collect();
            let parts = TwoWay::of(&table).unwrap();
            prop_assert!(parts.interaction < 1e-9, "{parts:?}");
            prop_assert!((parts.rows - population_variance(&rows).unwrap()).abs() < 1e-9);
            prop_assert!((parts.columns - population_variance(&columns).unwrap()).abs() < 1e-9);
        }
    }
}
