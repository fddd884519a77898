//! Which hosts must reach each other, checked before anything is measured on real hosts.

use std::collections::BTreeSet;

use super::{CellSetting, Experiment};
use crate::network::HostName;

/// Which hosts connect to which others in a plan's cells, (caller, called), in the order of the
/// cells: enough of them that each host that calls has called once, and each that is called was
/// called once. Whether another pair of them meets is for its cell to find out.
pub fn calls<E: Experiment>(plan: &E) -> Vec<[HostName; 2]> {
    let setting = CellSetting::unplayed(plan.frame());
    let (mut pairs, mut callers, mut called) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for cell in plan.cells() {
        let steps = plan.script(&cell, &setting).steps;
        for step in &steps {
            let Some(peer) = step.peer.and_then(|peer| steps.get(peer)) else { continue };
            if step.host == peer.host {
                continue;
            }
            let [is_new, is_newly_called] =
                [callers.insert(step.host.clone()), called.insert(peer.host.clone())];
            if is_new || is_newly_called {
                pairs.push([step.host.clone(), peer.host.clone()]);
            }
        }
    }
    pairs
}
