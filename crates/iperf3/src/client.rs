//! A client for iperf3's servers, which are as they are: no test asks more of them than iperf3's own
//! client does.
//!
//! ```text
//! connect, cookie --> parameters --> streams --> data, second by second --> both ends' results
//! ```
//!
//! An iperf3 server takes one test at a time, and any connection while it is idle for one. So the
//! idle network is measured during a test of its own, in which nothing is sent (`sends_nothing`).

mod connect;
mod course;
mod handshakes;
mod report;
mod session;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::Iperf3Error;
use crate::protocol::{Direction, Parameters, Protocol};

pub use course::Second;
pub use handshakes::Handshake;
pub use report::ClientReport;

/// A test with a server of iperf3.
#[derive(Debug, Clone)]
pub struct Client {
    /// The server's address and port.
    pub server: SocketAddr,
    /// What carries the data.
    pub protocol: Protocol,
    /// Who sends.
    pub direction: Direction,
    /// Streams each way.
    pub streams: u16,
    /// How long data count: whole seconds.
    pub time: Duration,
    /// The first part of the test, before that, which does not count: whole seconds.
    pub omit: Duration,
    /// The rate of each stream, in bits a second; `None`: as fast as possible.
    pub rate_bits_per_second: Option<u64>,
    /// Bytes of one write, or of a datagram's payload.
    pub length_bytes: usize,
    /// The octet of the IP header for quality of service; 0: none.
    pub type_of_service: u8,
    /// The congestion control of both ends; `None`: as each is set.
    pub congestion: Option<String>,
    /// Open the streams and send nothing on them: only round trips are measured.
    pub sends_nothing: bool,
    /// Measure round trips by handshakes at random moments, which this seed draws; `None`: none.
    pub handshakes: Option<u64>,
    /// How long the server is asked again if it does not take the test: an iperf3 server needs a
    /// moment after each test.
    pub grace: Duration,
    /// How long the server may take for each state.
    pub deadlines: ClientDeadlines,
}

/// How long a server may take.
#[derive(Debug, Clone, Copy)]
pub struct ClientDeadlines {
    /// To accept a connection.
    pub connect: Duration,
    /// To answer on the control connection.
    pub answer: Duration,
    /// To say its results, which wait behind data of a slow line.
    pub results: Duration,
}

impl ClientDeadlines {
    /// Those of `btu speed`.
    pub const STANDARD: Self = Self {
        connect: Duration::from_secs(10),
        answer: Duration::from_secs(10),
        results: Duration::from_secs(30),
    };
}

/// A write of TCP, as iperf3's.
const TCP_BYTES: usize = 128 << 10;
/// A datagram that fits into a packet of 1500 bytes, on every usual path.
const UDP_BYTES: usize = 1400;

impl Client {
    /// One stream of 10 s to that server.
    pub const fn of(server: SocketAddr, protocol: Protocol, direction: Direction) -> Self {
        Self {
            server,
            protocol,
            direction,
            streams: 1,
            time: Duration::from_secs(10),
            omit: Duration::ZERO,
            rate_bits_per_second: None,
            length_bytes: match protocol {
                Protocol::Tcp => TCP_BYTES,
                Protocol::Udp => UDP_BYTES,
            },
            type_of_service: 0,
            congestion: None,
            sends_nothing: false,
            handshakes: None,
            grace: Duration::ZERO,
            deadlines: ClientDeadlines::STANDARD,
        }
    }

    /// Makes the test, and tells `observe` of each second. It ends early when `stop` becomes true.
    ///
    /// # Errors
    /// [`Iperf3Error::Test`] with the reason.
    pub fn run(
        &self,
        stop: &Arc<AtomicBool>,
        observe: &mut dyn FnMut(&Second),
    ) -> Result<ClientReport, Iperf3Error> {
        let result = session::run(self, stop, observe);
        result.map_err(|why| Iperf3Error::Test { server: self.server, why })
    }

    fn parameters(&self) -> Parameters {
        Parameters {
            protocol: self.protocol,
            direction: self.direction,
            parallel: self.streams.max(1),
            // A datagram has room for its header.
            length: self.length_bytes.max(16),
            omit: self.omit,
            time: Some(self.time),
            no_delay: false,
            segment_bytes: None,
            window_bytes: None,
            // A rate of zero means none to iperf3.
            rate: self.rate_bits_per_second.filter(|rate| *rate > 0),
            burst: 1,
            type_of_service: Some(self.type_of_service).filter(|octet| *octet > 0),
            congestion: self.congestion.clone(),
            wants_output: false,
            has_long_counters: false,
            repeats_payload: false,
            title: None,
        }
    }
}
