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

/// The busiest program of the baseline, for which the others wait, or of the first row in which its time is divided:
/// programs of a loaded row may run for long enough where those of the quiet one did not.
fn processors(verdict: &RunVerdict) -> Option<String> {
    let busiest = |row: &RowUse| {
        let programs = row.programs.iter().filter(|program| program.elapsed_seconds > 0.0);
        programs.max_by(|a, b| busy(a).total_cmp(&busy(b))).cloned()
    };
    let each = verdict.uses.iter().filter_map(|row| Some((row, busiest(row)?)));
    let is_known =
        |(_, program): &(&RowUse, ProgramUse)| program.time.is_some() || busy(program) >= MOST;
    let (row, program) = each.clone().find(is_known).or_else(|| each.clone().next())?;
    let is_baseline = verdict.uses.first().is_some_and(|first| first.cell == row.cell);
    let with = if is_baseline { String::new() } else { format!(", {}", row.cell.name) };
    let (name, share) = (format!("{}{with}", program.name), busy(&program));
    // Several threads use more than one processor.
    if share >= MOST {
        return Some(format!("processors: {name} keeps {share:.1} busy all the time"));
    }
    Some(match program.time.map(most) {
        Some((what, share)) => format!("{what}: {:.0} % of the time of {name}", share * PERCENT),
        None => format!(
            "what {name} waits for: it uses a processor {:.0} % of its time",
            share * PERCENT
        ),
    })
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
        let loaded = vec![ProgramUse { time: Some(time), ..of("curl", 0.2) }];
        let rows = vec![("quiet", vec![of("curl", 0.2)]), ("load upload", loaded)];
        assert_eq!(limited_by_rows(rows), Some(format!("{words}, load upload")));
    }
}
