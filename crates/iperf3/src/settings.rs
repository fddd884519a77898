//! What the server allows, and how long it waits.

use std::net::SocketAddr;
use std::time::Duration;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address and port of TCP and UDP; port 0 is any free one.
    pub listen: SocketAddr,
    /// One test at a time, as iperf3's own server; others are told that it is busy.
    pub exclusive: bool,
    /// End after the first test that has moved data.
    pub one_off: bool,
    /// Send a client that asks for the server's output JSON instead of text.
    pub json: bool,
    /// The limits of clients.
    pub limits: Limits,
    /// How long each state of a test may take.
    pub deadlines: Deadlines,
}

impl Settings {
    /// Many tests at a time, with the usual limits.
    pub const fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            exclusive: false,
            one_off: false,
            json: false,
            limits: Limits::STANDARD,
            deadlines: Deadlines::STANDARD,
        }
    }
}

/// The limits of clients.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Tests at a time.
    pub tests: usize,
    /// Tests at a time from one address.
    pub tests_per_address: usize,
    /// Streams of one test, each way; iperf3's clients have the same limit.
    pub streams_per_test: u16,
    /// Streams of all tests, a thread each.
    pub streams: usize,
    /// Streams of all tests from one address.
    pub streams_per_address: usize,
    /// The time of one test, the omitted seconds not counted.
    pub most_time: Duration,
    /// Connections that have not sent their cookie.
    pub unknown: usize,
    /// The number of them from one address.
    pub unknown_per_address: usize,
}

impl Limits {
    /// Those of `btu iperf3 --server`.
    pub const STANDARD: Self = Self {
        tests: 64,
        tests_per_address: 8,
        streams_per_test: 128,
        streams: 1024,
        streams_per_address: 256,
        most_time: Duration::from_hours(1),
        unknown: 512,
        unknown_per_address: 160,
    };
}

/// How long each state of a test may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// From the connection to the end of its cookie.
    pub cookie: Duration,
    /// Until the client has sent its parameters.
    pub parameters: Duration,
    /// Until other UDP tests of the same address have their streams.
    pub turn: Duration,
    /// Until all streams are connected.
    pub streams: Duration,
    /// By how much a test may be longer than its parameters say.
    pub margin: Duration,
    /// Until the client has sent its results, which wait behind data of a slow line.
    pub results: Duration,
    /// Until the client says that it is done.
    pub done: Duration,
    /// From the last sign of life of the client's host, in any state.
    pub vanished: Duration,
}

impl Deadlines {
    /// Those of `btu iperf3 --server`.
    pub const STANDARD: Self = Self {
        cookie: Duration::from_secs(5),
        parameters: Duration::from_secs(10),
        turn: Duration::from_secs(30),
        streams: Duration::from_secs(10),
        margin: Duration::from_secs(15),
        results: Duration::from_secs(30),
        done: Duration::from_secs(10),
        vanished: Duration::from_secs(30),
    };
}
