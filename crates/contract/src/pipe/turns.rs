//! The order of turns if several signatures are measured in one run.
//!
//! They proceed together, size by size: a drift of the machine (another process, heat, a fuller
//! page cache) affects all of them equally, unlike if one were measured after the other. Within a
//! size they go in their order and, at the next size, in the opposite one, so that a steady drift
//! is balanced after every two sizes.

/// Signatures that take turns.
#[derive(Debug, Clone)]
pub struct Turns {
    /// The number of sizes that each has measured.
    done: Vec<usize>,
    /// Whether each has come to its end.
    over: Vec<bool>,
}

impl Turns {
    /// Signatures that have measured these numbers of sizes.
    pub fn after(done: Vec<usize>) -> Self {
        Self { over: vec![false; done.len()], done }
    }

    /// The signature that has the turn; `None` when all are done.
    pub fn next(&self) -> Option<usize> {
        let open = (0..self.done.len()).filter(|index| !self.over[*index]);
        let least = open.clone().map(|index| self.done[index]).min()?;
        let mut behind = open.filter(|index| self.done[*index] == least);
        if least % 2 == 0 { behind.next() } else { behind.next_back() }
    }

    /// This one has measured a size.
    pub fn measured(&mut self, index: usize) {
        self.done[index] += 1;
    }

    /// This one has come to its end.
    pub fn ended(&mut self, index: usize) {
        self.over[index] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All turns until every signature has its `sizes`.
    fn play(mut turns: Turns, sizes: &[usize]) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(index) = turns.next() {
            if turns.done[index] == sizes[index] {
                turns.ended(index);
            } else {
                order.push(index);
                turns.measured(index);
            }
        }
        order
    }

    #[test]
    fn every_second_size_goes_the_other_way_round() {
        assert_eq!(play(Turns::after(vec![0, 0]), &[4, 4]), [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(play(Turns::after(vec![0; 3]), &[2, 2, 2]), [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn who_has_fewer_sizes_ends_earlier_and_the_others_go_on() {
        assert_eq!(play(Turns::after(vec![0, 0]), &[1, 3]), [0, 1, 1, 1]);
        assert_eq!(play(Turns::after(Vec::new()), &[]), [0; 0]);
    }

    #[test]
    fn who_is_behind_when_a_run_is_resumed_comes_first() {
        assert_eq!(play(Turns::after(vec![2, 1, 1]), &[3, 3, 3]), [2, 1, 0, 1, 2]);
    }
}
