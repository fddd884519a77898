//! Which hosts must reach each other, checked before anything is measured on real hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::{CellSetting, Scripts};
use crate::network::HostName;
use crate::script::Step;

/// Which hosts connect to which others in a plan's cells, (caller, called), in the order of the
/// cells: enough of them that each host that calls has called once, that each that is called was
/// called once, and that each has met two others, where it meets so many. Whether another pair meets
/// is for its cell to find out.
pub fn calls<E: Scripts>(plan: &E) -> Vec<[HostName; 2]> {
    let setting = CellSetting::unplayed(plan.frame());
    let scripts = plan.cells().into_iter().map(|cell| plan.script(&cell, &setting).steps);
    let made = scripts.flat_map(|steps| {
        let call = |step: &Step| {
            let peer = step.peer.and_then(|peer| steps.get(peer))?;
            Some([step.host.clone(), peer.host.clone()])
        };
        steps.iter().filter_map(call).collect::<Vec<_>>()
    });
    enough(made.filter(|[caller, called]| caller != called))
}

/// How many others a host meets before its calls are left out.
const PARTNERS: usize = 2;

fn enough(calls: impl Iterator<Item = [HostName; 2]>) -> Vec<[HostName; 2]> {
    let (mut kept, mut callers, mut called) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut met: BTreeMap<HostName, BTreeSet<HostName>> = BTreeMap::new();
    for call in calls {
        let [one, other] = &call;
        let is_first = [callers.insert(one.clone()), called.insert(other.clone())].contains(&true);
        let mut meets = |host: &HostName, peer: &HostName| {
            let partners = met.entry(host.clone()).or_default();
            partners.len() < PARTNERS && partners.insert(peer.clone())
        };
        let is_new = [meets(one, other), meets(other, one)].contains(&true);
        if is_first || is_new {
            kept.push(call);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(calls: &[[usize; 2]]) -> Vec<[HostName; 2]> {
        let name = |host: usize| HostName::try_from(format!("h{host}")).unwrap();
        calls.iter().map(|call| call.map(name)).collect()
    }

    /// A pair that fails is not the only one of its hosts, in whatever order pairs meet.
    #[test]
    fn each_host_meets_two_others_and_few_calls_do() {
        let all: Vec<[usize; 2]> = (0..8)
            .flat_map(|one| (one + 1..8).flat_map(move |other| [[one, other], [other, one]]))
            .collect();
        let kept = enough(named(&all).into_iter());
        assert!(kept.len() <= 32, "{}", kept.len());
        for host in 0..8 {
            let name = HostName::try_from(format!("h{host}")).unwrap();
            let others: BTreeSet<&HostName> =
                kept.iter().filter(|call| call.contains(&name)).flatten().collect();
            assert!(others.len() > PARTNERS, "{name}: {others:?}");
            assert!(kept.iter().any(|call| call[0] == name), "{name} calls no host");
            assert!(kept.iter().any(|call| call[1] == name), "no host calls {name}");
        }
    }

    #[test]
    fn users_of_one_server_all_call_it_once() {
        let star = named(&[[1, 0], [2, 0], [3, 0], [1, 0]]);
        assert_eq!(enough(star.clone().into_iter()), star[..3]);
    }
}
