//! A made-up run that looks like one on a small virtual machine, equal every time.

use btu_contract::load::Load;
use btu_contract::network::{HostRole, Network};
use btu_contract::record::{
    CpuTime, DatagramsReceived, DatagramsSent, MachineCpu, Outcome, PlacedReport, Report,
    Requested, Sent, TcpInfo,
};
use btu_report::RunHead;
use btu_stats::Histogram;
use btu_studies::rate::{
    CellRecord, Component, Context, HostResult, NetworkResult, Plan, Profile, Row,
};
use btu_units::{Bytes, Span, Time};

/// The quick profile on two processors.
pub(crate) fn context() -> Context {
    let plan = Plan::whole(42, Profile::quick(), Network::Veth);
    Context::complete(plan, 2)
}

pub(crate) fn head() -> RunHead {
    RunHead {
        id: "r12".to_owned(),
        started: "2026-11-21 04:33:10 UTC".to_owned(),
        network: "veth".to_owned(),
        profile: "quick".to_owned(),
        seed: 42,
        machine: "2 x Intel Xeon 2.80 GHz, 8 GB, Linux 6.12.0".to_owned(),
        hosts: Vec::new(),
        conditions: Vec::new(),
        database: "/home/user/.local/share/btu/runs.sqlite".to_owned(),
        duration: Span::from_seconds(128),
        own_cost: Some(Span::from_microseconds(6030)),
        notes: Vec::new(),
        busy: None,
    }
}

/// All rows in three blocks.
pub(crate) fn records(context: &Context) -> Vec<CellRecord> {
    (0..3)
        .flat_map(|block| context.plan.rows().into_iter().map(move |row| (row, block)))
        .map(|(row, block)| cell(row, block))
        .collect()
}

/// Noise around 1: a fixed scramble of the row and the block, up to `spread` either way.
fn noise(row: Row, block: u32, spread: f64) -> f64 {
    let text = format!("{row} {block}");
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes().chain(text.bytes().rev()) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        state ^= state >> 29;
    }
    1.0 + spread * ((state >> 11) as f64 / 2f64.powi(52) - 1.0)
}

fn cell(row: Row, block: u32) -> CellRecord {
    let empty = CellRecord {
        machine: MachineCpu {
            user_ns: 40_000_000,
            system_ns: 110_000_000,
            irq_ns: 0,
            softirq_ns: 21_000_000,
            steal_ns: 4_300_000,
            idle_ns: 35_000_000,
            ..MachineCpu::default()
        },
        start_skew_ns: 200_000,
        overhead_ns: 20_000_000,
        ..CellRecord::empty(row, block, 0)
    };
    match row {
        Row::Host { load } => CellRecord { host: Some(host(load, 1.0, row, block)), ..empty },
        Row::Network {
            component: component @ (Component::InteractiveTcp | Component::InteractiveUdp),
            load,
            ..
        } => {
            let (network, reports) = interactive(component, load, row, block);
            CellRecord { network: Some(network), reports, ..empty }
        }
        Row::Network { component: Component::Udp, load, .. } => {
            let (network, reports) = stream(load, row, block);
            CellRecord { network: Some(network), reports, ..empty }
        }
        Row::Network { component, message, load } => {
            bulk(component, message, load, row, block, empty)
        }
    }
}

fn placed(
    role: HostRole,
    activity: &str,
    seconds: f64,
    cpu_seconds: f64,
    outcome: Outcome,
) -> PlacedReport {
    let cpu = CpuTime::of(
        Span::from_seconds_f64(cpu_seconds * 0.1),
        Span::from_seconds_f64(cpu_seconds * 0.9),
    );
    let finished = Time::ZERO + Span::from_seconds_f64(seconds);
    let report = Report { started: Time::ZERO, finished, cpu, outcome };
    PlacedReport { station: role.into(), activity: activity.to_owned(), result: Ok(report) }
}

fn host(load: Load, slowdown: f64, row: Row, block: u32) -> HostResult {
    let alone = match load {
        Load::Disk => 0.118,
        _ => 0.101,
    };
    let duration = Span::from_seconds_f64(alone * slowdown * noise(row, block, 0.03));
    HostResult { work: 1000, duration, overlap: 0.9 }
}

/// Goodput alone in Mb/s: bounded by messages per second and by the component.
fn goodput_alone(component: Component, message: Bytes) -> f64 {
    let ceiling = match component {
        Component::Send => 31_000.0,
        Component::Recv => 29_500.0,
        Component::SendDelayed => 9_800.0,
        Component::SendRecv => 33_400.0,
        Component::TwoRecvDelayed => 12_100.0,
        _ => 410.0,
    };
    let by_messages = 1.1 * message.bits();
    ceiling * by_messages / (ceiling + by_messages)
}

fn slowdowns(load: Load) -> (f64, f64) {
    match load {
        Load::Idle => (1.0, 1.0),
        Load::Cpu => (1.62, 1.71),
        Load::Disk => (1.08, 1.21),
        Load::Transfer => (1.94, 2.23),
    }
}

