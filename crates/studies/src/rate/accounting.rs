//! Checks whether a cell's accounts balance, and makes its result and its record from them.

use btu_contract::accounting::{FlowAccount, flow_accounts};
use btu_contract::experiment::{Observation, Slot};
use btu_contract::record::{Outcome, PlacedReport, Report};
use btu_contract::script::{Role, Script};
use btu_units::Bytes;

use super::plan::Plan;
use super::record::{CellRecord, HostResult, NetworkResult};
use super::row::{Component, Row};
use super::script::{Setting, script};
use super::work::Amounts;

/// The result of a cell's accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct CellAccounting {
    /// Why the cell does not count; empty when the accounts balance.
    pub faults: Vec<String>,
    /// The network activity's result, when all its accounts are there.
    pub network: Option<NetworkResult>,
    /// The host activity's result, when there is one.
    pub host: Option<HostResult>,
}

/// Reconciles the accounts of a cell from its script, the workers' accounts (one per step, in
/// order), the wire's accounts and the machine's state meanwhile.
pub fn balance(row: &Row, script: &Script, seen: &Observation) -> CellAccounting {
    let mut faults = seen.failures();
    let reports = &seen.reports;
    let network =
        faults.is_empty().then(|| network_result(row, script, reports, &mut faults)).flatten();
    let host = host_result(script, reports);
    CellAccounting { faults, network, host }
}

/// The record of a cell that was played.
pub fn record(slot: Slot<Row>, script: &Script, seen: Observation) -> CellRecord {
    let CellAccounting { faults, network, host } = balance(&slot.cell, script, &seen);
    CellRecord {
        row: slot.cell,
        block: slot.block,
        position: slot.position,
        faults,
        network,
        host,
        reports: seen.reports,
        stations: seen.stations,
        machine: seen.machine,
        wire: seen.wire,
        start_skew_ns: seen.start_skew_ns,
        overhead_ns: seen.overhead_ns,
    }
}

/// Whether a stored cell says what its reports give: it is made from them again, and compared.
///
/// # Errors
/// It says something else, in a sentence with both values.
pub fn check_record(plan: &Plan, amounts: &Amounts, stored: &CellRecord) -> Result<(), String> {
    let CellRecord { row, block, position, .. } = *stored;
    let name = format!("cell {} of block {} ({row})", position + 1, block + 1);
    if stored.reports.is_empty() {
        return check_unprepared(&name, stored);
    }
    let script = script(plan, &row, &Setting::unplayed(plan, amounts));
    let steps = script.steps.iter().map(|step| (&step.host, step.order.activity.kind()));
    let reports = stored.reports.iter().map(|placed| (&placed.station, placed.activity.as_str()));
    if !steps.eq(reports) {
        return Err(format!("{name}: its reports are not those of the activities of its row"));
    }
    let slot = Slot { cell: row, block, position };
    let again = record(slot, &script, observation(stored));
    let differ =
        results(stored).into_iter().zip(results(&again)).find(|(said, given)| said != given);
    differ.map_or(Ok(()), |((what, said), (_, given))| {
        Err(format!("{name}: it says that its {what} is {said}, and its reports give {given}"))
    })
}

/// A cell that could not be prepared has its faults and nothing else.
fn check_unprepared(name: &str, stored: &CellRecord) -> Result<(), String> {
    let empty = CellRecord::empty(stored.row, stored.block, stored.position);
    let unprepared = CellRecord { faults: stored.faults.clone(), ..empty };
    if !stored.is_valid() && *stored == unprepared {
        return Ok(());
    }
    Err(format!("{name}: it has no reports, so it can have no result"))
}

/// What was seen in a stored cell.
fn observation(stored: &CellRecord) -> Observation {
    Observation {
        reports: stored.reports.clone(),
        stations: stored.stations.clone(),
        machine: stored.machine,
        wire: stored.wire.clone(),
        start_skew_ns: stored.start_skew_ns,
        overhead_ns: stored.overhead_ns,
        ..Observation::default()
    }
}

