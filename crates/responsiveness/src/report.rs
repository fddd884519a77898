//! The results.

use std::net::SocketAddr;

use serde::Serialize;

/// A direction of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the server to this host.
    Down,
    /// From this host to the server.
    Up,
}

/// The result of a whole measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponsivenessReport {
    /// The address that was measured to.
    pub server: SocketAddr,
    /// The version of TLS that both ends agreed on.
    pub tls: String,
    /// Before there was any load.
    pub idle: Idle,
    /// One for each direction, in the order of their measurement.
    pub ways: Vec<WayReport>,
}

/// New connections over the idle network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Idle {
    /// The trimmed means of their times.
    pub parts: Parts,
    /// Round trips a minute; `loaded` is absent.
    pub rpm: Rpm,
    /// Connections that were made.
    pub count: usize,
}

/// The result of one direction. All means are over the last intervals, as many as the method says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayReport {
    /// The direction of the load.
    pub way: Way,
    /// The data that arrived: down, the payload of HTTP that this host received; up, the octets of TLS that
    /// the far end's TCP acknowledged.
    pub bits_per_second: f64,
    /// How much is known of it.
    pub rate_confidence: Confidence,
    /// Round trips a minute; absent if no probe was answered.
    pub rpm: Option<Rpm>,
    /// How much is known of them.
    pub rpm_confidence: Confidence,
    /// The trimmed means of the times of probes.
    pub parts: Parts,
    /// The account of the probes.
    pub probes: Counts,
    /// Connections that filled the network at the end.
    pub connections: usize,
    /// Interval by interval.
    pub intervals: Vec<IntervalReport>,
}

/// Round trips a minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rpm {
    /// Of new connections.
    pub foreign: f64,
    /// Of requests on the connections that fill the network.
    pub loaded: Option<f64>,
    /// The mean of both: the result.
    pub overall: f64,
}

/// The trimmed mean of each of the times, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The handshake of TCP.
    pub tcp_seconds: Option<f64>,
    /// The handshake of TLS, divided by its number of round trips.
    pub tls_seconds: Option<f64>,
    /// A request on the new connection, until the whole answer has arrived.
    pub http_seconds: Option<f64>,
    /// A request on a connection that fills the network.
    pub loaded_seconds: Option<f64>,
}

/// How much is known of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// There were too few intervals.
    Low,
    /// The averages did not agree in time.
    Medium,
    /// The averages agree.
    High,
}

/// The account of probes: launched = answered + failed + under way at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those that were launched.
    pub launched: u64,
    /// Those with a whole answer.
    pub answered: u64,
    /// Those that ended with an error.
    pub failed: u64,
    /// Those that had no answer when the measurement ended.
    pub under_way: u64,
    /// Those that were not launched, since too many had no answer yet.
    pub held_back: u64,
}

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalReport {
    /// Its end, in seconds since the load began.
    pub until_seconds: f64,
    /// The data that arrived in it.
    pub bits_per_second: f64,
    /// Connections that filled the network.
    pub connections: usize,
    /// Round trips a minute over the last intervals.
    pub rpm: Option<f64>,
}

impl Way {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

impl Confidence {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
