//! One number for many cells, with the wider of two intervals.

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, Level};
use crate::known_variance::KnownVariance;
use crate::log_sample::{LogSample, contrast};

/// Where an interval's width comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The spread of repetitions within each cell, cells independent of each other.
    WithinCells,
    /// The spread of whole blocks' ratings, which includes effects on all cells of a block.
    BetweenBlocks,
}

/// The geometric mean over fixed cells, with both intervals that the data allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Geometric mean over cells and the wider interval.
    pub estimate: Estimate,
    /// Which interval that was; absent when there is none.
    pub form: Option<Form>,
    /// How many blocks gave a rating of their own.
    pub blocks: usize,
}

/// Fewer complete blocks give no useful interval: with two, Student's t has one degree of freedom
/// and the interval is nine times the spread.
const FEWEST_BLOCKS: usize = 3;

/// The rating over `cells` (each the repetitions of one cell); `block_ratings` are those of
/// [`block_ratings`](crate::block_ratings). The cells are fixed, not a sample:
/// only repetitions within a cell, or whole blocks, vary. The wider of the two intervals is taken,
/// because the first is blind to slow drifts and the second to spread within the few blocks there
/// are. How much blocks of earlier runs varied is in `known`. What all values have in common, with its weight, is in
/// `common`: it widens both. `None` without cells.
pub fn rate(
    cells: &[LogSample],
    block_ratings: &[f64],
    known: Option<KnownVariance>,
    common: &[(f64, LogSample)],
    level: Level,
) -> Option<Rating> {
    let weight = 1.0 / cells.len() as f64;
    let own: Vec<_> = cells.iter().map(|&cell| (weight, cell)).collect();
    let within = contrast(&[&own, common].concat(), level).filter(|_| !cells.is_empty())?;
    let between = blocks(block_ratings)
        .and_then(|blocks| contrast(&[&[(1.0, blocks.knowing(known))], common].concat(), level))
        .and_then(|blocks| centred(within.value, blocks));
    let (estimate, form) = wider(within, between);
    Some(Rating { estimate, form, blocks: block_ratings.len() })
}

/// Block ratings, when there are enough of them to tell how much they vary.
pub fn blocks(ratings: &[f64]) -> Option<LogSample> {
    LogSample::of(ratings).filter(|_| ratings.len() >= FEWEST_BLOCKS)
}

/// The relative interval of `blocks`, moved to `value`: values of a block that is left out count in
/// the value but not in `blocks`.
fn centred(value: f64, blocks: Estimate) -> Option<Estimate> {
    let factor = value / blocks.value;
    Some(Estimate { value, interval: Some(blocks.interval?.map(|end| end * factor)) })
}

