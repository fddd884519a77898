//! Warnings about signatures.

use btu_studies::pipe::{PipeVerdict, PipeWarning};

/// A warning about one or several signatures.
pub(super) struct Reason<'a> {
    pub(super) title: &'static str,
    /// The observation, with the signature's name if it does not hold for all of them.
    pub(super) seen: Vec<String>,
    pub(super) advice: &'a str,
}

/// Warnings of several signatures with their names: one that holds for all of them is shown once.
pub(super) fn together<'a>(verdicts: &'a [(String, &'a PipeVerdict)]) -> Vec<Reason<'a>> {
    let reason = |reasons: Vec<(&str, &'a PipeWarning)>| {
        let first = reasons[0].1;
        let is_the_same = reasons.len() == verdicts.len()
            && reasons.iter().all(|(_, reason)| reason.observed == first.observed);
        let named = |(name, reason): &(&str, &PipeWarning)| {
            if is_the_same || name.is_empty() {
                reason.observed.clone()
            } else {
                format!("{name}: {}", reason.observed)
            }
        };
        let seen =
            reasons[..if is_the_same { 1 } else { reasons.len() }].iter().map(named).collect();
        Reason { title: first.cause.title(), seen, advice: &first.advice }
    };
    alike(verdicts).into_iter().map(reason).collect()
}

/// Warnings grouped by title, in the order of their first occurrence.
fn alike<'a>(verdicts: &'a [(String, &'a PipeVerdict)]) -> Vec<Vec<(&'a str, &'a PipeWarning)>> {
    let mut groups: Vec<Vec<(&str, &PipeWarning)>> = Vec::new();
    for (name, verdict) in verdicts {
        for warning in &verdict.warnings {
            let title = warning.cause.title();
            match groups.iter_mut().find(|group| group[0].1.cause.title() == title) {
                Some(group) => group.push((name, warning)),
                None => groups.push(vec![(name, warning)]),
            }
        }
    }
    groups
}
