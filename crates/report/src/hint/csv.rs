//! HINT for spreadsheets.

use std::fmt::Write;

use btu_suite::hint::HintResult;

use crate::pipe::ends_of;

const HEAD: &str = "processes,intervals_of_each,quality,least_seconds,median_seconds,median_low_seconds,median_high_seconds,\
                    quips,work_share";

/// A head and one line for every number of intervals; intervals at 95 %, and empty where there is
/// none.
pub fn hint_csv(result: &HintResult) -> String {
    let mut out = format!("{HEAD}\n");
    for verdict in result.two.iter().chain(&result.one) {
        for step in &verdict.steps {
            let median = ends_of(&step.median_seconds);
            let share = step.work_share.map_or_else(String::new, |share| format!("{share:e}"));
            let _ = writeln!(
                out,
                "{},{},{:e},{:e},{median},{:e},{share}",
                verdict.processes, step.intervals, step.quality, step.least_seconds, step.quips
            );
        }
    }
    out
}
