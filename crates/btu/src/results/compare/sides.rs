//! Chooses the runs to compare, checks whether they may be compared, and finds the differences
//! between their machines.

use std::collections::BTreeMap;

use anyhow::Context as _;
use btu_contract::json;
use btu_control::environment::{Change, Environment, changes};
use btu_store::{RunId, RunRow, State, Store};
use btu_studies::compare::{Group, PlanDifference, RunReadings};
use btu_units::shell_word;
use serde::de::DeserializeOwned;

use super::Compared;
use crate::cli::Compare;
use crate::cli::TAG;
use crate::exit::Refusal;
use crate::results;
use crate::stored::before;
use crate::stored::provenance;

/// A run without its cells.
#[derive(Debug)]
pub(super) struct Member<P> {
    pub(super) row: RunRow,
    pub(super) plan: P,
    /// The machine before the first cell; `None` if the run ended before it was recorded.
    pub(super) machine: Option<Environment>,
}

/// One side: the runs that the user named.
#[derive(Debug)]
pub(super) struct Chosen<P> {
    name: String,
    pub(super) members: Vec<Member<P>>,
}

/// The sides, the base first.
pub(super) fn chosen<C: Compared>(
    study: &C,
    store: &Store,
    arguments: &Compare,
) -> anyhow::Result<Vec<Chosen<C::Plan>>> {
    let names = names(arguments);
    if names.len() < 2 {
        let problem = "one side alone cannot be compared: name a second, or give the base with --baseline TAG";
        return Err(Refusal::Usage(problem.to_owned()).into());
    }
    let side = |name: &String| Chosen::of(study, store, name);
    let sides: Vec<Chosen<C::Plan>> = names.iter().map(side).collect::<anyhow::Result<_>>()?;
    refuse_twice(&sides)?;
    Ok(sides)
}

impl<P: DeserializeOwned> Chosen<P> {
    fn of<C: Compared<Plan = P>>(study: &C, store: &Store, name: &str) -> anyhow::Result<Self> {
        let runs = runs(store, name)?;
        let members = runs
            .into_iter()
            .map(|run| Member::read(study, store, run))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { name: name.to_owned(), members })
    }

    /// The side's readings, of rows with an equal meaning in `base`.
    pub(super) fn group<C: Compared<Plan = P>>(
        &self,
        study: &C,
        store: &Store,
        base: &Self,
    ) -> anyhow::Result<Group<C::Row>> {
        let plan = &base.members[0].plan;
        let run = |member: &Member<P>| -> anyhow::Result<RunReadings<C::Row>> {
            let mut run = study.run(store, &member.row, &member.plan)?;
            run.readings.retain(|reading| study.asks_the_same(plan, &member.plan, &reading.row));
            Ok(run)
        };
        let runs = self.members.iter().map(run).collect::<anyhow::Result<_>>()?;
        Ok(Group {
            name: self.shown_name(),
            network: self.members[0].row.summary.network.clone(),
            runs,
        })
    }

    /// As the user wrote it, but `latest` is replaced by the run's name.
    fn shown_name(&self) -> String {
        if self.name.starts_with(TAG) {
            return self.name.clone();
        }
        self.members.iter().map(Member::name).collect::<Vec<_>>().join(",")
    }
}

/// The sides as they were named, the base first.
fn names(arguments: &Compare) -> Vec<String> {
    let baseline = arguments.baseline.as_ref().map(|tag| format!("{TAG}{tag}"));
    baseline.into_iter().chain(arguments.sides.iter().cloned()).collect()
}

/// The runs of a side.
fn runs(store: &Store, name: &str) -> anyhow::Result<Vec<RunId>> {
    match name.strip_prefix(TAG) {
        Some(tag) => tagged(store, tag),
        None => Ok(name.split(',').map(|run| store.find(run)).collect::<Result<_, _>>()?),
    }
}

/// The first run of all, which decides the study of the comparison.
pub(super) fn first(store: &Store, arguments: &Compare) -> anyhow::Result<RunRow> {
    let names = names(arguments);
    let run = names
        .first()
        .map(|name| runs(store, name))
        .transpose()?
        .and_then(|runs| runs.into_iter().next());
    let run = run
        .ok_or_else(|| Refusal::Usage("name two sides, such as `btu compare r4 r9`".to_owned()))?;
    Ok(store.run(&run.to_string())?)
}

/// Runs with a tag that were finished: a running or aborted run would not be noticed among many.
fn tagged(store: &Store, tag: &str) -> anyhow::Result<Vec<RunId>> {
    let runs = store.runs()?;
    let has = runs.iter().filter(|run| run.tags.iter().any(|other| other == tag));
    let complete: Vec<RunId> =
        has.filter(|run| run.state == State::Complete).map(|run| run.id).collect();
    if complete.is_empty() {
        let quoted = shell_word(tag);
        let problem = format!(
            "no complete run has the tag `{tag}`; give it one with `btu runs tag RUN {quoted}`"
        );
        return Err(Refusal::Usage(problem).into());
    }
    Ok(complete)
}

