//! The warnings about a result: short near the top, in full at the end.

use super::RateText;
use crate::number::count;
use crate::sheet::wrap;

/// The title of the notes from during the run.
const NOTED: &str = "seen during the run";

/// One line that names the reasons.
pub(super) fn summary(page: &RateText) -> Vec<String> {
    let warnings = page.verdict.warnings.iter().map(|warning| warning.cause.title());
    let titles: Vec<&str> = page.run.notes.iter().map(|_| NOTED).chain(warnings).collect();
    if titles.is_empty() {
        return Vec::new();
    }
    let text = format!("{} (at the end): {}", count(titles.len(), "warning"), titles.join(", "));
    wrap(&text, page.options.columns(), 2).iter().map(|line| page.paint.warning(line)).collect()
}

/// Each warning with its observation and its advice.
pub(super) fn lines(page: &RateText) -> Vec<String> {
    let warnings = &page.verdict.warnings;
    if warnings.is_empty() && page.run.notes.is_empty() {
        return Vec::new();
    }
    let noted = page.run.notes.iter().flat_map(|note| {
        let seen =
            wrap(note, page.options.columns() - 4, 0).into_iter().map(|line| format!("    {line}"));
        std::iter::once(format!("  {}", page.paint.warning(NOTED))).chain(seen).collect::<Vec<_>>()
    });
    let each = warnings.iter().flat_map(|warning| {
        let width = page.options.columns();
        let title = page.paint.warning(warning.cause.title());
        let seen =
            wrap(&warning.observed, width - 4, 0).into_iter().map(|line| format!("    {line}"));
        // The verdict does not know the name of the run.
        let advice = warning.advice.replace("RUN", &page.run.id);
        let advice = wrap(&format!("try: {advice}"), width - 4, 5);
        let advice = advice.into_iter().map(|line| format!("    {line}"));
        std::iter::once(format!("  {title}")).chain(seen).chain(advice).collect::<Vec<_>>()
    });
    std::iter::once(page.paint.title("Warnings")).chain(noted).chain(each).collect()
}