/// The estimate with the wider interval, and its form.
fn wider(within: Estimate, between: Option<Estimate>) -> (Estimate, Option<Form>) {
    let width = |estimate: &Estimate| estimate.relative_half_width().unwrap_or(-1.0);
    match between {
        Some(between) if width(&between) > width(&within) => (between, Some(Form::BetweenBlocks)),
        _ => (within, within.interval.map(|_| Form::WithinCells)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::{covered, log_normal};
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_pcg::Pcg64;

    /// Six cells in `blocks` blocks, each block slowed or sped up as a whole by a spread of
    /// `drift`.
    fn simulate(random: &mut Pcg64, blocks: usize, drift: f64) -> Rating {
        let (cells, ratings) = run(random, blocks, drift);
        rate(&cells, &ratings, None, &[], Level::P95).unwrap()
    }

    /// Its cells and the ratings of its blocks.
    fn run(random: &mut Pcg64, blocks: usize, drift: f64) -> (Vec<LogSample>, Vec<f64>) {
        let speeds = log_normal(random, 1.0, drift, blocks);
        let mut table = vec![Vec::new(); 6];
        for speed in &speeds {
            for (centre, cell) in [1.0, 10.0, 100.0].iter().cycle().zip(&mut table) {
                cell.extend(log_normal(random, centre * speed, 0.05, 1));
            }
        }
        let whole: Vec<Vec<Option<f64>>> =
            table.iter().map(|cell| cell.iter().copied().map(Some).collect()).collect();
        let ratings = crate::block_ratings(&whole);
        (table.iter().map(|cell| LogSample::of(cell).unwrap()).collect(), ratings)
    }

    #[test]
    fn blocks_that_drift_are_seen() {
        let share = covered("rating, 5 blocks with a drift of 10 %", 0x00a1, |random| {
            simulate(random, 5, 0.10).estimate.interval.unwrap().contains(10.0)
        });
        assert!((0.93..=0.99).contains(&share), "{share}");
    }

    /// Five blocks of a run after so many runs, which drift by up to twice as much as each other.
    #[test]
    fn earlier_runs_tell_how_much_blocks_vary() {
        for ((earlier, drift), seed) in
            [(5, 0.03), (10, 0.03), (5, 0.10), (10, 0.10)].into_iter().zip(0x00a4..)
        {
            let mut widths = [0.0; 2];
            let what = format!("rating, 5 blocks with a drift of {drift} after {earlier} runs");
            let share = covered(&what, seed, |random| {
                let any = |random: &mut Pcg64| {
                    let drift = drift * random.random_range(0.7..1.4);
                    run(random, 5, drift)
                };
                let before: Vec<LogSample> =
                    (0..earlier).map(|_| blocks(&any(random).1).unwrap()).collect();
                let (cells, ratings) = any(random);
                let interval = |known| {
                    let rating = rate(&cells, &ratings, known, &[], Level::P95).unwrap();
                    rating.estimate.interval.unwrap()
                };
                let both = interval(KnownVariance::of(&before));
                for (sum, one) in widths.iter_mut().zip([interval(None), both]) {
                    *sum += one.map(f64::ln).width();
                }
                both.contains(10.0)
            });
            let narrower = widths[1] / widths[0];
            println!("width {narrower:.3} of that without earlier runs");
            assert!((0.93..=0.98).contains(&share), "{share}");
            assert!(narrower < 0.85, "{narrower}");
        }
    }

    #[test]
    fn without_drift_the_wider_interval_is_careful_but_not_absurd() {
        let share = covered("rating, 5 blocks without drift", 0x00a2, |random| {
            simulate(random, 5, 1e-9).estimate.interval.unwrap().contains(10.0)
        });
        assert!((0.94..=0.999).contains(&share), "{share}");
    }

    /// Thirty cells in three whole blocks and two that hold nine tenths of them, as the cells of a
    /// run whose precision is not enough.
    fn unbalanced(random: &mut Pcg64, drift: f64) -> Rating {
        let speeds = log_normal(random, 1.0, drift, 5);
        let table: Vec<Vec<Option<f64>>> = (0..30)
            .map(|cell| {
                let value = |(block, speed): (usize, &f64)| {
                    let is_left_out = block > 2 && (cell + block) % 10 == 0;
                    let value = log_normal(random, 10.0 * speed, 0.20, 1)[0];
                    (!is_left_out).then_some(value)
                };
                speeds.iter().enumerate().map(value).collect()
            })
            .collect();
        let present = |cell: &Vec<Option<f64>>| cell.iter().copied().flatten().collect::<Vec<_>>();
        let cells: Vec<_> =
            table.iter().map(|cell| LogSample::of(&present(cell)).unwrap()).collect();
        rate(&cells, &crate::block_ratings(&table), None, &[], Level::P95).unwrap()
    }

    #[test]
    fn blocks_that_lack_cells_count_too() {
        let share = covered("rating, 3 blocks and 2 with gaps, drift 8 %", 0x00a3, |random| {
            let rating = unbalanced(random, 0.08);
            assert_eq!(rating.blocks, 5);
            rating.estimate.interval.unwrap().contains(10.0)
        });
        assert!((0.93..=0.97).contains(&share), "{share}");
    }

    #[test]
    fn two_blocks_are_too_few_to_speak_as_blocks() {
        let cells = [LogSample::of(&[10.0, 20.0]).unwrap(), LogSample::of(&[1.0, 2.0]).unwrap()];
        let rating = rate(&cells, &[3.0, 6.0], None, &[], Level::P95).unwrap();
        assert_eq!(rating.form, Some(Form::WithinCells));
        assert_eq!(rate(&[], &[], None, &[], Level::P95), None);
    }

    #[test]
    fn the_wider_of_both_is_taken_and_named() {
        let cells = [
            LogSample::of(&[9.0, 10.0, 11.0]).unwrap(),
            LogSample::of(&[9.0, 10.0, 11.0]).unwrap(),
        ];
        let rating = rate(&cells, &[9.0, 10.0, 11.0], None, &[], Level::P95).unwrap();
        assert_eq!(rating.form, Some(Form::BetweenBlocks));
        let rating = rate(&cells, &[10.0, 10.0, 10.0], None, &[], Level::P95).unwrap();
        assert_eq!(rating.form, Some(Form::WithinCells));
    }

    proptest! {
        #[test]
        fn the_value_is_the_geometric_mean_over_cells(cells in prop::collection::vec(
            prop::collection::vec(1.0f64..1e6, 1..5), 1..20)) {
            let means: Vec<f64> = cells.iter().map(|cell| crate::geometric_mean(cell).unwrap()).collect();
            let samples: Vec<_> = cells.iter().map(|cell| LogSample::of(cell).unwrap()).collect();
            let rating = rate(&samples, &[], None, &[], Level::P95).unwrap();
            let expected = crate::geometric_mean(&means).unwrap();
            prop_assert!((rating.estimate.value / expected - 1.0).abs() < 1e-9);
        }
    }
}
