//! Warnings that are common to all studies.

use btu_units::Span;
use serde::Serialize;

use super::Measured;
use crate::record::ClockSteps;
use crate::record::{Shares, WireAccount};
use crate::text::count;

/// A warning about a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The title, in two or three words.
    pub cause: &'static str,
    /// The observation that caused the warning.
    pub observed: String,
    /// The advice; may be empty.
    pub advice: &'static str,
}

/// Cells that do not count, processor time that went elsewhere, frames that left the emulator late,
/// wall clocks that were set: they make any measurement unreliable.
pub fn warnings<C: std::fmt::Display>(cells: &[Measured<C>]) -> Vec<Warning> {
    [invalid(cells), steal(cells), late(cells), stepped(cells)].into_iter().flatten().collect()
}

fn invalid<C: std::fmt::Display>(cells: &[Measured<C>]) -> Option<Warning> {
    let invalid = cells.iter().filter(|cell| !cell.is_valid());
    let first = invalid.clone().next()?;
    let why = first.faults.first().cloned().unwrap_or_default();
    Some(Warning {
        cause: "cells that do not count",
        observed: format!(
            "{} of {}; the first, {}: {why}",
            invalid.count(),
            cells.len(),
            first.cell
        ),
        advice: "`btu show RUN --cells` names the faults of every cell",
    })
}

fn steal<C>(cells: &[Measured<C>]) -> Option<Warning> {
    let share = Shares::of(valid(cells).map(|cell| &cell.seen.machine))?.steal;
    (share > Shares::MOST_STEAL).then(|| Warning {
        cause: "stolen processor time",
        observed: format!(
            "the hypervisor took {:.1} % of the processors' time for others",
            share * 100.0
        ),
        advice: "measure on a dedicated machine, or when its neighbours are quiet",
    })
}

fn late<C>(cells: &[Measured<C>]) -> Option<Warning> {
    let lateness = WireAccount::harmful_lateness(valid(cells).map(|cell| &cell.seen.wire))?;
    let (p99_ns, max_ns) = (lateness.quantile(0.99)?, lateness.max()?);
    Some(Warning {
        cause: "late frames",
        observed: format!(
            "one frame in a hundred left the emulator {} late or later, the latest {}",
            Span::from_nanoseconds(p99_ns),
            Span::from_nanoseconds(max_ns)
        ),
        advice: "leave the machine alone while it measures, or choose a slower network",
    })
}

fn stepped<C>(cells: &[Measured<C>]) -> Option<Warning> {
    let steps = ClockSteps::of(valid(cells).map(|cell| &cell.seen.machine))?;
    let (of, worst) =
        (count(valid(cells).count() as u64, "cell"), Span::from_nanoseconds(steps.worst_ns));
    Some(Warning {
        cause: "stepped clock",
        observed: format!("a wall clock was stepped in {} of {of}, by up to {worst}", steps.cells),
        advice: ClockSteps::ADVICE,
    })
}

fn valid<C>(cells: &[Measured<C>]) -> impl Iterator<Item = &Measured<C>> {
    cells.iter().filter(|cell| cell.is_valid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Observation;

    fn cell(change: impl FnOnce(&mut Measured<u32>)) -> Measured<u32> {
        let mut seen = Observation::default();
        seen.machine.idle_ns = 1_000_000_000;
        (0..1000).for_each(|_| seen.wire.lateness.record(20_000));
        let mut cell = Measured { cell: 7, block: 0, position: 0, faults: Vec::new(), seen };
        change(&mut cell);
        cell
    }

    fn causes(cells: &[Measured<u32>]) -> Vec<&'static str> {
        warnings(cells).into_iter().map(|warning| warning.cause).collect()
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        assert!(causes(&[cell(|_| {}), cell(|_| {})]).is_empty());
        assert!(causes(&[]).is_empty());
    }

    #[test]
    fn each_reason_is_told() {
        assert_eq!(
            causes(&[cell(|cell| cell.seen.machine.steal_ns = 20_000_000)]),
            ["stolen processor time"]
        );
        let late = |cell: &mut Measured<u32>| {
            (0..20).for_each(|_| cell.seen.wire.lateness.record(200_000));
        };
        assert_eq!(causes(&[cell(late)]), ["late frames"]);
        let stepped = cell(|cell| cell.seen.machine.stepped_ns = 60_000_000_000);
        let [found] = &warnings(&[cell(|_| {}), stepped])[..] else { panic!("one reason") };
        assert_eq!(
            (found.cause, &*found.observed),
            ("stepped clock", "a wall clock was stepped in 1 of 2 cells, by up to 60 s")
        );
        let broken = cell(|cell| cell.faults = vec!["it fell".to_owned()]);
        assert_eq!(warnings(&[cell(|_| {}), broken])[0].observed, "1 of 2; the first, 7: it fell");
    }
    /// No cell of a machine that slept counts, whatever its activities report.
    #[test]
    fn sleep_is_a_fault_of_every_study() {
        let mut seen = Observation::default();
        assert_eq!(seen.failures(), Vec::<String>::new());
        seen.machine.slept_ns = 3_000_000_000;
        assert_eq!(seen.failures(), ["the machine slept 3 s meanwhile"]);
    }
}
