//! The result of `btu speed` in a few words, for a list of runs.

use btu_studies::speed::{Direction, Phase, SpeedVerdict};

use crate::number::three_digits;
use crate::unit::{rate as rate_in_words, rate_unit, time};

/// `0.936/14.7 Mb/s, 37.0 ms -> 1.87 s`: the rates up and down, and the longest typical request,
/// idle and loaded. `None` if nothing of that was measured.
pub(super) fn short(verdict: &SpeedVerdict) -> Option<String> {
    let row = |phase: Phase| verdict.rows.iter().find(|row| row.cell.phase == phase);
    let rate = |phase: Phase, direction: Direction| {
        let flow = row(phase)?.flows.iter().find(|flow| flow.direction == direction)?;
        Some(flow.goodput?.value)
    };
    let rates = match [rate(Phase::Up, Direction::Up), rate(Phase::Down, Direction::Down)] {
        [Some(up), Some(down)] => {
            let unit = rate_unit(up.max(down));
            Some(format!("{}/{}", three_digits(up / unit.worth), unit.write(down)))
        }
        [Some(up), None] => Some(format!("{} up", rate_in_words(up))),
        [None, Some(down)] => Some(format!("{} down", rate_in_words(down))),
        [None, None] => None,
    };
    let trip = |phase: Phase| Some(row(phase)?.round_trip?.median.value);
    let loaded = [Phase::Up, Phase::Down, Phase::Both].into_iter().filter_map(trip);
    let trips = match (trip(Phase::Idle), loaded.max_by(f64::total_cmp)) {
        (Some(idle), Some(loaded)) => Some(format!("{} -> {}", time(idle), time(loaded))),
        (idle, loaded) => idle.or(loaded).map(time),
    };
    let parts: Vec<String> = rates.into_iter().chain(trips).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
