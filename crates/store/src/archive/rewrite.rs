//! What an archive holds in place of the stored lines of a run.

use super::line::{CellLine, EnvironmentLine, EventLine, RunLine};

/// A form of runs in an archive: what becomes of each line. Without a word about it, a line is
/// written as it is stored. An error is what a user reads after `run r12`: why that run has no such
/// form.
pub trait Rewrite {
    /// The line of the run itself.
    ///
    /// # Errors
    /// The run has no such form.
    fn run(&self, line: RunLine) -> Result<RunLine, String> {
        Ok(line)
    }

    /// The machine at one moment.
    ///
    /// # Errors
    /// The run has no such form.
    fn environment(&self, line: EnvironmentLine) -> Result<EnvironmentLine, String> {
        Ok(line)
    }

    /// An event; `None` leaves it out.
    ///
    /// # Errors
    /// The run has no such form.
    fn event(&self, line: EventLine) -> Result<Option<EventLine>, String> {
        Ok(Some(line))
    }

    /// A cell.
    ///
    /// # Errors
    /// The run has no such form.
    fn cell(&self, line: CellLine) -> Result<CellLine, String> {
        Ok(line)
    }
}

/// Every line as it is stored.
pub struct AsStored;

impl Rewrite for AsStored {}
