//! Warnings: what was noted under way, what changed, what the cells show.

use super::RunReport;
use crate::html::PageWarning;
use crate::stored_page::page_warning;

pub(super) fn of(report: &RunReport) -> Vec<PageWarning> {
    let judged = report.verdict.warnings.iter().map(|warning| {
        // The verdict does not know the name of the run.
        page_warning(
            warning.cause.title(),
            &warning.observed,
            &warning.advice.replace("RUN", &report.stored.run.id),
        )
    });
    report.stored.noted().chain(judged).collect()
}
