//! A cell of a rating as it is stored.

use btu_contract::record::{MachineCpu, PlacedReport, StationCpu, WireAccount};
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::row::Row;

/// One cell as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its row.
    pub row: Row,
    /// Its randomised block, from 0.
    pub block: u32,
    /// Its place in the block's order, from 0.
    pub position: u32,
    /// Why it does not count; empty when it is valid.
    pub faults: Vec<String>,
    /// The network activity's result.
    pub network: Option<NetworkResult>,
    /// The host activity's result.
    pub host: Option<HostResult>,
    /// The accounts of all workers.
    pub reports: Vec<PlacedReport>,
    /// The stations' CPU time.
    pub stations: Vec<StationCpu>,
    /// The machine's CPU time, and the state of its clocks.
    pub machine: MachineCpu,
    /// The accounts of the wire, which emulates the network.
    pub wire: WireAccount,
    /// Between the first and the last worker's start.
    pub start_skew_ns: u64,
    /// The time of the cell outside its activities: prepare, collect, check. Storing is measured by
    /// the run.
    pub overhead_ns: u64,
}

impl CellRecord {
    /// A valid cell in which nothing was measured.
    pub fn empty(row: Row, block: u32, position: u32) -> Self {
        Self {
            row,
            block,
            position,
            faults: Vec::new(),
            network: None,
            host: None,
            reports: Vec::new(),
            stations: Vec::new(),
            machine: MachineCpu::default(),
            wire: WireAccount::default(),
            start_skew_ns: 0,
            overhead_ns: 0,
        }
    }

    /// Whether the cell counts.
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}

/// The result of the network activity of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkResult {
    /// Payload of all flows, at their receivers.
    pub bytes: Bytes,
    /// The longest flow's duration, by its receiver's clock.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// The goodput in bits per second: payload over duration.
    pub goodput_bits_per_second: f64,
    /// Share of messages or datagrams sent that did not arrive.
    pub loss: f64,
}

/// The result of the host activity of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostResult {
    /// Work done: rounds for cpu, bytes for disk and transfer.
    pub work: u64,
    /// How long it took.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// The share of the host activity's time during which the network activity ran too: 0 to 1.
    pub overlap: f64,
}
