//! Made-up cells of ratings, for the tests of all crates: their accounts agree, as those of measured ones do.

// Each test program uses its own part of this.
#![allow(dead_code)]

use btu_contract::activity::{Activity, Work};
use btu_contract::experiment::{Observation, Slot};
use btu_contract::load::Load;
use btu_contract::record::{
    CpuTime, DatagramsReceived, DatagramsSent, Host, Outcome, PlacedReport, Received, Report,
    Requested, Sent, TcpInfo,
};
use btu_contract::script::{Script, Step};
use btu_stats::Histogram;
use btu_studies::rate::accounting::record;
use btu_studies::rate::script::{Setting, script};
use btu_studies::rate::work::{Amounts, HostAmount, Volume, volumes_wanted};
use btu_studies::rate::{CellRecord, Component, Plan, Row};
use btu_units::{BitRate, Bytes, Span, Time};
use serde_json::{Value, json};

/// What each connection of a bulk component moves.
const VOLUME: Bytes = Bytes::new(10_000_000);

/// The time of a host activity, and its work.
const HOST_TIME: Span = Span::from_seconds(1);
const HOST_WORK: u64 = 1000;

/// What was calibrated of a plan, as it is stored.
pub(crate) fn calibration(plan: &Plan) -> Value {
    json!({"amounts": amounts(plan)})
}

/// The amounts of work of all cells.
pub(crate) fn amounts(plan: &Plan) -> Amounts {
    let volume = |(component, message): (Component, Bytes)| Volume {
        component,
        message,
        volume: VOLUME * component.flows().len() as u64,
    };
    Amounts {
        volumes: volumes_wanted(plan).into_iter().map(volume).collect(),
        host: Load::HOST.map(|load| HostAmount { load, amount: HOST_WORK }).to_vec(),
        null_cell_ns: 12,
    }
}

/// A valid cell, where the plan puts it, with this goodput of all connections together. A run has spent the plan's time
/// after its second cell, so that it may be complete after every cell of a whole block.
pub(crate) fn cell(plan: &Plan, row: Row, block: u32, bits_per_second: f64) -> CellRecord {
    let order = plan.shuffled(block, plan.rows());
    let position = order.iter().position(|other| *other == row).expect("a row of the plan");
    let number = u64::from(block) * order.len() as u64 + position as u64;
    let begin = Time::from_nanoseconds(1) + plan.profile.budget * number;
    let flows = match row {
        Row::Network { component, .. } => component.flows().len() as u64,
        Row::Host { .. } => 1,
    };
    let lasting = Span::from_seconds_f64((VOLUME * flows).bits() / bits_per_second);
    let rate = BitRate::from_bits_per_second(bits_per_second as u64);
    let steps = script_of(plan, row).steps;
    let reports = steps.iter().map(|step| placed(step, begin, lasting, rate)).collect();
    derived(plan, CellRecord { reports, ..CellRecord::empty(row, block, position as u32) })
}

fn script_of(plan: &Plan, row: Row) -> Script {
    script(plan, &row, &Setting::unplayed(plan, &amounts(plan)))
}

/// A cell whose reports were changed, with the results that they give.
pub(crate) fn derived(plan: &Plan, changed: CellRecord) -> CellRecord {
    let CellRecord { row, block, position, reports, stations, machine, wire, .. } = changed;
    let seen = Observation { reports, stations, machine, wire, ..Observation::default() };
    record(Slot { cell: row, block, position }, &script_of(plan, row), seen)
}

fn placed(step: &Step, begin: Time, lasting: Span, rate: BitRate) -> PlacedReport {
    let activity = &step.order.activity;
    let time = if matches!(activity, Activity::Cpu(_) | Activity::Disk(_) | Activity::FtpFetch(_)) {
        HOST_TIME
    } else {
        lasting
    };
    let outcome = outcome(activity, lasting, rate);
    let report =
        Report { started: begin, finished: begin + time, cpu: CpuTime::default(), outcome };
    PlacedReport {
        station: step.host.clone(),
        activity: activity.kind().to_owned(),
        result: Ok(report),
    }
}

/// The account of an activity that did what it was told.
fn outcome(activity: &Activity, lasting: Span, rate: BitRate) -> Outcome {
    match activity {
        Activity::TcpSend(order) => Outcome::Sent(sent(order.work)),
        Activity::TcpReceive(order) => {
            Outcome::Received(received(order.volume.unwrap_or_default(), lasting))
        }
        Activity::Request(_) => Outcome::Requested(requested()),
        Activity::Respond(_) => Outcome::Responded { answers: 100 },
        Activity::UdpSend(_) => Outcome::DatagramsSent(datagrams_sent(lasting, rate)),
        Activity::UdpReceive(_) => Outcome::DatagramsReceived(datagrams_received(lasting)),
        Activity::Cpu(_) | Activity::Disk(_) | Activity::FtpFetch(_) => {
            Outcome::Host(Host { work: HOST_WORK, method: "made up".to_owned() })
        }
        Activity::FtpServe(_) => Outcome::Served { bytes: Bytes::new(HOST_WORK) },
        _ => Outcome::Null,
    }
}

fn sent(work: Work) -> Sent {
    let bytes = match work {
        Work::Bytes(bytes) => bytes,
        Work::For(_) => VOLUME,
    };
    Sent { bytes, messages: 8000, tcp: TcpInfo::default(), moments: Vec::new() }
}

fn received(bytes: Bytes, lasting: Span) -> Received {
    Received {
        bytes,
        messages: 8000,
        first_byte: Span::from_nanoseconds(lasting.nanoseconds() / 1000),
        last_byte: lasting,
        samples_checked: 10,
        samples_wrong: 0,
        progress: vec![(lasting.nanoseconds(), bytes.count())],
        tcp: TcpInfo::default(),
    }
}

fn requested() -> Requested {
    let mut round_trip = Histogram::new();
    (0..100).for_each(|number| round_trip.record(100_000 + 100 * number));
    Requested {
        requests: 100,
        answers: 100,
        lost: 0,
        lost_batches: vec![0],
        late: 0,
        wrong: 0,
        round_trip,
    }
}

fn datagrams_sent(lasting: Span, offered: BitRate) -> DatagramsSent {
    DatagramsSent {
        datagrams: 1000,
        bytes: VOLUME,
        refused: 0,
        offered,
        span: lasting,
        lateness: Histogram::new(),
        held: None,
    }
}

fn datagrams_received(lasting: Span) -> DatagramsReceived {
    DatagramsReceived {
        datagrams: 1000,
        lost_batches: vec![0],
        bytes: VOLUME,
        duplicates: 0,
        reordered: 0,
        wrong: 0,
        buffer_drops: 0,
        first: Span::ZERO,
        span: Span::from_nanoseconds(lasting.nanoseconds() / 1000 * 999),
        farewell: true,
        jitter: Some(Span::from_nanoseconds(1)),
        progress: vec![(lasting.nanoseconds() / 1000 * 999, VOLUME.count())],
    }
}
