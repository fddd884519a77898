//! What is done about hosts that were lost, and about those that answer and do nothing.

use std::time::Instant;

use btu_suite::record::{CellRecord, Failure};

use super::error::CoordinatorError;
use super::hosts::Return;

/// A cell that has lost its hosts this often would lose them again.
const MOST_ATTEMPTS: u32 = 6;

/// After so many cells in a row that were killed at their deadlines nothing can be expected of the next.
const MOST_STILL: u32 = 3;

/// How often something was begun.
pub(super) struct Attempts {
    pub(super) what: String,
    lost: u32,
}

impl Attempts {
    pub(super) fn of(what: &str) -> Self {
        Self { what: what.to_owned(), lost: 0 }
    }

    /// Notes a loss; an error when there were too many.
    pub(super) fn count(&mut self, error: &CoordinatorError) -> Result<(), CoordinatorError> {
        self.lost += 1;
        if self.lost < MOST_ATTEMPTS {
            return Ok(());
        }
        Err(CoordinatorError::LostAgain { what: self.what.clone(), times: self.lost, last: error.to_string() })
    }
}

/// What to tell of a loss that has passed.
pub(super) fn recovered(what: &str, error: &CoordinatorError, found: &[Return], began: Instant) -> String {
    let away: Vec<String> = found
        .iter()
        .map(|found| {
            let how = if found.restarted { "its agent was started again" } else { "the same agent" };
            format!("{} came back after {:.1} s ({how})", found.host, found.away.as_secs_f64())
        })
        .collect();
    let away = if away.is_empty() {
        format!("nobody was away for long ({:.1} s)", began.elapsed().as_secs_f64())
    } else {
        away.join(", ")
    };
    format!("{error}; {away}; {what} is measured again")
}

/// Cells in a row in which nothing moved.
#[derive(Default)]
pub(super) struct Standstill {
    cells: u32,
}

impl Standstill {
    /// Looks at the last cell; an error when there were too many of its kind.
    pub(super) fn watch(&mut self, record: Option<&CellRecord>) -> Result<(), CoordinatorError> {
        let Some(record) = record else { return Ok(()) };
        let killed = |failure: &Failure| matches!(failure, Failure::Deadline { .. });
        let still = record.reports.iter().any(|placed| placed.result.as_ref().err().is_some_and(killed));
        self.cells = if still { self.cells + 1 } else { 0 };
        if self.cells < MOST_STILL {
            return Ok(());
        }
        let fault = record.faults.first().cloned().unwrap_or_default();
        Err(CoordinatorError::Still { cells: self.cells, fault })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lost() -> CoordinatorError {
        let (who, message) = ("host beta".to_owned(), "connection reset".to_owned());
        CoordinatorError::Lost { who, operation: "collecting a cell", message }
    }

    #[test]
    fn a_cell_is_given_up_after_six_losses() {
        let mut attempts = Attempts::of("SEND 1024 idle");
        for _ in 1..MOST_ATTEMPTS {
            attempts.count(&lost()).unwrap();
        }
        let error = attempts.count(&lost()).unwrap_err().to_string();
        assert!(error.contains("SEND 1024 idle was begun 6 times") && error.contains("connection reset"), "{error}");
    }

    #[test]
    fn a_loss_is_told_with_who_was_away_and_for_how_long() {
        let away = Duration::from_millis(31_250);
        let found = [Return { host: "beta".to_owned(), away, restarted: true }];
        assert_eq!(
            recovered("SEND 1024 idle", &lost(), &found, Instant::now()),
            "host beta: collecting a cell: connection reset; beta came back after 31.2 s (its agent was started again); \
             SEND 1024 idle is measured again"
        );
    }
}
