//! The published part of a cell's record: all its numbers. Texts that may name files, hosts or users
//! are replaced; their number stays, because a cell with a fault does not count.

use btu_contract::record::{CaptureAccount, Failure, Outcome, PlacedReport, Report, WireAccount};
use btu_studies::rate::CellRecord;

/// What stands where a text was that may name a host, a user or a file.
pub(super) const WITHHELD: &str = "not published";

/// What is published of a cell.
pub(super) fn cell(found: CellRecord) -> Result<CellRecord, String> {
    let CellRecord {
        row,
        block,
        position,
        faults,
        network,
        host,
        reports,
        stations,
        machine,
        wire,
        start_skew_ns,
        overhead_ns,
    } = found;
    Ok(CellRecord {
        row,
        block,
        position,
        faults: faults.iter().map(|_| WITHHELD.to_owned()).collect(),
        network,
        host,
        reports: reports.into_iter().map(placed).collect::<Result<_, _>>()?,
        stations,
        machine,
        wire: of_wire(wire),
        start_skew_ns,
        overhead_ns,
    })
}

fn placed(found: PlacedReport) -> Result<PlacedReport, String> {
    let PlacedReport { station, activity, result } = found;
    let result = match result {
        Ok(report) => Ok(of_report(report)?),
        Err(failure) => Err(of_failure(&failure)),
    };
    Ok(PlacedReport { station, activity, result })
}

fn of_report(found: Report) -> Result<Report, String> {
    let Report { started, finished, cpu, outcome } = found;
    Ok(Report { started, finished, cpu, outcome: of_outcome(outcome)? })
}

/// The accounts that cells of a rating have: they hold numbers, and the method of a host activity.
fn of_outcome(outcome: Outcome) -> Result<Outcome, String> {
    match outcome {
        Outcome::Null
        | Outcome::Sent(_)
        | Outcome::Received(_)
        | Outcome::Requested(_)
        | Outcome::Responded { .. }
        | Outcome::DatagramsSent(_)
        | Outcome::DatagramsReceived(_)
        | Outcome::Host(_)
        | Outcome::Served { .. } => Ok(outcome),
        Outcome::FilesServed(_)
        | Outcome::TaskDone(_)
        | Outcome::StationDone(_)
        | Outcome::Drawn(_)
        | Outcome::Displayed(_)
        | Outcome::DrawnInside { .. }
        | Outcome::X11perf { .. }
        | Outcome::X11Served
        | Outcome::Relayed(_)
        | Outcome::FileSent(_)
        | Outcome::FileReceived(_)
        | Outcome::FileCopied(_)
        | Outcome::Piped { .. } => {
            Err("has a cell with the account of another study, which no rating has".to_owned())
        }
    }
}

fn of_failure(failure: &Failure) -> Failure {
    match failure {
        Failure::Deadline { deadline_ns } => Failure::Deadline { deadline_ns: *deadline_ns },
        Failure::Failed { message: _ } => Failure::Failed { message: WITHHELD.to_owned() },
        Failure::Died { status: _ } => Failure::Died { status: WITHHELD.to_owned() },
        Failure::NotStarted => Failure::NotStarted,
    }
}

fn of_wire(found: WireAccount) -> WireAccount {
    let WireAccount {
        elements,
        port_drops,
        lateness,
        late_after,
        late,
        round_trip,
        segments,
        superframes,
        polled,
        capture,
    } = found;
    let capture = capture.map(|capture| {
        let CaptureAccount { frames, missed, failure } = capture;
        CaptureAccount { frames, missed, failure: failure.map(|_| WITHHELD.to_owned()) }
    });
    WireAccount {
        elements,
        port_drops,
        lateness,
        late_after,
        late,
        round_trip,
        segments,
        superframes,
        polled,
        capture,
    }
}