impl<P: DeserializeOwned> Member<P> {
    pub(super) fn read<C: Compared<Plan = P>>(
        study: &C,
        store: &Store,
        run: RunId,
    ) -> anyhow::Result<Self> {
        let row = store.run(&run.to_string())?;
        if !study.is_of(&row.summary.study) {
            let command = results::of(&row)?.resumed_by(&row);
            let (its, ours) = (command.unwrap_or(&row.summary.study), study.commands());
            let problem = format!(
                "{run} is a run of `{its}`, and the first one is of `{ours}`: compare runs of one command"
            );
            return Err(Refusal::Usage(problem).into());
        }
        let plan = json::from_value(&row.plan)
            .with_context(|| format!("reading the plan of run {run}"))?;
        let machine = before(&row);
        Ok(Self { row, plan, machine })
    }

    pub(super) fn name(&self) -> String {
        self.row.summary.id.to_string()
    }
}

/// Notes for each run its place among all by the time of its start.
pub(super) fn put_in_time<P, R>(sides: &[Chosen<P>], groups: &mut [Group<R>]) {
    let members = sides.iter().flat_map(|side| &side.members);
    let start = |member: &Member<P>| {
        let run = &member.row.summary;
        (run.created.parse::<jiff::Timestamp>().ok(), run.id)
    };
    let mut starts: Vec<_> = members.clone().map(start).collect();
    starts.sort();
    for (run, member) in groups.iter_mut().flat_map(|group| &mut group.runs).zip(members) {
        run.place = starts.partition_point(|other| *other < start(member));
    }
}

/// A run on two sides, or twice on one, would count twice.
fn refuse_twice<P: DeserializeOwned>(sides: &[Chosen<P>]) -> Result<(), Refusal> {
    let mut seen = BTreeMap::new();
    for side in sides {
        for member in &side.members {
            if let Some(other) = seen.insert(member.row.summary.id, &side.name) {
                let problem = format!(
                    "{} is in `{other}` and in `{}`: the same run was given twice",
                    member.name(),
                    side.name
                );
                return Err(Refusal::Usage(problem));
            }
        }
    }
    Ok(())
}

/// Refuses plans that differ, unless the user allowed it.
pub(super) fn guard<C: Compared>(
    study: &C,
    sides: &[Chosen<C::Plan>],
    arguments: &Compare,
) -> Result<(), Refusal> {
    if arguments.force {
        return Ok(());
    }
    for side in sides {
        let first = &side.members[0];
        for member in &side.members[1..] {
            if let Some(difference) = study.differences(&first.plan, &member.plan).first() {
                let (first, name) = (first.name(), member.name());
                return Err(Refusal::Usage(format!(
                    "{name} does not repeat {first} of the same side ({difference}); --force compares what all have"
                )));
            }
        }
    }
    let base = &sides[0];
    for side in &sides[1..] {
        let differences = plan_differences_of(study, base, side);
        let odd: Vec<&PlanDifference> = differences
            .iter()
            .filter(|difference| !arguments.across.contains(&difference.aspect))
            .collect();
        if !odd.is_empty() {
            return Err(Refusal::Usage(unlike(base, side, &odd)));
        }
    }
    Ok(())
}

/// The differences between the plans of two sides.
pub(super) fn plan_differences_of<C: Compared>(
    study: &C,
    base: &Chosen<C::Plan>,
    other: &Chosen<C::Plan>,
) -> Vec<PlanDifference> {
    study.differences(&base.members[0].plan, &other.members[0].plan)
}

fn unlike<P: DeserializeOwned>(
    base: &Chosen<P>,
    side: &Chosen<P>,
    differences: &[&PlanDifference],
) -> String {
    let shown = differences.iter().take(MOST_DIFFERENCES).map(ToString::to_string);
    let rest = differences.len().saturating_sub(MOST_DIFFERENCES);
    let rest = (rest > 0).then(|| format!("{rest} more"));
    let what = shown.chain(rest).collect::<Vec<_>>().join("; ");
    let mut aspects: Vec<&str> =
        differences.iter().map(|difference| difference.aspect.name()).collect();
    aspects.dedup();
    format!(
        "settings differ between {} and {}: {what}. If that is what you compare, add --across {}; --force \
         compares what both have",
        base.shown_name(),
        side.shown_name(),
        aspects.join(",")
    )
}

/// Differences of plans that one sentence names.
const MOST_DIFFERENCES: usize = 4;

/// Notes about the machines, a sentence each: runs that were resumed on another machine or version,
/// then every setting in which a machine of `other` differs from that of the base's first run.
pub(super) fn environment_differences<P: DeserializeOwned>(
    base: &Chosen<P>,
    other: &Chosen<P>,
) -> Vec<String> {
    let mut sentences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in &other.members {
        let both = base.members[0].machine.iter().zip(&member.machine);
        for change in both.flat_map(|(first, machine)| changes(first, machine)) {
            sentences
                .entry(sentence(&base.members[0].name(), &change))
                .or_default()
                .push(member.name());
        }
    }
    let resumed = base
        .members
        .iter()
        .chain(&other.members)
        .flat_map(|member| provenance::named_changes(&member.row));
    let differ =
        sentences.into_iter().map(|(sentence, runs)| format!("{sentence} in {}", runs.join(", ")));
    resumed.chain(differ).collect()
}

fn sentence(base: &str, change: &Change) -> String {
    let value = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "absent".to_owned(), |value| format!("`{value}`"))
    };
    format!("{}: {} in {base}, {}", change.name, value(&change.first), value(&change.second))
}
