//! Which hosts must reach each other, checked before anything is measured on real hosts.

use super::{CellSetting, Experiment};
use crate::network::HostName;

/// Which hosts connect to which others in a plan's cells: (caller, called), each pair once, in the
/// order of the cells.
pub fn calls<E: Experiment>(plan: &E) -> Vec<[HostName; 2]> {
    let setting = CellSetting::unplayed(plan.frame());
    let mut pairs = Vec::new();
    for cell in plan.cells() {
        let steps = plan.script(&cell, &setting).steps;
        for step in &steps {
            let Some(peer) = step.peer.and_then(|peer| steps.get(peer)) else { continue };
            let pair = [&step.host, &peer.host];
            if pair[0] != pair[1]
                && !pairs.iter().any(|known: &[HostName; 2]| known.each_ref() == pair)
            {
                pairs.push(pair.map(Clone::clone));
            }
        }
    }
    pairs
}
