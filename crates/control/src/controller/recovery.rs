//! Recovery from lost hosts, and from hosts that answer but move no data.

use std::time::{Duration, Instant};

use btu_contract::record::PlacedReport;

use super::error::ControllerError;
use super::hosts::Reconnected;

/// A cell that has lost its hosts this often would lose them again.
const MOST_ATTEMPTS: u32 = 6;

/// The number of consecutive stalled cells after which the run ends.
const MOST_STILL: u32 = 3;

/// Activities give up a little before their deadline, so that they can report the reason: a
/// fiftieth of it, at most this.
const GIVING_UP: Duration = Duration::from_millis(200);

/// A cell that could not be prepared within this time had a peer without an answer: connecting is
/// given up after ten seconds.
const CONNECTING: Duration = Duration::from_secs(9);

/// The number of attempts.
pub(super) struct RetryBudget {
    pub(super) what: String,
    lost: u32,
}

impl RetryBudget {
    pub(super) fn of(what: &str) -> Self {
        Self { what: what.to_owned(), lost: 0 }
    }

    /// Counts a loss; an error when there were too many.
    pub(super) fn count(&mut self, error: &ControllerError) -> Result<(), ControllerError> {
        self.lost += 1;
        if self.lost < MOST_ATTEMPTS {
            return Ok(());
        }
        Err(ControllerError::LostAgain {
            what: self.what.clone(),
            times: self.lost,
            last: error.to_string(),
        })
    }
}

/// The message about a loss that is over.
pub(super) fn recovered(
    what: &str,
    error: &ControllerError,
    found: &[Reconnected],
    began: Instant,
) -> String {
    let away: Vec<String> = found
        .iter()
        .map(|found| {
            let how =
                if found.restarted { "its agent was started again" } else { "the same agent" };
            format!("{} came back after {:.1} s ({how})", found.host, found.away.as_secs_f64())
        })
        .collect();
    let away = if away.is_empty() {
        format!("no host was away for long ({:.1} s)", began.elapsed().as_secs_f64())
    } else {
        away.join(", ")
    };
    format!("{error}; {away}; {what} is measured again")
}

/// Consecutive cells without data.
#[derive(Default)]
pub(super) struct StallDetector {
    cells: u32,
}

impl StallDetector {
    /// Checks the faults and accounts of the last cell, with its time and its deadline; an error
    /// when there were too many of its kind.
    pub(super) fn watch(
        &mut self,
        seen: Option<(&[String], &[PlacedReport])>,
        took: Duration,
        deadline: Duration,
    ) -> Result<(), ControllerError> {
        let Some((faults, reports)) = seen else { return Ok(()) };
        self.cells =
            if waited_in_vain(faults, reports, took, deadline) { self.cells + 1 } else { 0 };
        if self.cells < MOST_STILL {
            return Ok(());
        }
        let fault = faults.first().cloned().unwrap_or_default();
        Err(ControllerError::Still { cells: self.cells, fault })
    }
}

/// Whether a cell failed by its deadline, with any message; other failures are immediate.
fn waited_in_vain(
    faults: &[String],
    reports: &[PlacedReport],
    took: Duration,
    deadline: Duration,
) -> bool {
    if reports.is_empty() {
        return !faults.is_empty() && took >= CONNECTING.min(deadline);
    }
    let failed = reports.iter().any(|placed| placed.result.is_err());
    failed && took >= deadline.saturating_sub(GIVING_UP.min(deadline / 50))
}

#[cfg(test)]
mod tests {
    use btu_contract::network::HostRole;
    use btu_contract::record::Failure;

    use super::*;

    fn lost() -> ControllerError {
        let (who, message) = ("host beta".to_owned(), "connection reset".to_owned());
        ControllerError::Lost { who, operation: "collecting a cell", message }
    }

    #[test]
    fn a_cell_is_given_up_after_six_losses() {
        let mut attempts = RetryBudget::of("SEND 1024 idle");
        for _ in 1..MOST_ATTEMPTS {
            attempts.count(&lost()).unwrap();
        }
        let error = attempts.count(&lost()).unwrap_err().to_string();
        assert!(
            error.contains("SEND 1024 idle was begun 6 times")
                && error.contains("connection reset"),
            "{error}"
        );
    }

    /// The accounts of a cell of which one activity failed, or that could not be prepared.
    fn failed(prepared: bool) -> Vec<PlacedReport> {
        let placed = PlacedReport {
            station: HostRole::Test.into(),
            activity: "tcp-send".to_owned(),
            result: Err(Failure::Failed {
                message: "it was not finished within the deadline".to_owned(),
            }),
        };
        if prepared { vec![placed] } else { Vec::new() }
    }

    #[test]
    fn three_cells_in_a_row_that_wait_in_vain_end_the_run() {
        let (late, soon, deadline) =
            (Duration::from_millis(16_900), Duration::from_secs(2), Duration::from_secs(17));
        let mut stall = StallDetector::default();
        let faults = ["tcp-send on test failed".to_owned()];
        let mut watch =
            |prepared, took| stall.watch(Some((&faults, &failed(prepared))), took, deadline);
        watch(true, late).unwrap();
        watch(false, Duration::from_secs(10)).unwrap();
        // One that fails at once is no stall.
        watch(true, soon).unwrap();
        watch(true, late).unwrap();
        watch(false, Duration::from_secs(10)).unwrap();
        let error = watch(true, late).unwrap_err().to_string();
        assert!(
            error.contains("the last 3 cells") && error.contains("tcp-send on test failed"),
            "{error}"
        );
    }

    #[test]
    fn a_cell_that_takes_long_and_succeeds_is_no_stall() {
        let mut stall = StallDetector::default();
        for _ in 0..=MOST_STILL {
            stall.watch(Some((&[], &[])), Duration::from_mins(1), Duration::from_secs(17)).unwrap();
        }
    }

    #[test]
    fn a_loss_is_told_with_who_was_away_and_for_how_long() {
        let away = Duration::from_millis(31_250);
        let found = [Reconnected { host: "beta".to_owned(), away, restarted: true }];
        assert_eq!(
            recovered("SEND 1024 idle", &lost(), &found, Instant::now()),
            "host beta: collecting a cell: connection reset; beta came back after 31.2 s (its agent was started again); \
             SEND 1024 idle is measured again"
        );
    }
}
