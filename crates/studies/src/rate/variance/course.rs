//! The variation of goodput within a cell, from the progress of its receivers.

use btu_stats::TwoWay;

use btu_contract::record::Outcome;

use crate::rate::record::CellRecord;

/// Batches that a cell's time is divided into: long compared with one read, so that neighbours are
/// nearly independent.
pub(super) const BATCHES: usize = 10;

/// The relative variance of a cell's goodput that comes from its variation within the cell: batch
/// means (Law and Kelton, Simulation Modeling and Analysis, 9.5.3). The common course of all
/// repetitions, such as slow start, is removed batch by batch, so two of them are needed. `None` if
/// the progress of fewer cells is known.
pub(super) fn variance_of_mean(repetitions: &[&CellRecord]) -> Option<f64> {
    let courses: Vec<Vec<f64>> = repetitions.iter().filter_map(|record| course(record)).collect();
    TwoWay::of(&courses).map(|found| found.residual / BATCHES as f64)
}

/// The goodput of each batch as a multiple of the cell's; the flows of several connections
/// together.
fn course(record: &CellRecord) -> Option<Vec<f64>> {
    let flows: Vec<&[(u64, u64)]> = receivers(record).collect();
    let end = flows.iter().filter_map(|flow| flow.last()).map(|last| last.0).max()? as f64;
    let whole: u64 = flows.iter().filter_map(|flow| flow.last()).map(|last| last.1).sum();
    // A batch must hold a few points, or it shows the times of clock readings rather than the
    // stream.
    if whole == 0 || flows.iter().any(|flow| flow.len() < 2 * BATCHES) {
        return None;
    }
    let until = |batch: usize| {
        let at = end * batch as f64 / BATCHES as f64;
        flows.iter().map(|flow| bytes_at(flow, at)).sum::<f64>()
    };
    let share = BATCHES as f64 / whole as f64;
    Some((0..BATCHES).map(|batch| (until(batch + 1) - until(batch)) * share).collect())
}

fn receivers(record: &CellRecord) -> impl Iterator<Item = &[(u64, u64)]> {
    record.reports.iter().filter_map(|placed| match &placed.result.as_ref().ok()?.outcome {
        Outcome::Received(received) => Some(received.progress.as_slice()),
        _ => None,
    })
}

/// The bytes that had arrived at `at` nanoseconds, linear between the two points around it.
fn bytes_at(flow: &[(u64, u64)], at: f64) -> f64 {
    let after = flow.partition_point(|point| (point.0 as f64) < at);
    let (from, to) = match after {
        0 => ((0, 0), flow[0]),
        _ if after == flow.len() => return flow[after - 1].1 as f64,
        _ => (flow[after - 1], flow[after]),
    };
    let length = (to.0 - from.0) as f64;
    let way = if length > 0.0 { (at - from.0 as f64) / length } else { 1.0 };
    from.1 as f64 + way * (to.1 as f64 - from.1 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_on_lines_between_points() {
        let flow = [(10, 100), (20, 300)];
        let table =
            [(0.0, 0.0), (5.0, 50.0), (10.0, 100.0), (15.0, 200.0), (20.0, 300.0), (99.0, 300.0)];
        for (at, bytes) in table {
            assert!((bytes_at(&flow, at) - bytes).abs() < 1e-9, "{at}");
        }
    }
}
