//! Verdicts over cells with known answers.

mod known;
mod paper;
mod variance;
mod warnings;

use btu_stats::Histogram;
use btu_units::{Bytes, Span, Time};

use btu_contract::load::Load;
use btu_contract::network::{HostRole, Network};
use btu_contract::record::{
    CpuTime, Host, MachineCpu, Outcome, PlacedReport, Received, Report, Sent, TcpInfo,
};

use super::Context;
use super::plan::{Plan, Profile};
use super::record::{CellRecord, HostResult, NetworkResult};
use super::row::{Component, Row};

/// The volume of a synthetic network activity.
const VOLUME: Bytes = Bytes::new(1_000_000);

/// The whole rating without the further rows, on four processors.
fn context() -> Context {
    let plan = Plan {
        components: Component::RATED.to_vec(),
        ..Plan::whole(7, Profile::quick(), Network::Veth)
    };
    Context::complete(plan, 4)
}

/// A valid cell on a machine with something to do.
fn cell(row: Row, block: u32) -> CellRecord {
    CellRecord {
        machine: MachineCpu {
            user_ns: 300,
            system_ns: 100,
            softirq_ns: 100,
            idle_ns: 500,
            ..MachineCpu::default()
        },
        ..CellRecord::empty(row, block, 0)
    }
}

/// A network activity that moved `volume` in `seconds`, at the same time as a host activity of
/// `host_seconds` where there is one.
pub(crate) fn network_cell(
    row: Row,
    block: u32,
    volume: Bytes,
    seconds: f64,
    host_seconds: Option<f64>,
) -> CellRecord {
    let duration = Span::from_seconds_f64(seconds);
    let network = NetworkResult {
        bytes: volume,
        duration,
        goodput_bits_per_second: volume.bits() / duration.seconds(),
        loss: 0.0,
    };
    let host = host_seconds.map(|host| HostResult {
        work: 100,
        duration: Span::from_seconds_f64(host),
        overlap: (seconds / host).min(1.0),
    });
    let mut reports = vec![sent(volume, seconds), received(volume, seconds)];
    reports.extend(
        host_seconds.map(|host| report(HostRole::Test, "cpu", host, Outcome::Host(rounds(100)))),
    );
    CellRecord { network: Some(network), host, reports, ..cell(row, block) }
}

/// A host activity alone.
fn host_cell(load: Load, block: u32, seconds: f64) -> CellRecord {
    let host = HostResult { work: 100, duration: Span::from_seconds_f64(seconds), overlap: 0.0 };
    CellRecord { host: Some(host), ..cell(Row::Host { load }, block) }
}

fn rounds(work: u64) -> Host {
    Host { work, method: String::new() }
}

fn report(role: HostRole, activity: &str, seconds: f64, outcome: Outcome) -> PlacedReport {
    let finished = Time::ZERO + Span::from_seconds_f64(seconds);
    let cpu = CpuTime::of(Span::from_milliseconds(1), Span::from_milliseconds(3));
    let report = Report { started: Time::ZERO, finished, cpu, outcome };
    PlacedReport { station: role.into(), activity: activity.to_owned(), result: Ok(report) }
}

fn sent(bytes: Bytes, seconds: f64) -> PlacedReport {
    let tcp = TcpInfo { bytes_sent: bytes.count(), busy_us: 1000, ..TcpInfo::default() };
    report(
        HostRole::Test,
        "tcp-send",
        seconds,
        Outcome::Sent(Sent { bytes, messages: 1, tcp, moments: Vec::new() }),
    )
}

fn received(bytes: Bytes, seconds: f64) -> PlacedReport {
    let outcome = Outcome::Received(Received {
        bytes,
        messages: 1,
        first_byte: Span::ZERO,
        last_byte: Span::from_seconds_f64(seconds),
        samples_checked: 1,
        samples_wrong: 0,
        progress: Vec::new(),
        tcp: TcpInfo::default(),
    });
    report(HostRole::Active, "tcp-receive", seconds, outcome)
}

/// Every row of `context` in each of `blocks`: network activities take `seconds(row, block)` for
/// [`VOLUME`], host activities one second alone and `host_seconds` while the network activity runs.
fn run(
    context: &Context,
    blocks: u32,
    seconds: impl Fn(Row, u32) -> f64,
    host_seconds: f64,
) -> Vec<CellRecord> {
    let one = |row, block| match row {
        Row::Host { load } => host_cell(load, block, 1.0),
        Row::Network { load, .. } => {
            let host = (load != Load::Idle).then_some(host_seconds);
            network_cell(row, block, VOLUME, seconds(row, block), host)
        }
    };
    (0..blocks)
        .flat_map(|block| context.plan.rows().into_iter().map(move |row| (row, block)))
        .map(|(row, block)| one(row, block))
        .collect()
}

/// `found` is `expected` within a millionth.
fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-6
}