/// Everything in a record that follows from the rest of it, as text: of a number that is all its digits. Of faults
/// the number, because their words differ between versions, and are not published.
fn results(record: &CellRecord) -> [(&'static str, String); 8] {
    let (network, host) = (record.network.as_ref(), record.host.as_ref());
    let said = |value: Option<String>| value.unwrap_or_else(|| "absent".to_owned());
    let of_network = |value: fn(&NetworkResult) -> String| said(network.map(value));
    let of_host = |value: fn(&HostResult) -> String| said(host.map(value));
    [
        ("number of faults", record.faults.len().to_string()),
        ("number of bytes", of_network(|result| result.bytes.count().to_string())),
        ("duration in ns", of_network(|result| result.duration.nanoseconds().to_string())),
        ("goodput in b/s", of_network(|result| result.goodput_bits_per_second.to_string())),
        ("loss", of_network(|result| result.loss.to_string())),
        ("host activity's work", of_host(|result| result.work.to_string())),
        (
            "host activity's duration in ns",
            of_host(|result| result.duration.nanoseconds().to_string()),
        ),
        ("host activity's overlap", of_host(|result| result.overlap.to_string())),
    ]
}

fn network_result(
    row: &Row,
    script: &Script,
    reports: &[PlacedReport],
    faults: &mut Vec<String>,
) -> Option<NetworkResult> {
    let Row::Network { component, .. } = row else { return None };
    let flows: Vec<_> = flow_accounts(script, reports).collect();
    faults.extend(
        flows.iter().filter_map(|flow| Some(format!("{component}: {}", flow.as_ref().err()?))),
    );
    let flows: Vec<FlowAccount> = flows.into_iter().collect::<Result<_, _>>().ok()?;
    combine(*component, &flows)
}

fn combine(component: Component, flows: &[FlowAccount]) -> Option<NetworkResult> {
    let duration = flows.iter().map(|flow| flow.duration).max()?;
    let bytes: Bytes = flows.iter().map(|flow| flow.bytes).sum();
    let goodput = match component {
        // Rated components: all bytes over the time until the last of them has arrived.
        _ if component.is_rated() => bytes.bits() / duration.seconds(),
        _ => flows.iter().map(|flow| flow.goodput_bits_per_second).sum(),
    };
    let loss = flows.iter().map(|flow| flow.loss).sum::<f64>() / flows.len() as f64;
    Some(NetworkResult { bytes, duration, goodput_bits_per_second: goodput, loss })
}

fn host_result(script: &Script, reports: &[PlacedReport]) -> Option<HostResult> {
    let done = |role| {
        let steps = script.steps.iter().zip(reports).filter(move |(step, _)| step.role == role);
        steps.filter_map(|(step, placed)| Some((step, placed.result.as_ref().ok()?)))
    };
    let (at, host) = done(Role::Host).next()?;
    let Outcome::Host(account) = &host.outcome else { return None };
    // Only network activities on the same host share its clock.
    let network = done(Role::Network).filter(|(step, _)| step.host == at.host);
    let overlap = network.map(|(_, report)| overlap(host, report)).fold(0.0, f64::max);
    Some(HostResult { work: account.work, duration: host.duration(), overlap })
}

/// The share of `host`'s time during which `network` ran too.
fn overlap(host: &Report, network: &Report) -> f64 {
    let start = host.started.max(network.started);
    let end = host.finished.min(network.finished);
    let whole = host.duration().seconds();
    if whole > 0.0 { end.since(start).seconds() / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use btu_units::{Span, Time};

    use super::*;
    use crate::rate::plan::{Plan, Profile};
    use crate::rate::script::{Amount, Setting, script};
    use crate::rate::work::{Amounts, HostAmount, Volume};
    use btu_contract::load::Load;
    use btu_contract::network::{HostRole, Network};
    use btu_contract::record::{
        CpuTime, ElementAccount, Failure, Host, MachineCpu, Received, Sent, TcpInfo, WireAccount,
    };

    const VOLUME: u64 = 1_000_000;

    fn row(load: Load) -> Row {
        Row::Network { component: Component::Send, message: Bytes::new(1250), load }
    }

    fn script_of(load: Load) -> Script {
        let volume = Volume {
            component: Component::Send,
            message: Bytes::new(1250),
            volume: Bytes::new(VOLUME),
        };
        let host = vec![HostAmount { load: Load::Cpu, amount: 10 }];
        let setting = Setting {
            seed: 1,
            token: [0; 16],
            amount: Amount::Fixed(Amounts { volumes: vec![volume], host, null_cell_ns: 0 }),
            deadline: Span::from_seconds(1),
            scratch: "/scratch".into(),
            disk_source: None,
            ftp_password: String::new(),
        };
        script(&Plan::whole(1, Profile::quick(), Network::Veth), &row(load), &setting)
    }

    fn report(start: u64, finish: u64, outcome: Outcome) -> Report {
        let at = |ms| Time::from_nanoseconds(ms * 1_000_000);
        Report { started: at(start), finished: at(finish), cpu: CpuTime::default(), outcome }
    }

    fn placed(role: HostRole, activity: &str, report: Report) -> PlacedReport {
        PlacedReport { station: role.into(), activity: activity.to_owned(), result: Ok(report) }
    }

    fn sent(bytes: u64) -> PlacedReport {
        let outcome = Outcome::Sent(Sent {
            bytes: Bytes::new(bytes),
            messages: 800,
            tcp: TcpInfo::default(),
            moments: Vec::new(),
        });
        placed(HostRole::Test, "tcp-send", report(0, 100, outcome))
    }

    fn received(bytes: u64, samples_wrong: u64) -> PlacedReport {
        let outcome = Outcome::Received(Received {
            bytes: Bytes::new(bytes),
            messages: 800,
            first_byte: Span::from_milliseconds(1),
            last_byte: Span::from_milliseconds(100),
            samples_checked: 10,
            samples_wrong,
            progress: Vec::new(),
            tcp: TcpInfo::default(),
        });
        placed(HostRole::Active, "tcp-receive", report(0, 100, outcome))
    }

    fn seen(reports: &[PlacedReport]) -> Observation {
        Observation { reports: reports.to_vec(), ..Observation::default() }
    }

    fn strike(reports: &[PlacedReport]) -> CellAccounting {
        balance(&row(Load::Idle), &script_of(Load::Idle), &seen(reports))
    }

    #[test]
    fn a_clean_flow_gives_its_rate() {
        let balance = strike(&[received(VOLUME, 0), sent(VOLUME)]);
        assert_eq!(balance.faults, Vec::<String>::new());
        let network = balance.network.unwrap();
        assert!((network.goodput_bits_per_second - 80e6).abs() < 1.0);
    }

    #[test]
    fn a_missing_byte_voids_the_cell() {
        let balance = strike(&[received(VOLUME - 1, 0), sent(VOLUME)]);
        assert!(
            balance.faults[0].contains("1000000 B were sent and 999999 B received"),
            "{:?}",
            balance.faults
        );
        assert!(balance.network.is_none());
    }

    #[test]
    fn less_than_ordered_voids_the_cell() {
        let balance = strike(&[received(VOLUME - 1, 0), sent(VOLUME - 1)]);
        assert!(
            balance.faults[0].contains("1000000 B were ordered and 999999 B sent"),
            "{:?}",
            balance.faults
        );
    }

    #[test]
    fn wrong_payload_voids_the_cell() {
        assert!(
            strike(&[received(VOLUME, 1), sent(VOLUME)]).faults[0]
                .contains("1 of 10 payload samples")
        );
    }

    #[test]
    fn a_killed_worker_voids_the_cell_and_is_named() {
        let killed = PlacedReport {
            station: HostRole::Active.into(),
            activity: "tcp-receive".to_owned(),
            result: Err(Failure::Deadline { deadline_ns: 2_000_000_000 }),
        };
        let balance = strike(&[killed, sent(VOLUME)]);
        assert!(
            balance.faults[0].contains("tcp-receive on active was killed: not finished after 2 s")
        );
    }

    #[test]
    fn an_element_that_loses_frames_without_a_cause_voids_the_cell() {
        let element = ElementAccount {
            name: "up/line".to_owned(),
            received: 10,
            duplicated: 0,
            delivered: 8,
            dropped: vec![("queue full".to_owned(), 1)],
            held: 0,
        };
        let wire = WireAccount { elements: vec![element], ..WireAccount::default() };
        let reports = [received(VOLUME, 0), sent(VOLUME)];
        let balance = balance(
            &row(Load::Idle),
            &script_of(Load::Idle),
            &Observation { wire, ..seen(&reports) },
        );
        assert!(balance.faults[0].contains("up/line"), "{:?}", balance.faults);
    }

    #[test]
    fn a_machine_that_slept_voids_the_cell_and_a_stepped_clock_does_not() {
        let strike = |slept_ns, stepped_ns| {
            let machine = MachineCpu { slept_ns, stepped_ns, ..MachineCpu::default() };
            let seen = Observation { machine, ..seen(&[received(VOLUME, 0), sent(VOLUME)]) };
            balance(&row(Load::Idle), &script_of(Load::Idle), &seen).faults
        };
        assert_eq!(strike(2_000_000_000, 0), ["the machine slept 2 s meanwhile"]);
        assert_eq!(strike(0, 60_000_000_000), Vec::<String>::new());
    }

    #[test]
    fn the_host_activity_knows_how_long_it_had_company() {
        let host = Outcome::Host(Host { work: 10, method: String::new() });
        let reports = [
            received(VOLUME, 0),
            sent(VOLUME),
            placed(HostRole::Test, "cpu", report(50, 250, host)),
        ];
        let balance = balance(&row(Load::Cpu), &script_of(Load::Cpu), &seen(&reports));
        let host = balance.host.unwrap();
        assert_eq!(host.duration, Span::from_milliseconds(200));
        assert!((host.overlap - 0.25).abs() < 1e-9, "{}", host.overlap);
    }
}
