//! What speaks against a signature.

use btu_suite::pipe::PipeVerdict;

use crate::head::{RunHead, TextOptions};
use crate::paint::Paint;
use crate::sheet::wrap;

/// Each reason with what was seen and what to try; first what was noted while the run went on.
pub(super) fn lines(verdict: &PipeVerdict, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let (paint, width) = (Paint(options.colour), options.columns() - 4);
    let inside = |text: &str, indent| wrap(text, width, indent).into_iter().map(|line| format!("    {line}"));
    let notes = run.notes.iter().flat_map(|note| {
        std::iter::once(format!("  {}", paint.doubt("seen during the run"))).chain(inside(note, 0)).collect::<Vec<_>>()
    });
    let reasons = verdict.warnings.iter().flat_map(|warning| {
        let title = format!("  {}", paint.doubt(warning.cause.title()));
        let advice = format!("try: {}", warning.advice);
        std::iter::once(title).chain(inside(&warning.seen, 0)).chain(inside(&advice, 5)).collect::<Vec<_>>()
    });
    let all: Vec<String> = notes.chain(reasons).collect();
    if all.is_empty() { all } else { std::iter::once(paint.title("Warnings")).chain(all).collect() }
}
