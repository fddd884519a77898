//! The smallest fraction that keeps what matters apart.

use super::{Factorial, Set, factors_of};

/// Most steps of the search for one number of runs; what needs more is left to the next larger
/// fraction.
const MOST_STEPS: usize = 200_000;

impl Factorial {
    /// The smallest fraction of a design of so many two-level factors that has this resolution at
    /// least; all combinations where no fraction has it. `None` above the bounds of [`Self::full`].
    pub fn of_resolution(factors: usize, resolution: u32) -> Option<Self> {
        let smaller = (2..factors).find_map(|base| generated(base, factors - base, resolution));
        smaller.or_else(|| Self::full(&vec![2; factors]))
    }
}

/// A fraction with so many base factors and generators.
fn generated(base: usize, generators: usize, resolution: u32) -> Option<Factorial> {
    if base + generators > Factorial::MOST_FACTORS || base > 20 {
        return None;
    }
    let mut candidates: Vec<Set> =
        (1..1 << base).filter(|set: &Set| set.count_ones() + 1 >= resolution).collect();
    candidates.sort_by_key(|set| (set.count_ones(), *set));
    let mut search = Search { base, resolution, candidates, steps: 0 };
    let chosen = search.choose(generators, 0, &[])?;
    let named: Vec<Vec<usize>> = chosen.into_iter().map(factors_of).collect();
    Factorial::fraction(base, &named.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

struct Search {
    base: usize,
    resolution: u32,
    candidates: Vec<Set>,
    steps: usize,
}

impl Search {
    /// Chooses `count` generators from the candidates at `from` and after it, in addition to
    /// `words`, which are there already.
    fn choose(&mut self, count: usize, from: usize, words: &[Set]) -> Option<Vec<Set>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let place = self.base + count - 1;
        for index in from..self.candidates.len() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            let (generator, own) = (self.candidates[index], self.candidates[index] | 1 << place);
            let products: Vec<Set> = words.iter().map(|word| word ^ own).chain([own]).collect();
            if products.iter().any(|word| word.count_ones() < self.resolution) {
                continue;
            }
            let all: Vec<Set> = words.iter().copied().chain(products).collect();
            if let Some(mut rest) = self.choose(count - 1, index + 1, &all) {
                // The last factor was named first.
                rest.push(generator);
                return Some(rest);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Box, Hunter and Hunter (2005), table 6.22: the fewest runs of two-level fractions by factors
    /// and resolution.
    #[test]
    fn the_smallest_fractions_are_those_of_the_table() {
        for (factors, resolution, runs) in [
            (3, 3, 4),
            (4, 4, 8),
            (5, 3, 8),
            (5, 5, 16),
            (6, 3, 8),
            (6, 4, 16),
            (6, 6, 32),
            (7, 3, 8),
            (7, 4, 16),
            (7, 7, 64),
            (8, 4, 16),
            (8, 5, 64),
        ] {
            let design = Factorial::of_resolution(factors, resolution).expect("a design");
            assert_eq!(design.runs().len(), runs, "{factors} factors, resolution {resolution}");
            assert!(design.resolution().is_none_or(|found| found >= resolution));
            assert_eq!(design.levels().len(), factors);
        }
    }

    #[test]
    fn where_no_fraction_will_do_all_combinations_are_measured() {
        assert_eq!(Factorial::of_resolution(3, 4).map(|design| design.runs().len()), Some(8));
        assert_eq!(Factorial::of_resolution(1, 3).map(|design| design.runs().len()), Some(2));
        assert_eq!(Factorial::of_resolution(17, 3), None);
    }
}
