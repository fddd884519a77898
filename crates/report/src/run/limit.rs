//! What decides the result of an experiment: the factor with most of the variance; or what limits it:
//! the processors of the programs, or what these wait for.

use btu_stats::Estimate;
use btu_studies::run::{ProgramTime, ProgramUse, RowUse, RunPlan, RunVerdict, ValueVerdict};

use super::effects::words;
use crate::versus::{leaders, list};

/// A program that uses a processor for so much of its time is limited by that processor.
const MOST: f64 = 0.9;

const PERCENT: f64 = 100.0;

/// Which factor decides the first value, if several are varied and one has an effect above chance.
/// One alone makes all of the variance.
pub(super) fn decided(plan: &RunPlan, verdict: &RunVerdict) -> String {
    let value = verdict.values.first().filter(|_| plan.factors.len() > 1);
    value.and_then(|value| decisive(plan, value)).unwrap_or_default()
}

/// What limits the programs, if no factor decides; empty where that is not known.
pub(super) fn limit(plan: &RunPlan, verdict: &RunVerdict) -> String {
    let is_decided = !decided(plan, verdict).is_empty();
    if is_decided { String::new() } else { processors(verdict).unwrap_or_default() }
}

/// The factor, or the two together, with the largest share, if that is above chance; several if their
/// intervals overlap.
fn decisive(plan: &RunPlan, value: &ValueVerdict) -> Option<String> {
    let found = value.effects.as_ref()?;
    let chance = found.effects.noise(found.blocks)?;
    let mut shares: Vec<(String, Estimate)> = found
        .effects
        .terms
        .iter()
        .filter(|term| term.share.value > chance)
        .map(|term| (words(&plan.factors, &term.factors), term.share))
        .collect();
    shares.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    let (name, share) = shares.first()?;
    Some(match leaders(&shares).as_slice() {
        [_] => format!(
            "{name}, which makes {:.0} % of the variance of {}",
            share.value * PERCENT,
            value.name
        ),
        several => format!("{}: cannot tell which has the larger share", list(several)),
    })
}

/// What limits the busiest program of each row, for which the others wait. Where it is not the same in all rows, it is said
/// of which rows it is.
fn processors(verdict: &RunVerdict) -> Option<String> {
    let all: Vec<(&str, Limit)> = verdict
        .uses
        .iter()
        .filter_map(|row| Some((row.cell.name.as_str(), Limit::of(row)?)))
        .collect();
    // Programs of a loaded row may run for long enough to be divided where those of the quiet one did not.
    let is_some_known = all.iter().any(|(_, limit)| limit.is_known);
    let mut different: Vec<(Limit, Vec<&str>)> = Vec::new();
    for (row, limit) in all.into_iter().filter(|(_, limit)| limit.is_known == is_some_known) {
        match different.iter_mut().find(|(known, _)| known.is_like(&limit)) {
            Some((known, rows)) => {
                known.add(&limit);
                rows.push(row);
            }
            None => different.push((limit, vec![row])),
        }
    }
    let words = different.iter().map(|(limit, rows)| {
        let is_of_all = rows.len() == verdict.uses.len();
        limit.words() + &if is_of_all { String::new() } else { format!(", {}", list(rows)) }
    });
    Some(words.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
}

/// What limits the busiest program of some rows.
struct Limit {
    what: &'static str,
    program: String,
    least: f64,
    most: f64,
    is_known: bool,
}

const PROCESSORS: &str = "processors";

impl Limit {
    fn of(row: &RowUse) -> Option<Self> {
        let programs = row.programs.iter().filter(|program| program.elapsed_seconds > 0.0);
        let program = programs.max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
        let busy = busy(program);
        let (what, share) = match program.time.map(most) {
            // Several threads use more than one processor.
            _ if busy >= MOST => (PROCESSORS, busy),
            Some(part) => part,
            None => ("", busy),
        };
        let program = program.name.clone();
        Some(Self { what, program, least: share, most: share, is_known: !what.is_empty() })
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.what, &self.program) == (other.what, &other.program)
    }

    fn add(&mut self, other: &Self) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }

    fn words(&self) -> String {
        let range = |one: &dyn Fn(f64) -> String| {
            let (least, most) = (one(self.least), one(self.most));
            if least == most { least } else { format!("{least} to {most}") }
        };
        let (what, name) = (self.what, &self.program);
        let percent = range(&|share| format!("{:.0}", share * PERCENT));
        match what {
            PROCESSORS => {
                let count = range(&|count| format!("{count:.1}"));
                format!("{what}: {name} keeps {count} busy all the time")
            }
            "" => format!("what {name} waits for: it uses a processor {percent} % of its time"),
            _ => format!("{what}: {percent} % of the time of {name}"),
        }
    }
}

