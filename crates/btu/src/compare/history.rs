//! Earlier runs that show how far runs of the same plan lie apart.

use std::collections::{BTreeMap, BTreeSet};

use btu_control::environment::Environment;
use btu_store::{RunId, State, Store};
use btu_suite::compare::{Group, Run};

use super::Compared;
use super::sides::{Chosen, Member};

/// The newest so many of a group are read.
const MOST: usize = 20;

/// What has to be the same for runs to repeat one another: the plan, and the machine in broad terms.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    plan: String,
    machine: String,
}

impl Key {
    fn of<C: Compared>(suite: &C, member: &Member<C::Plan>) -> Self {
        let machine = member.machine.as_ref().map_or_else(String::new, machine);
        // By the plan itself: what is stored beside it may be anybody's.
        Self { plan: suite.hash(&member.plan), machine }
    }
}

/// Processors, kernel, and the program itself.
fn machine(environment: &Environment) -> String {
    let processor = &environment.processor;
    let model = processor.model.as_deref().unwrap_or_default();
    let kernel = environment.kernel.release.as_deref().unwrap_or_default();
    format!("{} x {model}, {kernel}, {}", processor.online, environment.btu_version)
}

/// Complete runs with the plan and machine of one of the sides, which are not on a side themselves.
pub(super) fn earlier<C: Compared>(
    suite: &C,
    store: &Store,
    sides: &[Chosen<C::Plan>],
) -> anyhow::Result<Vec<Group<C::Row>>> {
    let members = || sides.iter().flat_map(|side| &side.members);
    let chosen: BTreeSet<RunId> = members().map(|member| member.row.summary.id).collect();
    let wanted: BTreeSet<Key> = members().map(|member| Key::of(suite, member)).collect();
    let mut found: BTreeMap<Key, Vec<Member<C::Plan>>> = BTreeMap::new();
    for run in store.runs()?.into_iter().rev() {
        if !suite.is_of(&run.suite) || run.state != State::Complete || chosen.contains(&run.id) {
            continue;
        }
        // A run that cannot be read teaches nothing, and is no reason not to compare others.
        let Ok(member) = Member::read(suite, store, run.id) else { continue };
        let key = Key::of(suite, &member);
        if wanted.contains(&key) {
            found.entry(key).or_default().push(member);
        }
    }
    found.into_values().map(|runs| group(suite, store, &runs)).collect()
}

fn group<C: Compared>(suite: &C, store: &Store, newest_first: &[Member<C::Plan>]) -> anyhow::Result<Group<C::Row>> {
    let newest = newest_first.iter().take(MOST);
    let run = |member: &Member<C::Plan>| -> anyhow::Result<Run<C::Row>> {
        Ok(Run { name: member.name(), readings: suite.readings(store, &member.row, &member.plan)? })
    };
    Ok(Group { name: String::new(), network: String::new(), runs: newest.map(run).collect::<anyhow::Result<_>>()? })
}
