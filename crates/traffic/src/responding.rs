//! An end that answers, over every transport: it serves until its peer is done or it is stopped, and
//! reports its answers.

use std::sync::atomic::AtomicBool;

use btu_contract::record::{Outcome, Report};
use btu_units::Span;

use crate::clock::{Limit, cpu, cpu_since, now};
use crate::error::TrafficError;

/// Calls `serve`, which adds to the number of answers, and reports. To be stopped is the regular end
/// of a server.
pub(crate) fn respond(
    deadline: Span,
    stop: &AtomicBool,
    serve: impl FnOnce(&mut u64, &Limit<'_>) -> Result<(), TrafficError>,
) -> Result<Report, TrafficError> {
    let (before, started) = (cpu(), now());
    let limit = Limit::new(started, deadline, stop);
    let mut answers = 0;
    match serve(&mut answers, &limit) {
        Ok(()) | Err(TrafficError::Stopped { .. }) => {}
        Err(error) => return Err(error),
    }
    let outcome = Outcome::Responded { answers };
    Ok(Report { started, finished: now(), cpu: cpu_since(before), outcome })
}