fn bulk(
    component: Component,
    message: Bytes,
    load: Load,
    row: Row,
    block: u32,
    empty: CellRecord,
) -> CellRecord {
    let alone = goodput_alone(component, message) * 1e6;
    let bytes = Bytes::new((alone / 8.0 * 0.1) as u64);
    let (network_slowdown, host_slowdown) = slowdowns(load);
    let spread = if component == Component::TwoSendDropped { 0.30 } else { 0.035 };
    let seconds = 0.1 * network_slowdown * noise(row, block, spread);
    let duration = Span::from_seconds_f64(seconds);
    let goodput = bytes.bits() / duration.seconds();
    let tcp = TcpInfo { bytes_sent: bytes.count(), busy_us: 90_000, ..TcpInfo::default() };
    let sent = Outcome::Sent(Sent { bytes, messages: 1, tcp, moments: Vec::new() });
    let cpu_seconds = bytes.count() as f64 / 1e9 * (0.21 + 1600.0 / message.count() as f64 * 0.1);
    let mut reports = vec![
        placed(HostRole::Test, "tcp-send", seconds, cpu_seconds, sent),
        placed(HostRole::Active, "tcp-receive", seconds, cpu_seconds, Outcome::Null),
    ];
    let host = (load != Load::Idle).then(|| host(load, host_slowdown, row, block));
    if let Some(host) = &host {
        let account = btu_contract::record::Host { work: host.work, method: String::new() };
        reports.extend((0..2).map(|_| {
            placed(
                HostRole::Test,
                load.name(),
                host.duration.seconds(),
                0.1,
                Outcome::Host(account.clone()),
            )
        }));
    }
    let network = NetworkResult { bytes, duration, goodput_bits_per_second: goodput, loss: 0.0 };
    CellRecord { network: Some(network), host, reports, ..empty }
}

fn interactive(
    component: Component,
    load: Load,
    row: Row,
    block: u32,
) -> (NetworkResult, Vec<PlacedReport>) {
    let base = if component == Component::InteractiveTcp { 21.0 } else { 17.0 };
    let base = base * slowdowns(load).0 * noise(row, block, 0.05);
    let mut round_trip = Histogram::new();
    for index in 0..3000_u32 {
        let tail = if index % 1000 == 0 { 60.0 } else { 1.0 + f64::from(index % 97) / 40.0 };
        round_trip.record((base * tail * 1000.0) as u64);
    }
    let lost = u64::from(component == Component::InteractiveUdp && load == Load::Cpu);
    let requested = Requested {
        requests: 3000 + lost,
        answers: 3000,
        lost,
        lost_batches: Vec::new(),
        late: 0,
        wrong: 0,
        round_trip,
    };
    let duration = Span::from_milliseconds(100);
    let network =
        NetworkResult { bytes: Bytes::ZERO, duration, goodput_bits_per_second: 0.0, loss: 0.0 };
    (network, vec![placed(HostRole::Test, "request", 0.1, 0.05, Outcome::Requested(requested))])
}

fn stream(load: Load, row: Row, block: u32) -> (NetworkResult, Vec<PlacedReport>) {
    let offered = context().plan.udp_offered;
    let datagrams = offered.bits_per_second() / 8 / 1024 / 10;
    let drops = match load {
        Load::Cpu => (datagrams as f64 * 0.013 * noise(row, block, 0.2)) as u64,
        _ => 0,
    };
    let arrived = datagrams - drops;
    let mut lateness = Histogram::new();
    (0..datagrams).for_each(|_| lateness.record(40_000));
    let span = Span::from_milliseconds(100);
    let sent = DatagramsSent {
        datagrams,
        bytes: Bytes::new(datagrams * 1024),
        refused: 0,
        offered,
        span,
        lateness,
        held: None,
    };
    let received = DatagramsReceived {
        datagrams: arrived,
        lost_batches: Vec::new(),
        bytes: Bytes::new(arrived * 1024),
        duplicates: 0,
        reordered: 0,
        wrong: 0,
        buffer_drops: drops,
        first: Span::ZERO,
        span: Span::from_milliseconds(100),
        farewell: true,
        jitter: None,
        progress: Vec::new(),
    };
    let goodput = offered.bits_per_second() as f64
        * (arrived as f64 / datagrams as f64)
        * noise(row, block, 0.004);
    let network = NetworkResult {
        bytes: received.bytes,
        duration: received.span,
        goodput_bits_per_second: goodput,
        loss: drops as f64 / datagrams as f64,
    };
    let reports = vec![
        placed(HostRole::Active, "udp-send", 0.1, 0.02, Outcome::DatagramsSent(sent)),
        placed(HostRole::Test, "udp-receive", 0.1, 0.02, Outcome::DatagramsReceived(received)),
    ];
    (network, reports)
}
