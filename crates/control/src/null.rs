//! The activity that does nothing: a cell of it measures the tool's own cost.

use std::sync::atomic::AtomicBool;

use btu_suite::activity::{Performance, Performed};
use btu_suite::record::{CpuTime, Outcome, Report};

use crate::clock;

/// An activity that does nothing.
pub(crate) struct Null;

impl Performance for Null {
    fn perform(self: Box<Self>, _stop: &AtomicBool) -> Performed {
        let now = clock::monotonic()?;
        Ok(Report { started: now, finished: now, cpu: CpuTime::default(), outcome: Outcome::Null })
    }
}
