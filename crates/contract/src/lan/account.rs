//! The accounts of the parts of a cell.

use btu_stats::Histogram;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// The client that prepares the foreground task's files and checks them afterwards, in the server's
/// account; the task itself is client 0, and the background stations are 1, 2 and so on.
pub const SETUP_CLIENT: u32 = 1_000_000;

/// The account of a file server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilesServed {
    /// One for each client.
    pub clients: Vec<ServedClient>,
}

impl FilesServed {
    /// The account for one of them.
    pub fn client(&self, number: u32) -> Option<&ServedClient> {
        self.clients.iter().find(|client| client.client == number)
    }
}

/// A server's account for one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServedClient {
    /// The number by which it identified itself.
    pub client: u32,
    /// The number of calls that the server answered.
    pub operations: u64,
    /// Octets of files that it read.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Octets of files that it wrote.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Sum over its operations: the number of other operations that were waiting or served at its
    /// arrival.
    pub met: u64,
    /// Sum over its operations: the time from the arrival of a call until its answer was ready.
    #[serde(rename = "stayed_ns")]
    pub stayed: Span,
}

/// The foreground task's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDone {
    /// Each time that the task was done.
    #[serde(rename = "times_ns")]
    pub times: Vec<Span>,
    /// Operations, all times together.
    pub operations: u64,
    /// Operations before and after, to prepare files and to check them.
    pub setup_operations: u64,
    /// Octets read, all times together.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Octets written, all times together.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// The number of times with wrong data, read or left behind.
    pub wrong: u64,
    /// SHA-256 of the data that were read or left the last time.
    pub digest: String,
    /// The share with the files; `None` for btu's own server and for the own disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// A share that was mounted before, as its host's kernel says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The type of its file system: `nfs4`, `cifs`, `9p`.
    pub filesystem: String,
    /// Its mount options, as the kernel reports them.
    pub options: String,
    /// Whether reads and writes go past the client's cache (`O_DIRECT`); else earlier data may come
    /// from the cache.
    pub is_direct: bool,
}

/// A background station's account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationDone {
    /// The number of transactions that ended.
    pub transactions: u64,
    /// Operations, those that made its file among them.
    pub operations: u64,
    /// Records that differed from the written ones when they were read.
    pub wrong: u64,
    /// The time from a transaction's start to its end; in an open loop from its due time.
    #[serde(rename = "times_ns")]
    pub times: Histogram,
    /// Their mean, in seconds.
    pub mean_seconds: Option<f64>,
    /// Their standard deviation, in seconds.
    pub deviation_seconds: Option<f64>,
    /// Mean time from the end of one transaction to the end of the next, pauses included, in
    /// seconds.
    pub cycle_seconds: Option<f64>,
    /// A sample of the times of transactions, evenly spread over the run: 512 at most.
    pub samples_ns: Vec<u64>,
}
