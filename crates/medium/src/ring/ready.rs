//! The stations that have a frame, found in ring order without examining the others.

/// A set of station numbers: a bit for each station, and above every 64 bits one bit that says
/// whether any is set. Three levels reach 262 144 stations; there are as many as needed. Every step
/// looks at a word or two of each level.
#[derive(Debug, Clone)]
pub(crate) struct StationSet {
    /// The stations' bits first, then the summaries, each 64 times shorter, the last of one word.
    levels: Vec<Vec<u64>>,
}

impl StationSet {
    /// An empty set for `stations` stations.
    pub(crate) fn new(stations: usize) -> Self {
        let mut levels = vec![vec![0; stations.div_ceil(64).max(1)]];
        while let Some(below) = levels.last().map(Vec::len).filter(|&words| words > 1) {
            levels.push(vec![0; below.div_ceil(64)]);
        }
        Self { levels }
    }

    /// Puts a station in.
    pub(crate) fn insert(&mut self, station: u32) {
        let mut place = station as usize;
        for level in &mut self.levels {
            level[place / 64] |= 1 << (place % 64);
            place /= 64;
        }
    }

    /// Takes a station out.
    pub(crate) fn remove(&mut self, station: u32) {
        let mut place = station as usize;
        for level in &mut self.levels {
            level[place / 64] &= !(1 << (place % 64));
            if level[place / 64] != 0 {
                return;
            }
            place /= 64;
        }
    }

    /// The first station downstream of `station` that has a frame; `station` itself comes last.
    pub(crate) fn next_after(&self, station: u32) -> Option<u32> {
        self.from(station as usize + 1).or_else(|| self.from(0))
    }

    /// The lowest number from `start` on.
    fn from(&self, start: usize) -> Option<u32> {
        let mut place = start;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(place / 64)? & (!0 << (place % 64));
            if word != 0 {
                return Some(
                    self.descend(height, place / 64 * 64 + word.trailing_zeros() as usize),
                );
            }
            place = place / 64 + 1;
        }
        None
    }

    /// The lowest station below the bit `place` of the level at `height`, which is set.
    fn descend(&self, height: usize, place: usize) -> u32 {
        let below = self.levels[..height].iter().rev();
        below.fold(place, |place, level| place * 64 + level[place].trailing_zeros() as usize) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// It answers as an ordered set does.
        #[test]
        fn it_is_a_set(script in prop::collection::vec((any::<bool>(), 0u32..10_000, 0u32..10_000), 1..200)) {
            let (mut ready, mut set) = (StationSet::new(10_000), BTreeSet::new());
            for (put, station, from) in script {
                if put {
                    ready.insert(station);
                    set.insert(station);
                } else {
                    ready.remove(station);
                    set.remove(&station);
                }
                let next = set.range(from + 1..).next().or_else(|| set.first()).copied();
                prop_assert_eq!(ready.next_after(from), next);
            }
        }
    }

    #[test]
    fn one_station_comes_after_itself() {
        let mut ready = StationSet::new(1);
        assert_eq!(ready.next_after(0), None);
        ready.insert(0);
        assert_eq!(ready.next_after(0), Some(0));
    }
}
