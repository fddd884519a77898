//! Checks the accounts of a cell: the counts of clients and server must agree, or the cell does not
//! count.

use super::{FilesServed, Level, SETUP_CLIENT, StationDone, TaskDone};
use btu_contract::experiment::Observation;
use btu_contract::network::HostName;
use btu_contract::record::Outcome;

fn outcomes(seen: &Observation) -> impl Iterator<Item = (&HostName, &Outcome)> {
    seen.reports
        .iter()
        .filter_map(|placed| Some((&placed.station, &placed.result.as_ref().ok()?.outcome)))
}

/// The foreground task's account.
pub(super) fn task_done(seen: &Observation) -> Option<&TaskDone> {
    outcomes(seen).find_map(|(_, outcome)| match outcome {
        Outcome::TaskDone(done) => Some(done),
        _ => None,
    })
}

/// Finds the account of the server.
pub(super) fn served(seen: &Observation) -> Option<&FilesServed> {
    outcomes(seen).find_map(|(_, outcome)| match outcome {
        Outcome::FilesServed(served) => Some(served),
        _ => None,
    })
}

/// The accounts of the background stations, in the order of their numbers.
pub(super) fn stations(seen: &Observation) -> impl Iterator<Item = (&HostName, &StationDone)> {
    outcomes(seen).filter_map(|(host, outcome)| match outcome {
        Outcome::StationDone(done) => Some((host, done)),
        _ => None,
    })
}

/// Why the accounts of a cell at this level do not agree, a sentence each. A share has no server of
/// btu (`has_server` is false): only its clients have accounts.
pub(super) fn faults(level: Level, has_server: bool, seen: &Observation) -> Vec<String> {
    let Some(done) = task_done(seen) else { return vec!["the task has no account".to_owned()] };
    let mut faults = Vec::new();
    if done.wrong > 0 {
        faults.push(format!(
            "what the task read or left was wrong: {} of {} times",
            done.wrong,
            done.times.len()
        ));
    }
    if done.times.is_empty() {
        faults.push("the task was not done".to_owned());
    }
    let Level::Stations(count) = level else { return faults };
    faults.extend(of_stations(count, seen));
    if has_server {
        faults.extend(at_server(done, seen));
    }
    faults
}

/// Why the counts of clients and server differ.
fn at_server(done: &TaskDone, seen: &Observation) -> Vec<String> {
    let Some(served) = served(seen) else { return vec!["the server has no account".to_owned()] };
    let mut faults = Vec::new();
    faults.extend(apart(served, 0, "the task", done.operations));
    faults.extend(apart(served, SETUP_CLIENT, "who made the task's files", done.setup_operations));
    let octets =
        served.client(0).map_or((0, 0), |client| (client.read.count(), client.written.count()));
    if octets != (done.read.count(), done.written.count()) {
        let (read, written) = octets;
        faults.push(format!(
            "the task read {} and wrote {} octets, and the server counted {read} and {written}",
            done.read.count(),
            done.written.count()
        ));
    }
    for (number, (host, station)) in (1..).zip(stations(seen)) {
        faults.extend(apart(served, number, &host.to_string(), station.operations));
    }
    faults
}

fn of_stations(count: u32, seen: &Observation) -> Vec<String> {
    let mut faults = Vec::new();
    let mut found = 0;
    for (host, station) in stations(seen) {
        found += 1;
        if station.wrong > 0 {
            faults.push(format!("{host} read {} records back wrong", station.wrong));
        }
        if station.transactions == 0 {
            faults.push(format!("{host} made no transaction: the background was not at work"));
        }
    }
    if found != count {
        faults.push(format!("{found} of {count} background stations have an account"));
    }
    faults
}

/// Why a client's operations differ from those that the server counted for it.
fn apart(served: &FilesServed, client: u32, who: &str, operations: u64) -> Option<String> {
    let counted = served.client(client).map_or(0, |client| client.operations);
    (counted != operations).then(|| {
        format!("{who} counted {operations} operations, and the server counted {counted} for it")
    })
}
