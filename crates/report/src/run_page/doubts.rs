//! Reasons to doubt: what was noted under way, what changed, what the cells show.

use super::RunReport;
use crate::html::Doubt;

pub(super) fn of(report: &RunReport) -> Vec<Doubt> {
    let noted = report.run.notes.iter().map(|note| doubt("seen during the run", note, ""));
    let changed = report.changes.iter().map(|change| {
        doubt("setting changed", change, "keep the machine's settings as they are while it measures, and measure again")
    });
    let judged = report.verdict.warnings.iter().map(|warning| {
        // The verdict does not know what the run is called.
        doubt(warning.cause.title(), &warning.seen, &warning.advice.replace("RUN", &report.run.id))
    });
    noted.chain(changed).chain(judged).collect()
}

fn doubt(title: &str, seen: &str, advice: &str) -> Doubt {
    Doubt { title: title.to_owned(), seen: seen.to_owned(), advice: advice.to_owned() }
}
