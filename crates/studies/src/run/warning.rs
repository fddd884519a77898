//! What is to be known of a run's numbers before they are used.

use btu_contract::experiment::{Measured, Warning};
use btu_contract::program::{Part, ProgramReport};
use btu_units::Bytes;

use super::plan::{RunCell, RunPlan};
use super::row::RunRow;
use super::value::{Value, What};
use super::verdict::least_samples;

/// The warnings of a plan's records.
pub(super) fn warnings(plan: &RunPlan, cells: &[Measured<RunCell>]) -> Vec<Warning> {
    let mut found = btu_contract::experiment::warnings(cells);
    found.extend(left_running(cells));
    found.extend(past_the_network(cells));
    found.extend(not_waited_for(cells));
    found.extend(too_few(plan, cells).or_else(|| fewer_than_planned(plan, cells)));
    found.extend(plan.values.iter().filter_map(|value| few_answers(plan, value, cells)));
    found
}

/// Programs that went on in the background: their time is not in what was measured.
fn left_running(cells: &[Measured<RunCell>]) -> Option<Warning> {
    let reports = cells.iter().flat_map(|cell| &cell.seen.programs);
    let left: Vec<&ProgramReport> = reports
        .filter(|report| report.part == Part::Measured && report.ended.left_running > 0)
        .collect();
    let first = left.first()?;
    let (name, station, count) = (&first.name, &first.station, first.ended.left_running);
    Some(Warning {
        cause: "processes left running",
        observed: format!(
            "in {} of {} cells; first {name} on {station} left {count} process{} behind when it ended, which btu ended",
            left.len(),
            cells.len(),
            if count == 1 { "" } else { "es" }
        ),
        advice: "their work is not in the measured time: keep the program in the foreground",
    })
}

/// What a connection sends before anything of it is acknowledged: ten segments (RFC 6928).
const INITIAL_WINDOW: Bytes = Bytes::new(10 * 1460);

/// Programs that ended before the far end had what they sent: their time is that of writing.
fn not_waited_for(cells: &[Measured<RunCell>]) -> Option<Warning> {
    let reports = cells.iter().filter(|cell| cell.is_valid()).flat_map(|cell| &cell.seen.programs);
    let measured: Vec<&ProgramReport> =
        reports.filter(|report| report.part == Part::Measured).collect();
    let left = |report: &&&ProgramReport| {
        report.ended.unacknowledged > INITIAL_WINDOW || report.ended.connections_reset > 0
    };
    let first = measured.iter().find(left)?;
    let (name, station) = (&first.name, &first.station);
    let what = if first.ended.connections_reset > 0 {
        format!("a connection of {name} on {station} was reset before it ended")
    } else {
        format!(
            "{} of {name} on {station} were not acknowledged when it ended",
            first.ended.unacknowledged
        )
    };
    Some(Warning {
        cause: "arrival not waited for",
        observed: format!(
            "in {} of {} repetitions {what}",
            measured.iter().filter(left).count(),
            measured.len()
        ),
        advice: "its time covers writing, not arrival: measure at the receiver (a download, a number that the receiver \
                 prints), or btu's `tcp-stream`",
    })
}

/// Programs with a service of which not one frame crossed the emulated network: stations share this
/// machine's files, so a client can meet its server at a socket there.
fn past_the_network(cells: &[Measured<RunCell>]) -> Option<Warning> {
    let has_service = |cell: &&Measured<RunCell>| {
        cell.seen.programs.iter().any(|report| report.part == Part::Service)
    };
    let with_service: Vec<_> =
        cells.iter().filter(|cell| cell.is_valid()).filter(has_service).collect();
    let elements = |cell: &&&Measured<RunCell>| {
        let elements = &cell.seen.wire.elements;
        !elements.is_empty() && elements.iter().all(|element| element.received == 0)
    };
    let past = with_service.iter().filter(elements).count();
    (past > 0).then(|| Warning {
        cause: "past the network",
        observed: format!("in {past} of {} cells no frame crossed the network", with_service.len()),
        advice: "the programs met elsewhere, at a socket in the file system or inside one station: have the client connect to \
                 the service's station",
    })
}

/// Without repetition there is no interval.
fn too_few(plan: &RunPlan, cells: &[Measured<RunCell>]) -> Option<Warning> {
    let least = plan.rows.iter().map(|row| {
        cells.iter().filter(|cell| cell.cell.levels == row.levels && cell.is_valid()).count()
    });
    let least = least.min()?;
    (least < 3).then(|| Warning {
        cause: "few repetitions",
        observed: format!("a row was measured {least} time{}", if least == 1 { "" } else { "s" }),
        advice: "intervals are wide or missing: measure more blocks (--blocks, or `blocks` in [order])",
    })
}

/// Repetitions that the plan wants and that are not stored: the time was over, or the run ended
/// before.
fn fewer_than_planned(plan: &RunPlan, cells: &[Measured<RunCell>]) -> Option<Warning> {
    let planned = plan.least_blocks.min(plan.frame.blocks) as usize;
    let stored = |row: &RunRow| cells.iter().filter(|cell| cell.cell.levels == row.levels).count();
    let least = plan.rows.iter().map(stored).min()?;
    (least < planned).then(|| Warning {
        cause: "repetitions left out",
        observed: format!(
            "{least} instead of {planned} of a row, in the {} of --time or `at_most`, or until the run was ended",
            plan.frame.budget
        ),
        advice: "give more time, or name fewer levels",
    })
}

/// Of fewer answers the 99th percentile is the longest.
const FEWEST_FOR_P99: u64 = 100;

fn few_answers(plan: &RunPlan, value: &Value, cells: &[Measured<RunCell>]) -> Option<Warning> {
    let is_asked = matches!(value.what, What::RoundTripP99);
    let rows = plan.rows.iter().filter(|_| is_asked);
    let least = rows.filter_map(|row| least_samples(value, row, cells)).min()?;
    (least < FEWEST_FOR_P99).then(|| Warning {
        cause: "few answers",
        observed: format!(
            "{}: a repetition had {least} answers, and of fewer than {FEWEST_FOR_P99} the 99th percentile is the longest",
            value.name
        ),
        advice: "give the activity more `time`, or measure the median, `round-trip`",
    })
}