/// The largest part of a program's time, in words.
fn most(time: ProgramTime) -> (&'static str, f64) {
    let parts = [
        ("its processor", time.on_processor),
        ("other work on the processors", time.waiting),
        ("a disk", time.disk),
        ("waiting at sockets, for the network, the other end or a time limit", time.sockets),
        ("its own pauses", time.sleeping),
        ("pipes, locks or other processes", time.other),
    ];
    parts.into_iter().fold(parts[0], |most, one| if one.1 > most.1 { one } else { most })
}

/// Processors that a program uses.
fn busy(program: &ProgramUse) -> f64 {
    (program.user_seconds + program.system_seconds) / program.elapsed_seconds
}

#[cfg(test)]
mod tests {
    use btu_studies::run::RunCell;

    use super::*;

    fn of(name: &str, processor_seconds: f64) -> ProgramUse {
        ProgramUse {
            name: name.to_owned(),
            elapsed_seconds: 2.0,
            user_seconds: processor_seconds / 2.0,
            system_seconds: processor_seconds / 2.0,
            peak_memory_bytes: 1e6,
            least_memory_bytes: 1e6,
            voluntary_switches: 1.0,
            involuntary_switches: 0.0,
            time: None,
        }
    }

    fn limited_by_rows(rows: Vec<(&str, Vec<ProgramUse>)>) -> Option<String> {
        let row = |(name, programs): (&str, Vec<ProgramUse>)| {
            let cell = RunCell { levels: Vec::new(), name: name.to_owned() };
            RowUse { cell, lead_seconds: None, invalid: 0, fault: None, programs }
        };
        let uses = rows.into_iter().map(row).collect();
        processors(&RunVerdict { values: Vec::new(), uses, warnings: Vec::new() })
    }

    fn limited_by(programs: Vec<ProgramUse>) -> Option<String> {
        limited_by_rows(vec![("x", programs)])
    }

    #[test]
    fn the_busiest_program_says_what_limits() {
        let waits = limited_by(vec![of("idle", 0.0), of("curl", 0.2)]).unwrap();
        assert_eq!(waits, "what curl waits for: it uses a processor 10 % of its time");
        let busy = limited_by(vec![of("curl", 0.2), of("make", 3.0)]).unwrap();
        assert_eq!(busy, "processors: make keeps 1.5 busy all the time");
        let time = ProgramTime {
            moments: 100,
            on_processor: 0.1,
            waiting: 0.0,
            disk: 0.2,
            sockets: 0.7,
            sleeping: 0.0,
            other: 0.0,
        };
        let divided = limited_by(vec![ProgramUse { time: Some(time), ..of("curl", 0.2) }]).unwrap();
        let words = "waiting at sockets, for the network, the other end or a time limit: 70 % of the time of curl";
        assert_eq!(divided, words);
        assert_eq!(limited_by(Vec::new()), None);
        // The quiet row is too short to be divided; the loaded one is not.
        let loaded = || vec![ProgramUse { time: Some(time), ..of("curl", 0.2) }];
        let rows = vec![("quiet", vec![of("curl", 0.2)]), ("load upload", loaded())];
        assert_eq!(limited_by_rows(rows), Some(format!("{words}, load upload")));
        // Rows with the same limit are said once, and others by their names.
        let longer = ProgramTime { sockets: 0.9, ..time };
        let longer = vec![ProgramUse { time: Some(longer), ..of("curl", 0.1) }];
        let busy = vec![of("curl", 1.88)];
        let rows =
            |last| vec![("quiet", loaded()), ("load upload", longer.clone()), ("load cpu", last)];
        let words = "waiting at sockets, for the network, the other end or a time limit: 70 to 90 % of the time of curl";
        assert_eq!(limited_by_rows(rows(loaded())).as_deref(), Some(words));
        let different = format!(
            "{words}, quiet and load upload; processors: curl keeps 0.9 busy all the time, load cpu"
        );
        assert_eq!(limited_by_rows(rows(busy)), Some(different));
    }
}
