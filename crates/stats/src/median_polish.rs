//! Median polish: rows, columns and residuals of a two-way table that some wrong values do not spoil (Tukey, *Exploratory Data
//! Analysis*, 1977, chapter 11).

use crate::spread::median;

/// Sweeps over rows and columns; a table without wrong values needs two.
const MOST_SWEEPS: usize = 20;

/// Changes below this end the sweeps.
const SETTLED: f64 = 1e-9;

/// A table as a sum: overall + row + column + residual.
#[derive(Debug, Clone, PartialEq)]
pub struct MedianPolish {
    /// The common part.
    pub overall: f64,
    /// What each row adds; `None` of a row without a value.
    pub rows: Vec<Option<f64>>,
    /// What each column adds; `None` of a column without a value.
    pub columns: Vec<Option<f64>>,
    /// What remains of each value; `None` where there is none.
    pub residuals: Vec<Vec<Option<f64>>>,
}

impl MedianPolish {
    /// Of a table with gaps, as of hosts that do not talk to themselves. `None` if it has no value at all, or rows of different
    /// lengths.
    pub fn of(table: &[Vec<Option<f64>>]) -> Option<Self> {
        let width = table.first()?.len();
        let has_values = table.iter().flatten().any(Option::is_some);
        if !has_values || table.iter().any(|row| row.len() != width) {
            return None;
        }
        let mut polish = Self {
            overall: 0.0,
            rows: vec![None; table.len()],
            columns: vec![None; width],
            residuals: table.to_vec(),
        };
        for _ in 0..MOST_SWEEPS {
            if polish.sweep() < SETTLED {
                break;
            }
        }
        Some(polish)
    }

    /// Moves the medians of rows and columns out of the residuals; returns the largest of them.
    fn sweep(&mut self) -> f64 {
        let mut largest = 0.0_f64;
        for (row, effect) in self.residuals.iter_mut().zip(&mut self.rows) {
            let values: Vec<f64> = row.iter().copied().flatten().collect();
            let Some(moved) = median(&values) else { continue };
            for value in row.iter_mut().flatten() {
                *value -= moved;
            }
            *effect = Some(effect.unwrap_or_default() + moved);
            largest = largest.max(moved.abs());
        }
        self.overall += centre(&mut self.rows);
        for (place, effect) in self.columns.iter_mut().enumerate() {
            let values: Vec<f64> = self.residuals.iter().filter_map(|row| row[place]).collect();
            let Some(moved) = median(&values) else { continue };
            for row in &mut self.residuals {
                row[place] = row[place].map(|value| value - moved);
            }
            *effect = Some(effect.unwrap_or_default() + moved);
            largest = largest.max(moved.abs());
        }
        self.overall += centre(&mut self.columns);
        largest
    }
}

/// Takes the median out of the effects.
fn centre(effects: &mut [Option<f64>]) -> f64 {
    let known: Vec<f64> = effects.iter().copied().flatten().collect();
    let middle = median(&known).unwrap_or_default();
    for effect in effects.iter_mut().flatten() {
        *effect -= middle;
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 + row + column, without a diagonal.
    fn table(rows: &[f64], columns: &[f64]) -> Vec<Vec<Option<f64>>> {
        let value =
            |row: usize, column: usize| (row != column).then(|| 10.0 + rows[row] + columns[column]);
        (0..rows.len())
            .map(|row| (0..columns.len()).map(|column| value(row, column)).collect())
            .collect()
    }

    #[test]
    fn a_sum_is_taken_apart_and_a_wrong_value_stays_alone() {
        let (rows, columns) = ([0.0, 1.0, 0.0, -3.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.0]);
        let mut table = table(&rows, &columns);
        table[0][4] = Some(10.0 - 7.0);
        let polish = MedianPolish::of(&table).unwrap();
        assert!((polish.overall - 10.0).abs() < 1e-9, "{polish:?}");
        for (found, known) in polish.rows.iter().zip(rows).chain(polish.columns.iter().zip(columns))
        {
            assert!((found.unwrap() - known).abs() < 1e-9, "{polish:?}");
        }
        let remain: Vec<f64> = polish
            .residuals
            .iter()
            .flatten()
            .flatten()
            .copied()
            .filter(|value| value.abs() > 1e-9)
            .collect();
        assert_eq!(remain.len(), 1, "{polish:?}");
        assert!((remain[0] + 7.0).abs() < 1e-9 && polish.residuals[0][4].is_some());
    }

    /// A row without a value has no part, and moves no other one.
    #[test]
    fn what_was_not_measured_is_absent() {
        let mut table = table(&[0.0, 1.0, 0.0, 0.0], &[0.0; 4]);
        table[3] = vec![None; 4];
        let polish = MedianPolish::of(&table).unwrap();
        assert_eq!((polish.rows[3], polish.rows[1]), (None, Some(1.0)), "{polish:?}");
    }

    #[test]
    fn tables_without_values_have_no_sum() {
        assert_eq!(MedianPolish::of(&[]), None);
        assert_eq!(MedianPolish::of(&[vec![None, None]]), None);
        assert_eq!(MedianPolish::of(&[vec![Some(1.0)], vec![]]), None);
    }
}
