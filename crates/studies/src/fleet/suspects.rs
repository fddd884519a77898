//! Pairs that look slow, measured again until each is told by its own repetitions.
//!
//! A repetition is four measurements of one block in a drawn order: the pair from i to j, one from i, one to j, and one between their
//! other ends. The logarithm of (i to j) (y to x) / (i to x) (y to j) has no part of any host and of nothing that the whole network shares, and without
//! a slow pair it is above and below zero equally often, whatever the distribution of the measurements: they are interchangeable. So
//! a pair that is slow in each of n repetitions is so by chance in 2^-n, and one that once is not is no longer suspicious.

use std::collections::BTreeSet;

use btu_stats::median;

use super::{FALSE_MARKS, LogRates, WORTH_MARKING};

/// The blocks in which pairs may be measured again: enough for 200 suspicious ones.
pub const MOST_REPETITIONS: u32 = 16;

/// A prime, so that all other hosts take part in turn.
const STRIDE: usize = 7919;

/// Pairs that look slow in whole blocks.
pub(super) struct Suspects<'a> {
    /// The rates in whole blocks.
    pub(super) table: &'a LogRates,
    /// From, to.
    pub(super) pairs: BTreeSet<[usize; 2]>,
}

/// What its repetitions say of a pair.
pub(super) enum Standing {
    /// It was slower each time.
    Slow {
        /// Its share of what its hosts have with others.
        share: f64,
        /// How often it was measured again.
        repetitions: usize,
    },
    /// Not each time, or by less than a tenth.
    Sound,
    /// There are too few.
    Open,
}

impl Suspects<'_> {
    /// Pairs are told from their hosts where two others are there.
    pub(super) fn can_tell(&self) -> bool {
        self.table.len() > 3
    }

    /// The repetitions after which chance makes a third of [`FALSE_MARKS`] among all suspects.
    fn enough(&self) -> usize {
        (self.pairs.len() as f64 * 3.0 / FALSE_MARKS).log2().ceil() as usize
    }

    pub(super) fn standing(&self, pair: [usize; 2], later: &[LogRates]) -> Standing {
        let mut contrasts = Vec::new();
        for (turn, block) in later.iter().enumerate() {
            let Some(four) = self.four(pair, turn) else { break };
            let [Some(own), Some(same_sender), Some(same_receiver), Some(others)] =
                four.map(|[from, to]| block[from][to])
            else {
                continue;
            };
            let contrast = own + others - same_sender - same_receiver;
            contrasts.push(contrast);
            if contrast >= 0.0 {
                return Standing::Sound;
            }
            if contrasts.len() >= self.enough() {
                break;
            }
        }
        let middle = median(&contrasts).unwrap_or_default();
        match contrasts.len() {
            repetitions if repetitions < self.enough() => Standing::Open,
            repetitions if middle < WORTH_MARKING.ln() => {
                Standing::Slow { share: middle.exp(), repetitions }
            }
            _ => Standing::Sound,
        }
    }

    /// All pairs of the next repetition of those that are not told.
    pub(super) fn next_pairs(&self, later: &[LogRates]) -> Vec<[usize; 2]> {
        let open =
            self.pairs.iter().filter(|pair| matches!(self.standing(**pair, later), Standing::Open));
        open.filter_map(|pair| self.four(*pair, later.len())).flatten().collect()
    }

    /// The pair, and three others that were measured and do not look slow: from the same host, to the same host,
    /// and between their other ends.
    fn four(&self, [from, to]: [usize; 2], turn: usize) -> Option<[[usize; 2]; 4]> {
        let hosts = self.table.len();
        let is_usual = |pair: &[usize; 2]| {
            self.table[pair[0]][pair[1]].is_some() && !self.pairs.contains(pair)
        };
        let of = |step: usize| {
            let place = (step + turn * STRIDE) % (hosts * hosts);
            let (near, far) = (place / hosts, place % hosts);
            let are_four = near != from && near != to && far != from && far != to && near != far;
            let others = [[from, far], [near, to], [near, far]];
            (are_four && others.iter().all(is_usual))
                .then(|| [[from, to], others[0], others[1], others[2]])
        };
        (0..hosts * hosts).find_map(of)
    }
}
