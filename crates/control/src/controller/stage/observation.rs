//! The observations of one script: accounts in its order, and the times of the activities.

use std::collections::BTreeMap;
use std::time::Instant;

use btu_contract::experiment::Observation;
use btu_contract::network::HostName;
use btu_contract::record::{Failure, HostClock, MachineCpu, PlacedReport, Report, WireAccount};
use btu_contract::script::{Role, Script};

use super::super::client::StationAccount;

/// The observations in addition to the accounts.
pub(super) struct HostMetrics {
    pub(super) machine: MachineCpu,
    pub(super) wire: WireAccount,
    /// The hosts' clock offsets; all stations of a local testbed share one clock.
    pub(super) clocks: BTreeMap<HostName, HostClock>,
    pub(super) began: Instant,
}

/// The observations of `script`.
pub(super) fn observation(
    script: &Script,
    accounts: Vec<StationAccount>,
    surroundings: HostMetrics,
) -> Observation {
    let HostMetrics { machine, wire, clocks, began } = surroundings;
    let stations = accounts.iter().map(|account| account.cpu.clone()).collect();
    let mut results: BTreeMap<usize, Result<Report, Failure>> =
        accounts.into_iter().flat_map(|account| account.results).collect();
    let missing = || Err(Failure::Died { status: "its agent has no account of it".to_owned() });
    let placed = script.steps.iter().enumerate().map(|(index, step)| PlacedReport {
        station: step.host.clone(),
        activity: step.order.activity.kind().to_owned(),
        result: results.remove(&index).unwrap_or_else(missing),
    });
    let reports: Vec<PlacedReport> = placed.collect();
    let (start_skew_ns, performed_ns) = times(script, &reports, &clocks);
    let overhead_ns = (began.elapsed().as_nanos() as u64).saturating_sub(performed_ns);
    Observation {
        reports,
        programs: Vec::new(),
        stations,
        machine,
        wire,
        start_skew_ns,
        overhead_ns,
        values: BTreeMap::new(),
        course: Vec::new(),
    }
}

/// Between the first and the last start, and between the first start and the last finish, in ns,
/// over the activities that count, by the controller's clock.
fn times(
    script: &Script,
    reports: &[PlacedReport],
    clocks: &BTreeMap<HostName, HostClock>,
) -> (u64, u64) {
    let counted = script.steps.iter().zip(reports).filter(|(step, _)| step.role != Role::Support);
    let ours = |host: &HostName, time: btu_units::Time| {
        let offset = clocks.get(host).map_or(0, |clock| clock.offset_ns);
        i128::from(time.nanoseconds()) - i128::from(offset)
    };
    let accounts: Vec<(i128, i128)> = counted
        .filter_map(|(step, placed)| {
            let report = placed.result.as_ref().ok()?;
            Some((ours(&step.host, report.started), ours(&step.host, report.finished)))
        })
        .collect();
    let first = accounts.iter().map(|(started, _)| *started).min().unwrap_or_default();
    let last_start = accounts.iter().map(|(started, _)| *started).max().unwrap_or_default();
    let last = accounts.iter().map(|(_, finished)| *finished).max().unwrap_or_default();
    let since_first = |time: i128| u64::try_from(time - first).unwrap_or_default();
    (since_first(last_start), since_first(last))
}

#[cfg(test)]
mod tests {
    use btu_contract::activity::{Activity, Order};
    use btu_contract::network::HostRole;
    use btu_contract::record::{CpuTime, Outcome};
    use btu_contract::script::Step;
    use btu_units::{Span, Time};

    use super::*;

    /// Nothing on every host of a rating.
    fn nothing() -> Script {
        let step = |host: HostRole| Step {
            host: host.into(),
            role: Role::Network,
            peer: None,
            order: Order::new(1, Span::from_seconds(1), Activity::Null),
        };
        let steps = HostRole::ALL.map(step).to_vec();
        Script { steps, ..Script::default() }
    }

    #[test]
    fn starts_are_compared_by_one_clock() {
        let script = nothing();
        let report = |role: HostRole, started, finished| PlacedReport {
            station: role.into(),
            activity: "null".to_owned(),
            result: Ok(Report {
                started: Time::from_nanoseconds(started),
                finished: Time::from_nanoseconds(finished),
                cpu: CpuTime::default(),
                outcome: Outcome::Null,
            }),
        };
        let reports = [
            report(HostRole::Test, 1_000, 2_000),
            report(HostRole::Active, 501_100, 502_500),
            report(HostRole::Passive, 300, 900),
        ];
        let clock =
            |offset_ns| HostClock { offset_ns, round_trip_ns: 10, at_ns: 0, wall_offset_ns: 0 };
        let clocks = BTreeMap::from([
            (HostRole::Test.into(), clock(0)),
            (HostRole::Active.into(), clock(500_000)),
            (HostRole::Passive.into(), clock(-750)),
        ]);
        assert_eq!(times(&script, &reports, &clocks), (100, 1_500));
        assert_eq!(times(&script, &reports, &BTreeMap::new()).0, 500_800);
    }
}
