//! `btu copy`, after CITI report 89-4: copies of large files under contention, the order of trials, and what a
//! copy's time consists of.

mod background;
mod breakdown;
mod cell;
mod chain;
mod effects;
mod modelled;
mod packets;
mod paper;
mod plan;
mod storage;
mod summary;
mod verdict;
mod warning;

pub use background::{Background, BackgroundError, BackgroundUse};
pub use breakdown::CopyBreakdown;
pub use cell::{CopyCell, way};
pub use chain::{Chain, ChainFactor, Displacement};
pub use effects::{CopyChain, Fit, StorageEffect};
pub use modelled::Modelled;
pub use packets::{PacketChange, PacketSecond, Packets};
pub use paper::{PaperRow, PaperTime};
pub use plan::CopyPlan;
pub use storage::{TwoByTwo, overlap};
pub use summary::{SCATTERED, Summary};
pub use verdict::{CopyRow, CopyVerdict};

use btu_contract::copy::{
    Cache, Direction, FileEnd, FilePlace, Hold, MOST_OFFERED, Marks, Mode, PacketCount, Program,
    Servo, Storage,
};
use btu_contract::experiment::stream;
use rand::seq::SliceRandom;

use crate::limits::DATAGRAM;

// The order of trials: a split plot.
//
// Raising a background takes long, so each block takes the levels in random order (whole plots)
// and, while a level lasts, all cells in random order (subplots). Contention is judged by how
// block and level differ, programs by what differs inside plots. The idle level is one of the
// levels, so every block has its own baseline.

/// One level of background in one block, and what is measured while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// The randomised block, from 0.
    pub block: u32,
    /// Index of the level.
    pub level: usize,
    /// Indices of the cells in their order.
    pub cells: Vec<usize>,
}

/// Told apart from what else is drawn from a plan's seed.
const LEVELS: u64 = 1 << 41;
const CELLS: u64 = 1 << 42;

/// The plots of one block in their order, drawn from the seed and the block's number alone, so that
/// a resumed run continues in that order.
pub fn plots(seed: u64, block: u32, levels: usize, cells: usize) -> Vec<Plot> {
    let plot = |level: usize| Plot {
        block,
        level,
        cells: shuffled(cells, seed, CELLS | u64::from(block) << 20 | level as u64),
    };
    shuffled(levels, seed, LEVELS | u64::from(block)).into_iter().map(plot).collect()
}

fn shuffled(count: usize, seed: u64, purpose: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(&mut stream(seed, purpose));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_block_has_every_level_once_and_every_level_every_cell() {
        for block in 0..20 {
            let plots = plots(7, block, 4, 24);
            let levels: BTreeSet<usize> = plots.iter().map(|plot| plot.level).collect();
            assert_eq!((plots.len(), levels), (4, (0..4).collect()));
            for plot in plots {
                let cells: BTreeSet<usize> = plot.cells.iter().copied().collect();
                assert_eq!((plot.cells.len(), cells, plot.block), (24, (0..24).collect(), block));
            }
        }
    }

    #[test]
    fn a_seed_replays_and_another_differs() {
        assert_eq!(plots(7, 3, 4, 24), plots(7, 3, 4, 24));
        assert_ne!(plots(7, 3, 4, 24), plots(8, 3, 4, 24));
        assert_ne!(plots(7, 3, 4, 24)[0].cells, plots(7, 4, 4, 24)[0].cells);
        let [first, second, ..] = &plots(7, 3, 4, 24)[..] else { panic!("four plots") };
        assert_ne!(first.cells, second.cells);
    }

    /// Each of four levels comes first equally often: 4000 blocks, 1000 each, standard deviation
    /// 27; five of them.
    #[test]
    fn no_level_has_a_favourite_place() {
        let mut first: BTreeMap<usize, u32> = BTreeMap::new();
        for block in 0..4000 {
            *first.entry(plots(1, block, 4, 2)[0].level).or_default() += 1;
        }
        assert_eq!(first.len(), 4);
        assert!(first.values().all(|count| count.abs_diff(1000) < 137), "{first:?}");
    }
}
