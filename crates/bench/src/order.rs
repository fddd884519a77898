//! The random order of a block: every tool of every case once, cases and tools shuffled.

use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::case::{Case, Tool};

/// What is measured in one block, in order; the tools of a case stay together, so that what changes slowly on the
/// machine meets all of them.
pub(crate) fn block(cases: &[Case], random: &mut Pcg64) -> Vec<(Case, Tool)> {
    let mut cases = cases.to_vec();
    cases.shuffle(random);
    let mut order = Vec::new();
    for case in cases {
        let mut tools = case.tools().to_vec();
        tools.shuffle(random);
        order.extend(tools.into_iter().map(|tool| (case, tool)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_block_has_everything_once_and_its_order_comes_from_the_seed() {
        let cases = [Case::Bulk, Case::Small, Case::TcpRequest, Case::UdpRequest];
        let blocks = |seed| {
            let mut random = Pcg64::seed_from_u64(seed);
            (0..5).map(|_| block(&cases, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(blocks(3), blocks(3));
        assert_ne!(blocks(3), blocks(4));
        for block in blocks(3) {
            assert_eq!(block.len(), 10);
            assert!(cases.iter().all(|&case| case.tools().iter().all(|&tool| block.contains(&(case, tool)))));
        }
    }
}
