//! What limits each flow of TCP: by its connection, by the threads at its ends, and by what the other phases show.

use btu_contract::experiment::{Measured, Observation};
use btu_contract::record::Outcome;
use btu_stats::Histogram;

use super::{Direction, SpeedRow, pairs, requested};
use crate::breakdown::{Breakdown, FlowEnds};
use crate::speed::{Phase, SpeedCell};

/// Requests wait in a queue if half of them take longer than on the idle network, by more than nineteen of twenty differ
/// there, which is jitter, and by more than this share of their time.
const LEAST_WAIT: f64 = 0.1;

/// Divides the time of each flow.
pub(super) fn divide(rows: &mut [SpeedRow], cells: &[Measured<SpeedCell>]) {
    let of = |cell: SpeedCell| {
        let own = cells.iter().filter(move |one| one.cell == cell && one.is_valid());
        own.map(|one| &one.seen)
    };
    let mut idle = Histogram::new();
    for row in rows.iter().filter(|row| row.cell.phase == Phase::Idle) {
        of(row.cell).filter_map(requested).for_each(|seen| idle.merge(&seen.round_trip));
    }
    let lines = [Direction::Up, Direction::Down].map(|direction| known_line(rows, direction));
    for row in rows {
        for flow in &mut row.flows {
            let each: Vec<Breakdown> =
                of(row.cell).filter_map(|seen| breakdown(seen, flow.direction, &idle)).collect();
            flow.breakdown = Breakdown::mean(&each);
            let line = lines[usize::from(flow.direction == Direction::Down)];
            if let (Some(breakdown), Some(rate)) = (&mut flow.breakdown, flow.goodput) {
                breakdown.deny_full_line(rate.value, line);
            }
        }
    }
}

/// The rate that the line is known to carry: by the network file, or seen in a phase.
fn known_line(rows: &[SpeedRow], direction: Direction) -> f64 {
    let flows = rows.iter().flat_map(|row| &row.flows).filter(|flow| flow.direction == direction);
    let rates = flows.flat_map(|flow| {
        [flow.expected_bits_per_second, flow.goodput.map(|goodput| goodput.value)]
    });
    rates.flatten().fold(0.0, f64::max)
}

/// Of all flows of a cell in one direction.
fn breakdown(seen: &Observation, direction: Direction, idle: &Histogram) -> Option<Breakdown> {
    let flows: Vec<FlowEnds<'_>> = pairs(seen)
        .filter_map(|[far, near]| {
            let (from, to) = if direction == Direction::Up { (near, far) } else { (far, near) };
            match (&from.outcome, &to.outcome) {
                (Outcome::Sent(sent), Outcome::Received(received)) => {
                    Some(((from, sent), (to, received)))
                }
                _ => None,
            }
        })
        .collect();
    let of_ends = Breakdown::of(&flows, false)?;
    if of_ends.keeps_requests_waiting() || !requests_wait(seen, idle) {
        return Some(of_ends);
    }
    Breakdown::of(&flows, true)
}

fn requests_wait(seen: &Observation, idle: &Histogram) -> bool {
    let median = |of: &Histogram| Some(of.quantile(0.5)? as f64);
    let wait = || {
        let usual = median(idle)?;
        let jitter = idle.quantile(0.95)?.saturating_sub(idle.quantile(0.05)?) as f64;
        let wait = median(&requested(seen)?.round_trip)? - usual;
        Some(wait > jitter.max(LEAST_WAIT * usual))
    };
    wait().unwrap_or(false)
}
