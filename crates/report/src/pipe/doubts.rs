//! What speaks against signatures.

use btu_suite::pipe::{PipeVerdict, PipeWarning};

use crate::head::{RunHead, TextOptions};
use crate::paint::Paint;
use crate::sheet::wrap;

/// Each reason with what was seen and what to try; first what was noted while the run went on.
pub(super) fn lines(verdict: &PipeVerdict, run: &RunHead, options: &TextOptions) -> Vec<String> {
    of_several(&[(String::new(), verdict)], run, options)
}

/// The same for several signatures with their names: what holds for more than one of them is said once.
pub(super) fn of_several(verdicts: &[(String, &PipeVerdict)], run: &RunHead, options: &TextOptions) -> Vec<String> {
    let (paint, width) = (Paint(options.colour), options.columns() - 4);
    let inside = |text: &str, indent| wrap(text, width, indent).into_iter().map(|line| format!("    {line}"));
    let mut all = Vec::new();
    for note in &run.notes {
        all.push(format!("  {}", paint.doubt("seen during the run")));
        all.extend(inside(note, 0));
    }
    for reasons in alike(verdicts) {
        let first = reasons[0].1;
        all.push(format!("  {}", paint.doubt(first.cause.title())));
        let is_the_same =
            reasons.len() == verdicts.len() && reasons.iter().all(|(_, reason)| reason.seen == first.seen);
        for (name, reason) in &reasons[..if is_the_same { 1 } else { reasons.len() }] {
            let name = if is_the_same || name.is_empty() { String::new() } else { format!("{name}: ") };
            all.extend(inside(&format!("{name}{}", reason.seen), 0));
        }
        all.extend(inside(&format!("try: {}", first.advice), 5));
    }
    if all.is_empty() { all } else { std::iter::once(paint.title("Warnings")).chain(all).collect() }
}

/// Reasons of the same title together, in the order in which they come first.
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
