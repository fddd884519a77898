//! Reasons to doubt: what was noted under way, what changed, what the cells show.

use super::RunReport;
use crate::html::Doubt;
use crate::stored_page::doubt;

pub(super) fn of(report: &RunReport) -> Vec<Doubt> {
    let judged = report.verdict.warnings.iter().map(|warning| {
        // The verdict does not know what the run is called.
        doubt(warning.cause.title(), &warning.seen, &warning.advice.replace("RUN", &report.run.id))
    });
    report.stored().doubts().chain(judged).collect()
}
