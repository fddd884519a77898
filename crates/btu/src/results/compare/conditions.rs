//! The conditions under which compared runs were measured, next to each other where they differ. They are
//! evidence: no value is changed by them.

use btu_control::environment::Environment;
use btu_store::{RunRow, Store};
use btu_units::Span;
use serde::de::DeserializeOwned;

use super::sides::Chosen;
use crate::stored::{after, before};

/// Latencies of one pair of processors differ by a fifth from run to run without a cause that is known.
const LATENCY: f64 = 1.25;

/// A twentieth is more than plain arithmetic varies on cores of one's own.
const ARITHMETIC: f64 = 1.05;

/// Shares of the processors' time that differ by less change results by less than other things do.
const STOLEN: f64 = 0.02;
const BUSY: f64 = 0.1;

/// What helps, once.
const ADVICE: &str = "conditions differ: to tell whether they make a difference, measure both in turns (`btu run` with \
                      variants), more runs of each, or on a quiet machine";

/// The conditions of a run.
#[derive(Debug, Default)]
struct Conditions {
    /// The medians of what was read around cells.
    core_to_core: Option<Span>,
    arithmetic: Option<Span>,
    /// Of all processors' time from before to after the run, 0 to 1.
    stolen: Option<f64>,
    /// Of all processors' time just before the run, by others.
    busy: Option<f64>,
    /// Whether it was measured in virtual time.
    is_virtual: Option<bool>,
}

impl Conditions {
    fn of(store: &Store, row: &RunRow) -> Self {
        // A record that cannot be read has no readings; who shows it says so.
        let read = store.processors(row.summary.id).unwrap_or_default();
        let (start, end) = (before(row), after(row));
        Self {
            core_to_core: median(read.iter().filter_map(|one| one.core_to_core)),
            arithmetic: median(read.iter().filter_map(|one| one.arithmetic)),
            stolen: start.as_ref().zip(end.as_ref()).and_then(|(start, end)| stolen(start, end)),
            is_virtual: start.as_ref().map(|start| start.kernel.has_virtual_time()),
            busy: start.and_then(|start| start.busy),
        }
    }
}

fn median(times: impl Iterator<Item = Span>) -> Option<Span> {
    let mut times: Vec<Span> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// The share of the processors' time that the hypervisor took for others meanwhile.
fn stolen(start: &Environment, end: &Environment) -> Option<f64> {
    let [start, end] = [start.cpu_time?, end.cpu_time?];
    let all = |cpu: btu_contract::record::MachineCpu| {
        cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.softirq_ns + cpu.steal_ns + cpu.idle_ns
    };
    let whole = all(end).checked_sub(all(start)).filter(|whole| *whole > 0)?;
    Some(end.steal_ns.checked_sub(start.steal_ns)? as f64 / whole as f64)
}

/// A sentence for each condition in which a run of `other` differs much from the base's first run, and what helps.
pub(super) fn differences<P: DeserializeOwned>(
    store: &Store,
    base: &Chosen<P>,
    other: &Chosen<P>,
) -> Vec<String> {
    let first = &base.members[0];
    let mine = Conditions::of(store, &first.row);
    let mut sentences: Vec<String> = other
        .members
        .iter()
        .flat_map(|member| {
            let theirs = Conditions::of(store, &member.row);
            of_two((&first.name(), &mine), (&member.name(), &theirs))
        })
        .collect();
    if !sentences.is_empty() {
        sentences.push(ADVICE.to_owned());
    }
    sentences
}

fn of_two((base, mine): (&str, &Conditions), (other, theirs): (&str, &Conditions)) -> Vec<String> {
    let times = |what: &str, pair: Option<(Span, Span)>, factor: f64| {
        let (mine, theirs) = pair?;
        let ratio = theirs.seconds().max(1e-9) / mine.seconds().max(1e-9);
        (ratio.max(ratio.recip()) >= factor)
            .then(|| format!("{what}: `{mine}` in {base}, `{theirs}` in {other}"))
    };
    let shares = |what: &str, pair: Option<(f64, f64)>, least: f64| {
        let (mine, theirs) = pair?;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        ((theirs - mine).abs() >= least).then(|| {
            format!("{what}: `{}` in {base}, `{}` in {other}", percent(mine), percent(theirs))
        })
    };
    let time = mine.is_virtual.zip(theirs.is_virtual).filter(|(mine, theirs)| mine != theirs);
    let kind = |is_virtual: bool| if is_virtual { "virtual" } else { "real" };
    [
        time.map(|(mine, theirs)| {
            format!("time: `{}` in {base}, `{}` in {other}", kind(mine), kind(theirs))
        }),
        times("core-to-core latency, median", mine.core_to_core.zip(theirs.core_to_core), LATENCY),
        times(
            "time for a fixed piece of arithmetic, median",
            mine.arithmetic.zip(theirs.arithmetic),
            ARITHMETIC,
        ),
        shares("processor time taken by the hypervisor", mine.stolen.zip(theirs.stolen), STOLEN),
        shares("processors used by others just before", mine.busy.zip(theirs.busy), BUSY),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_much_is_named_with_both_values() {
        let ns = |nanoseconds| Some(Span::from_nanoseconds(nanoseconds));
        let quiet = || Conditions {
            core_to_core: ns(60),
            arithmetic: ns(28_000),
            stolen: Some(0.0),
            busy: Some(0.01),
            is_virtual: Some(false),
        };
        let seen = |other: Conditions| of_two(("r1", &quiet()), ("r2", &other));
        assert_eq!(seen(quiet()), [] as [&str; 0]);
        assert_eq!(seen(Conditions::default()), [] as [&str; 0]);
        let near = Conditions { core_to_core: ns(74), arithmetic: ns(29_000), ..quiet() };
        assert_eq!(seen(near), [] as [&str; 0]);
        let slow = Conditions {
            core_to_core: ns(310),
            arithmetic: ns(43_000),
            stolen: Some(0.05),
            busy: Some(0.9),
            is_virtual: Some(true),
        };
        assert_eq!(
            seen(slow),
            [
                "time: `real` in r1, `virtual` in r2",
                "core-to-core latency, median: `60 ns` in r1, `310 ns` in r2",
                "time for a fixed piece of arithmetic, median: `28 us` in r1, `43 us` in r2",
                "processor time taken by the hypervisor: `0 %` in r1, `5 %` in r2",
                "processors used by others just before: `1 %` in r1, `90 %` in r2"
            ]
        );
    }
}
