//! A queue that was not full when the measurement of a phase began.

use btu_units::Span;

use super::SpeedRow;
use crate::speed::SpeedPlan;
use btu_contract::experiment::Warning;
use btu_contract::sample::Interval;

/// Requests at the end of a phase that take this much longer than at its beginning have a queue that
/// still fills. A queue that is full empties by less: Reno gives up half of its window and more of a
/// queue only after a loss, and then requests become faster.
const GROWTH: f64 = 1.25;

/// A smaller growth in seconds does not matter.
const LEAST_GROWTH: f64 = 0.02;

/// A warning about the phase whose requests became slower most.
pub(super) fn still_filling(plan: &SpeedPlan, rows: &[SpeedRow]) -> Option<Warning> {
    let lead = plan.lead();
    let grown = rows.iter().filter(|row| !row.cell.phase.is_of_requests()).filter_map(|row| {
        let [first, last] = ends(&row.course, lead, lead + plan.time)?;
        let has_grown = last > first * GROWTH && last - first > LEAST_GROWTH;
        has_grown.then_some((row.cell, first, last))
    });
    let (cell, first, last) =
        grown.max_by(|one, other| (one.2 - one.1).total_cmp(&(other.2 - other.1)))?;
    Some(Warning {
        cause: "a queue that still fills",
        observed: format!(
            "{cell}: a request took {:.0} ms when the measurement began and {:.0} ms at its end, so the median lies between",
            first * 1e3,
            last * 1e3
        ),
        advice: "measure each phase longer with -t, such as -t '10 s'",
    })
}

/// The times of the requests that left first and last in a phase, by the intervals in which their
/// answers came; `None` if these are no two.
fn ends(course: &[Interval], from: Span, to: Span) -> Option<[f64; 2]> {
    let time = |interval: &Interval| {
        let time = interval.request_seconds.filter(|_| interval.requests.is_some())?;
        let left = interval.from_seconds - time..=interval.to_seconds - time;
        (*left.start() >= from.seconds() && *left.end() <= to.seconds()).then_some(time)
    };
    let times: Vec<f64> = course.iter().filter_map(time).collect();
    let [first, .., last] = times[..] else { return None };
    Some([first, last])
}
