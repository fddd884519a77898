//! What decides the result of an experiment: the factor with most of the variance; or what limits it:
//! the processors of the programs, or what these wait for.

use btu_stats::Estimate;
use btu_studies::run::{ProgramTime, ProgramUse, RunPlan, RunVerdict, ValueVerdict};

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

/// The busiest program of the baseline; the others wait for it.
fn processors(verdict: &RunVerdict) -> Option<String> {
    let programs = verdict.uses.first()?.programs.iter();
    let program = programs
        .filter(|program| program.elapsed_seconds > 0.0)
        .max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
    let (name, share) = (&program.name, busy(program));
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
        ("the network or the other end", time.sockets),
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
    use btu_studies::run::{RowUse, RunCell};

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

    fn limited_by(programs: Vec<ProgramUse>) -> Option<String> {
        let cell = RunCell { levels: Vec::new(), name: "x".to_owned() };
        let row = RowUse { cell, lead_seconds: None, invalid: 0, fault: None, programs };
        processors(&RunVerdict { values: Vec::new(), uses: vec![row], warnings: Vec::new() })
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
        assert_eq!(divided, "the network or the other end: 70 % of the time of curl");
        assert_eq!(limited_by(Vec::new()), None);
    }
}
