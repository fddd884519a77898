//! Designs that try several factors together, and what each factor does to a value.
//!
//! A full factorial design has a run for every combination of levels. A fraction of a two-level
//! design has a run for some of them, chosen so that the effects that matter can still be told
//! apart (Box, Hunter and Hunter, "Statistics for Experimenters", 2005, chapter 6; Jain, "The Art
//! of Computer Systems Performance Analysis", 1991, chapters 17 to 19).

use std::cmp::Reverse;
use std::collections::BTreeSet;

mod effects;
mod search;
mod share;

pub use effects::{Effect, Effects, Term};

/// A set of factors: bit `n` stands for factor `n`.
type Set = u32;

/// The runs of an experiment: which level each factor has in each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factorial {
    levels: Vec<usize>,
    runs: Vec<Vec<usize>>,
    /// Sets of two-level factors with an equal product in every run: the information that the
    /// fraction gives up.
    words: Vec<Set>,
}

impl Factorial {
    /// The most factors of a design.
    pub const MOST_FACTORS: usize = 16;

    /// The most runs of a design.
    pub const MOST_RUNS: usize = 1 << 16;

    /// Every combination of factors with so many levels each; the last factor changes fastest.
    /// `None` without factors, with a factor of fewer than two levels, or above
    /// [`Self::MOST_FACTORS`] or [`Self::MOST_RUNS`].
    pub fn full(levels: &[usize]) -> Option<Self> {
        let possible = (1..=Self::MOST_FACTORS).contains(&levels.len())
            && levels.iter().all(|&count| count >= 2);
        let count = levels.iter().try_fold(1usize, |all, &count| all.checked_mul(count))?;
        (possible && count <= Self::MOST_RUNS).then(|| Self {
            levels: levels.to_vec(),
            runs: combinations(levels),
            words: Vec::new(),
        })
    }

    /// A fraction of a two-level design: `base` factors in full, and one more for each generator,
    /// with a level that is the product of the levels of the factors that the generator names (low
    /// counts as -1, high as +1). `None` when a generator names fewer than two factors, one twice,
    /// or one that is no base factor, or above the bounds of [`Self::full`].
    pub fn fraction(base: usize, generators: &[&[usize]]) -> Option<Self> {
        let full = Self::full(&vec![2; base])?;
        if base + generators.len() > Self::MOST_FACTORS {
            return None;
        }
        let named: Vec<Set> =
            generators.iter().map(|generator| named(generator, base)).collect::<Option<_>>()?;
        let extended = |run: Vec<usize>| {
            let more =
                generators.iter().map(|generator| product(&run, generator)).collect::<Vec<_>>();
            [run, more].concat()
        };
        let words = named.iter().enumerate().map(|(index, factors)| factors | 1 << (base + index));
        Some(Self {
            levels: vec![2; base + generators.len()],
            runs: full.runs.into_iter().map(extended).collect(),
            words: products(&words.collect::<Vec<_>>()),
        })
    }

    /// Half of a two-level design: the last factor is the product of all others, so that only
    /// interactions of many factors are mixed up with each other. 2^(6-1) for six factors: 32 runs,
    /// resolution 6. `None` below three factors.
    pub fn half(factors: usize) -> Option<Self> {
        let base = factors.checked_sub(1)?;
        Self::fraction(base, &[&(0..base).collect::<Vec<_>>()])
    }

    /// Levels of each factor.
    pub fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// The index of each factor's level, run by run.
    pub fn runs(&self) -> &[Vec<usize>] {
        &self.runs
    }

    /// The resolution of a fraction: the fewest factors of an interaction that cannot be told from
    /// the mean. In a design of resolution 5 main effects and interactions of two factors are free
    /// of each other. `None` for a full design.
    pub fn resolution(&self) -> Option<u32> {
        self.words.iter().map(|word| word.count_ones()).min()
    }

    /// The other terms that this design cannot tell from the interaction of `factors` (or the
    /// effect of one factor), fewest factors first.
    pub fn aliases(&self, factors: &[usize]) -> Vec<Vec<usize>> {
        let own = set(factors);
        let mut aliases: Vec<Vec<usize>> =
            self.words.iter().map(|word| factors_of(own ^ word)).collect();
        aliases.sort_by_key(|alias| (alias.len(), alias.clone()));
        aliases
    }

    /// The sets of up to `order` factors whose effects can be told apart, fewest factors first. Of
    /// several that the design mixes up the first one stands for all.
    fn terms(&self, order: usize) -> Vec<Set> {
        let mut all: Vec<Set> = (1..1 << self.levels.len())
            .filter(|set: &Set| set.count_ones() <= order as u32)
            .collect();
        all.sort_by_key(|set| (set.count_ones(), Reverse(set.reverse_bits())));
        let mut kept: BTreeSet<Set> = BTreeSet::new();
        all.retain(|&term| {
            let mixed_up =
                self.words.iter().any(|word| term == *word || kept.contains(&(term ^ word)));
            !mixed_up && kept.insert(term)
        });
        all
    }
}

/// Every combination of one level of each; the last one changes fastest.
fn combinations(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |runs, &count| {
        runs.iter()
            .flat_map(|run| (0..count).map(move |level| [run.as_slice(), &[level]].concat()))
            .collect()
    })
}

/// The base factors that a generator names, if it may.
fn named(generator: &[usize], base: usize) -> Option<Set> {
    let possible = generator.len() >= 2 && generator.iter().all(|&factor| factor < base);
    let named = if possible { set(generator) } else { 0 };
    (named.count_ones() as usize == generator.len() && possible).then_some(named)
}

/// The level of the product of some factors' levels: high when an even number of them is low.
fn product(run: &[usize], factors: &[usize]) -> usize {
    let low = factors.iter().filter(|&&factor| run[factor] == 0).count();
    usize::from(low % 2 == 0)
}

/// Every product of one or more words, each once.
fn products(words: &[Set]) -> Vec<Set> {
    let product = |chosen: Set| {
        (0..words.len()).filter(|n| chosen >> n & 1 == 1).fold(0, |all, n| all ^ words[n])
    };
    (1..1 << words.len()).map(product).collect()
}

fn set(factors: &[usize]) -> Set {
    factors.iter().fold(0, |set, factor| set | 1 << factor)
}

fn factors_of(set: Set) -> Vec<usize> {
    (0..Factorial::MOST_FACTORS).filter(|factor| set >> factor & 1 == 1).collect()
}

#[cfg(test)]
mod tests;
