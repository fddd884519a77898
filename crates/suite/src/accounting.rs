//! Checks whether a cell's accounts balance: sent = received + lost + in flight, at every level
//! with counts.

use btu_units::{Bytes, Span};

use crate::activity::{Activity, Transport, Work};
use crate::cell::{Component, Row};
use crate::experiment::Observation;
use crate::plan::Plan;
use crate::record::{
    CellRecord, DatagramsReceived, DatagramsSent, HostResult, NetworkResult, Outcome, PlacedReport,
    Received, Report, Requested, Sent,
};
use crate::schedule::Slot;
use crate::script::{Role, Script, Setting, Step, script};
use crate::work::Amounts;

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
pub fn balance(row: Option<&Row>, script: &Script, seen: &Observation) -> CellAccounting {
    let mut faults = seen.failures();
    let reports = &seen.reports;
    let network =
        faults.is_empty().then(|| network_result(row, script, reports, &mut faults)).flatten();
    let host = host_result(script, reports);
    CellAccounting { faults, network, host }
}

/// The record of a cell that was played.
pub fn record(slot: Slot, script: &Script, seen: Observation) -> CellRecord {
    let CellAccounting { faults, network, host } = balance(Some(&slot.cell), script, &seen);
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

/// Why flows with complete accounts do not count, a sentence each.
pub fn flow_faults(script: &Script, reports: &[PlacedReport]) -> Vec<String> {
    flows(script, reports)
        .filter_map(|(steps, one, other)| flow_result(steps, one, other).err())
        .collect()
}

fn network_result(
    row: Option<&Row>,
    script: &Script,
    reports: &[PlacedReport],
    faults: &mut Vec<String>,
) -> Option<NetworkResult> {
    let Some(Row::Network { component, .. }) = row else { return None };
    let flows: Vec<([&Step; 2], &Report, &Report)> = flows(script, reports).collect();
    let mut results = Vec::with_capacity(flows.len());
    for (steps, one, other) in flows {
        match flow_result(steps, one, other) {
            Ok(result) => results.push(result),
            Err(fault) => faults.push(format!("{component}: {fault}")),
        }
    }
    faults.is_empty().then(|| combine(*component, &results)).flatten()
}

/// The pairs of network steps, the listening one first, with their accounts.
fn flows<'a>(
    script: &'a Script,
    reports: &'a [PlacedReport],
) -> impl Iterator<Item = ([&'a Step; 2], &'a Report, &'a Report)> {
    script.steps.iter().zip(reports).filter(|(step, _)| step.role == Role::Network).filter_map(
        |(step, placed)| {
            let listening = step.peer?;
            let there = reports.get(listening)?.result.as_ref().ok()?;
            Some(([script.steps.get(listening)?, step], there, placed.result.as_ref().ok()?))
        },
    )
}

/// The payload, the time and the lost share of one flow.
struct FlowAccount {
    bytes: Bytes,
    duration: Span,
    /// Time over which the rate is taken, when it is not the duration.
    goodput_bits_per_second: f64,
    loss: f64,
}

fn flow_result(steps: [&Step; 2], one: &Report, other: &Report) -> Result<FlowAccount, String> {
    match (&one.outcome, &other.outcome) {
        (Outcome::Sent(sent), Outcome::Received(received))
        | (Outcome::Received(received), Outcome::Sent(sent)) => tcp_flow(steps, sent, received),
        (Outcome::DatagramsSent(sent), Outcome::DatagramsReceived(received))
        | (Outcome::DatagramsReceived(received), Outcome::DatagramsSent(sent)) => {
            udp_flow(sent, received)
        }
        (Outcome::Responded { answers }, Outcome::Requested(requested)) => {
            exchange(steps, other, *answers, requested)
        }
        (left, right) => Err(format!("accounts do not belong together: {left:?} and {right:?}")),
    }
}

fn tcp_flow(steps: [&Step; 2], sent: &Sent, received: &Received) -> Result<FlowAccount, String> {
    if sent.bytes != received.bytes {
        return Err(format!(
            "{} B were sent and {} B received",
            sent.bytes.count(),
            received.bytes.count()
        ));
    }
    if received.samples_wrong > 0 {
        return Err(format!(
            "{} of {} payload samples are not what was sent",
            received.samples_wrong, received.samples_checked
        ));
    }
    for step in steps {
        if let Activity::TcpSend(order) = &step.order.activity {
            check_volume(order.work, sent.bytes)?;
        }
    }
    if received.last_byte == Span::ZERO || received.bytes == Bytes::ZERO {
        return Err("nothing was received".to_owned());
    }
    let goodput = received.bytes.bits() / received.last_byte.seconds();
    Ok(FlowAccount {
        bytes: received.bytes,
        duration: received.last_byte,
        goodput_bits_per_second: goodput,
        loss: 0.0,
    })
}

fn check_volume(work: Work, sent: Bytes) -> Result<(), String> {
    match work {
        Work::Bytes(wanted) if wanted != sent => {
            Err(format!("{} B were ordered and {} B sent", wanted.count(), sent.count()))
        }
        _ => Ok(()),
    }
}

fn udp_flow(sent: &DatagramsSent, received: &DatagramsReceived) -> Result<FlowAccount, String> {
    if received.wrong > 0 {
        return Err(format!("{} datagrams had content that was not sent", received.wrong));
    }
    if received.datagrams > sent.datagrams {
        return Err(format!(
            "{} datagrams were sent and {} received",
            sent.datagrams, received.datagrams
        ));
    }
    if received.datagrams < 2 || received.span == Span::ZERO {
        return Err(format!("only {} of {} datagrams arrived", received.datagrams, sent.datagrams));
    }
    let lost = sent.datagrams - received.datagrams;
    Ok(FlowAccount {
        bytes: received.bytes,
        duration: received.span,
        goodput_bits_per_second: datagram_goodput(sent, received),
        loss: lost as f64 / sent.datagrams as f64,
    })
}

/// The arrived payload over the longer of two times: between the first and the last arrival, and
/// the sending time.
///
/// The first datagram only starts the receiver's clock, so its payload is not counted over the
/// receiver's time. Where that time is the shorter one, the first datagram was delayed more than
/// the last (a receiver that had to wait for a processor, say): the stream came late, not faster
/// than it was sent. So goodput is never above the real sending rate.
fn datagram_goodput(sent: &DatagramsSent, received: &DatagramsReceived) -> f64 {
    let arrived = received.bytes.bits();
    let after_the_first = arrived * (received.datagrams - 1) as f64 / received.datagrams as f64;
    let by_receiver = after_the_first / received.span.seconds();
    // Older records have no sending time.
    if sent.span == Span::ZERO {
        by_receiver
    } else {
        by_receiver.min(arrived / sent.span.seconds())
    }
}

fn exchange(
    steps: [&Step; 2],
    asking: &Report,
    answers_sent: u64,
    requested: &Requested,
) -> Result<FlowAccount, String> {
    if requested.wrong > 0 {
        return Err(format!("{} answers were wrong", requested.wrong));
    }
    // An archive may hold any numbers.
    if requested.answers.checked_add(requested.lost) != Some(requested.requests) {
        return Err(format!(
            "{} requests, but {} answers and {} losses",
            requested.requests, requested.answers, requested.lost
        ));
    }
    let connects = |step: &&Step| matches!(&step.order.activity, Activity::Request(request) if request.transport == Transport::TcpConnect);
    if steps.iter().any(connects)
        && Some(requested.requests) != answers_sent.checked_add(requested.lost)
    {
        return Err(format!(
            "{} connections were opened, but {answers_sent} accepted and {} refused",
            requested.requests, requested.lost
        ));
    }
    if requested.answers.saturating_add(requested.late) > answers_sent {
        return Err(format!("{} answers were received and {answers_sent} sent", requested.answers));
    }
    if requested.answers == 0 {
        return Err(format!("none of {} requests was answered", requested.requests));
    }
    Ok(FlowAccount {
        bytes: Bytes::ZERO,
        duration: asking.duration(),
        goodput_bits_per_second: 0.0,
        loss: requested.lost as f64 / requested.requests as f64,
    })
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
    use btu_units::Time;

    use super::*;
    use crate::cell::Load;
    use crate::network::{HostRole, Network};
    use crate::plan::{Plan, Profile};
    use crate::record::{CpuTime, ElementAccount, Failure, Host, MachineCpu, TcpInfo, WireAccount};
    use crate::script::{Amount, Setting, script};
    use crate::work::{Amounts, HostAmount, Volume};

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
        balance(Some(&row(Load::Idle)), &script_of(Load::Idle), &seen(reports))
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

    fn stream(sent_ms: u64, received_ms: u64, arrived: u64) -> (DatagramsSent, DatagramsReceived) {
        let bytes = |datagrams: u64| Bytes::new(1000 * datagrams);
        let sent = DatagramsSent {
            datagrams: 1000,
            bytes: bytes(1000),
            refused: 0,
            offered: btu_units::BitRate::from_megabits_per_second(8),
            span: Span::from_milliseconds(sent_ms),
            lateness: btu_stats::Histogram::new(),
            held: None,
        };
        let received = DatagramsReceived {
            datagrams: arrived,
            lost_batches: Vec::new(),
            bytes: bytes(arrived),
            duplicates: 0,
            reordered: 0,
            wrong: 0,
            buffer_drops: 0,
            first: Span::ZERO,
            span: Span::from_milliseconds(received_ms),
            farewell: true,
            jitter: None,
            progress: Vec::new(),
        };
        (sent, received)
    }

    fn goodput_of(sent_ms: u64, received_ms: u64, arrived: u64) -> f64 {
        let (sent, received) = stream(sent_ms, received_ms, arrived);
        udp_flow(&sent, &received).unwrap().goodput_bits_per_second
    }

    #[test]
    fn a_stream_is_not_delivered_faster_than_it_was_sent() {
        // In step: 999 gaps between the arrivals, 1000 in the schedule.
        assert!((goodput_of(1000, 999, 1000) - 8e6).abs() < 1.0);
        // The first was 100 ms late, the last was not.
        assert!((goodput_of(1000, 899, 1000) - 8e6).abs() < 1.0);
        // The last waited 100 ms in a queue.
        assert!((goodput_of(1000, 1099, 1000) - 999.0 * 8000.0 / 1.099).abs() < 1.0);
        // The sender needed longer than its schedule.
        assert!((goodput_of(1250, 999, 1000) - 6.4e6).abs() < 1.0);
        // The last half is lost: the receiver's time does not show that.
        assert!((goodput_of(1000, 499, 500) - 4e6).abs() < 1.0);
        // A record without the sender's time.
        assert!((goodput_of(0, 500, 501) - 8e6).abs() < 1.0);
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
            Some(&row(Load::Idle)),
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
            balance(Some(&row(Load::Idle)), &script_of(Load::Idle), &seen).faults
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
        let balance = balance(Some(&row(Load::Cpu)), &script_of(Load::Cpu), &seen(&reports));
        let host = balance.host.unwrap();
        assert_eq!(host.duration, Span::from_milliseconds(200));
        assert!((host.overlap - 0.25).abs() < 1e-9, "{}", host.overlap);
    }
}
