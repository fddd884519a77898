//! Common data of the store's tests: a run and cells as large as real ones.

use std::path::{Path, PathBuf};

use btu_contract::load::Load;
use btu_contract::network::{HostRole, Network};
use btu_contract::record::{
    CpuTime, Failure, MachineCpu, Outcome, PlacedReport, Received, Report, StationCpu, TcpInfo,
    WireAccount,
};
use btu_stats::Histogram;
use btu_store::{NewRun, RunId, RunLock, SERVED, Store, StoreError};
use btu_studies::rate::{CellRecord, Component, HostResult, NetworkResult, Plan, Profile, Row};
use btu_units::{Bytes, Span, Time};
use serde_json::{Value, json};

pub(crate) const CREATED: &str = "2026-11-21T04:31:08Z";

pub(crate) fn temporary() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    (directory, path)
}

pub(crate) fn open(path: &Path) -> Store {
    Store::open(path).unwrap()
}

pub(crate) fn plan() -> Value {
    json!({"blocks": 3, "order": ["SEND", "RECV"]})
}

pub(crate) fn create(store: &mut Store) -> RunLock {
    create_labelled(store, None, &[])
}

pub(crate) fn create_served(store: &mut Store) -> RunLock {
    create_with(store, SERVED, None, &[])
}

pub(crate) fn create_labelled(store: &mut Store, label: Option<&str>, tags: &[String]) -> RunLock {
    create_with(store, "quick", label, tags)
}

fn create_with(store: &mut Store, profile: &str, label: Option<&str>, tags: &[String]) -> RunLock {
    store
        .create_run(&NewRun {
            study: "rate",
            profile,
            network: "veth",
            label,
            tags,
            created: CREATED,
            seed: u64::MAX,
            btu_version: "0.1.0",
            plan: &plan(),
            plan_hash: "0123456789abcdef",
            planned_cells: 240,
        })
        .unwrap()
}

/// Cells of a rating: whatever plan it is, their columns are the same.
pub(crate) trait StoreCells {
    fn save_cell(&self, lock: &RunLock, cell: &CellRecord) -> Result<(), StoreError>;
    fn cells(&self, run: RunId) -> Result<Vec<CellRecord>, StoreError>;
}

impl StoreCells for Store {
    fn save_cell(&self, lock: &RunLock, cell: &CellRecord) -> Result<(), StoreError> {
        self.save(lock, &Plan::whole(7, Profile::quick(), Network::Veth), cell)
    }

    fn cells(&self, run: RunId) -> Result<Vec<CellRecord>, StoreError> {
        self.records(run)
    }
}

pub(crate) fn row() -> Row {
    Row::Network { component: Component::SendRecv, message: Bytes::new(1250), load: Load::Disk }
}

/// A cell as large as they come: two flows with full progress and a wide distribution of lateness.
pub(crate) fn cell(block: u32, position: u32, row: Row) -> CellRecord {
    let goodput = 941_482_753.1 + f64::from(block);
    CellRecord {
        row,
        block,
        position,
        faults: Vec::new(),
        network: Some(NetworkResult {
            bytes: Bytes::new(123_456_789),
            duration: Span::from_milliseconds(1049),
            goodput_bits_per_second: goodput,
            loss: 0.01,
        }),
        host: Some(HostResult {
            work: 17,
            duration: Span::from_milliseconds(998),
            overlap: 0.1 + 0.2,
        }),
        reports: vec![received(HostRole::Active), received(HostRole::Test), hung()],
        stations: vec![StationCpu {
            station: HostRole::Test.into(),
            workers: cpu(),
            agent: CpuTime::default(),
        }],
        machine: MachineCpu {
            user_ns: 1_000_000_000,
            softirq_ns: 250_000_000,
            ..MachineCpu::default()
        },
        wire: WireAccount { lateness: lateness(), ..WireAccount::default() },
        start_skew_ns: 12_345,
        overhead_ns: 21_000_000,
    }
}

fn received(role: HostRole) -> PlacedReport {
    let received = Received {
        bytes: Bytes::new(61_728_394),
        messages: 49_383,
        first_byte: Span::from_microseconds(113),
        last_byte: Span::from_milliseconds(1049),
        samples_checked: 49,
        samples_wrong: 0,
        progress: (1..=1000).map(|step| (step * 1_049_017, step * 61_728)).collect(),
        tcp: TcpInfo { rtt_us: 118, ..TcpInfo::default() },
    };
    let report = Report {
        started: Time::from_nanoseconds(81_234_567_890_123),
        finished: Time::from_nanoseconds(81_235_616_890_123),
        cpu: cpu(),
        outcome: Outcome::Received(received),
    };
    PlacedReport { station: role.into(), activity: "tcp-receive".to_owned(), result: Ok(report) }
}

fn hung() -> PlacedReport {
    let failure = Failure::Deadline { deadline_ns: 9_000_000_000 };
    PlacedReport {
        station: HostRole::Test.into(),
        activity: "disk".to_owned(),
        result: Err(failure),
    }
}

fn cpu() -> CpuTime {
    CpuTime::of(Span::from_milliseconds(31), Span::from_milliseconds(407))
}

fn lateness() -> Histogram {
    let mut histogram = Histogram::new();
    (1..=2000_u64).for_each(|step| histogram.record(step * step));
    histogram
}
