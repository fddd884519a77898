//! What a database knows of a run and of a cell without reading them.

use btu_units::{Bytes, Span};

/// What lists show of a run that is in its plan, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The name of the profile.
    pub profile: String,
    /// The network as lists show it.
    pub network: String,
    /// The seed.
    pub seed: u64,
}

/// The columns of a cell: its key, and its result in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Its block, from 0.
    pub block: u32,
    /// Its place in the block, from 0.
    pub position: u32,
    /// What was measured; empty for a host activity alone.
    pub component: String,
    /// The size of the messages, or of the object that was moved; zero if there is none.
    pub message: Bytes,
    /// The name of the load. Within a block of a run, each component, message and load occurs once.
    pub load: &'static str,
    /// Whether the cell counts.
    pub valid: bool,
    /// The rate of the payload that arrived; absent when the cell has none.
    pub goodput_bits_per_second: Option<f64>,
    /// How long it took.
    pub duration: Option<Span>,
    /// How long the host activity took; absent where there was none.
    pub host_duration: Option<Span>,
}

/// The columns of a stored cell that say its speed.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedColumns {
    /// Its block, from 0.
    pub block: u32,
    /// What was measured; empty for a host activity alone.
    pub component: String,
    /// The size of the messages in bytes.
    pub message_bytes: i64,
    /// The name of the load.
    pub load: String,
    /// The rate of the payload that arrived.
    pub goodput_bits_per_second: Option<f64>,
    /// The record, where the other columns do not say all: of a host activity alone.
    pub record: Option<String>,
}
