//! The random order of a block: every tool of every case once, cases and tools shuffled.

use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::case::{Case, Tool};
use crate::signature;

/// One measurement of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTurn {
    pub(crate) case: Case,
    pub(crate) tool: Tool,
    /// For signatures, the smallest and the largest message.
    pub(crate) range: (u64, u64),
}

/// The measurements of one block, in order; the tools of a case, and of each part of a signature,
/// stay together, so that slow changes of the machine affect all of them.
pub(crate) fn block(cases: &[Case], random: &mut Pcg64) -> Vec<ToolTurn> {
    let mut cases = cases.to_vec();
    cases.shuffle(random);
    let mut order = Vec::new();
    for case in cases {
        for range in signature::parts(case) {
            let mut tools = case.tools().to_vec();
            tools.shuffle(random);
            order.extend(tools.into_iter().map(|tool| ToolTurn { case, tool, range }));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn blocks(cases: &[Case], seed: u64) -> Vec<Vec<ToolTurn>> {
        let mut random = Pcg64::seed_from_u64(seed);
        (0..5).map(|_| block(cases, &mut random)).collect()
    }

    #[test]
    fn a_block_has_everything_once_and_its_order_comes_from_the_seed() {
        let cases = [Case::Bulk, Case::Small, Case::TcpRequest, Case::UdpRequest];
        assert_eq!(blocks(&cases, 3), blocks(&cases, 3));
        assert_ne!(blocks(&cases, 3), blocks(&cases, 4));
        for block in blocks(&cases, 3) {
            assert_eq!(block.len(), 10);
            let has = |case, tool| block.iter().any(|turn| (turn.case, turn.tool) == (case, tool));
            assert!(cases.iter().all(|&case| case.tools().iter().all(|&tool| has(case, tool))));
        }
    }

    #[test]
    fn on_the_veth_pair_tools_take_turns_size_by_size() {
        for block in blocks(&[Case::PipeVeth, Case::PipeAtm], 5) {
            let (veth, atm): (Vec<ToolTurn>, Vec<ToolTurn>) =
                block.into_iter().partition(|turn| turn.case == Case::PipeVeth);
            assert_eq!((veth.len(), atm.len()), (2 * 46, 2));
            for pair in veth.chunks(2) {
                assert!(pair[0].range == pair[1].range && pair[0].range.0 == pair[0].range.1);
                assert_ne!(pair[0].tool, pair[1].tool);
            }
            assert_eq!(atm[0].range, (64, 64 << 10));
        }
    }
}
