//! What the closed forms expect of a way of drawing: from the network file, and from what both ends were seen to compute.

use btu_model::{Passage, RemoteItems};
use btu_network::{Drawing, StationId};
use serde::Serialize;

use super::{BITMAP_PIECE, Carrier, Protocol, REPLY_BYTES, REQUEST_BYTES, TOGETHER};
use crate::experiment::{AROUND_SEGMENT, passage};

/// A TLS 1.3 record beside its content: header, content type, authentication tag (RFC 8446, section 5.2).
const AROUND_RECORD: usize = 5 + 1 + 16;

/// How packets pass between application and display with nobody else on the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ways {
    request: Passage,
    reply: Passage,
    packed: Passage,
    piece: Passage,
    /// Of frames, that the slowest part of the way carries.
    line_bits_per_second: f64,
}

/// What each end computes for one request, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// The application.
    pub application: f64,
    /// The display.
    pub display: f64,
}

impl Ways {
    /// Of a network file; nothing where nothing is emulated, where the closed forms have no answer, and for carriers whose
    /// headers nobody can tell beforehand.
    pub fn over(drawing: &Drawing, [application, display]: [StationId; 2], carrier: Carrier) -> Option<Self> {
        let record = match carrier {
            Carrier::Tcp => 0,
            Carrier::Tls => AROUND_RECORD,
            // Nagle's algorithm keeps requests back until answers come, which no form here knows.
            Carrier::TcpNagle | Carrier::Quic | Carrier::Udp | Carrier::Http2 => return None,
        };
        if drawing.bare {
            return None;
        }
        let there = |payload| passage(drawing, application, display, payload + record + AROUND_SEGMENT);
        let full = there(TOGETHER * REQUEST_BYTES)?;
        Some(Self {
            request: there(REQUEST_BYTES)?,
            reply: passage(drawing, display, application, REPLY_BYTES + record + AROUND_SEGMENT)?,
            packed: Passage { occupied: full.occupied / TOGETHER as f64, ..full },
            piece: there(REQUEST_BYTES + BITMAP_PIECE)?,
            line_bits_per_second: 8.0 * (TOGETHER * REQUEST_BYTES + record + AROUND_SEGMENT) as f64 / full.occupied,
        })
    }

    /// Bits per second of frames that the slowest part of the way carries.
    pub const fn line_bits_per_second(&self) -> f64 {
        self.line_bits_per_second
    }

    /// The same ways with so many times the bandwidth.
    #[must_use]
    pub fn with_bandwidth(&self, times: f64) -> Self {
        let faster = self.map(|passage| Passage { occupied: passage.occupied / times, ..passage });
        Self { line_bits_per_second: self.line_bits_per_second * times, ..faster }
    }

    /// Seconds that a picture of so many requests takes with any window, one of a whole picture included.
    pub fn windowed_seconds(&self, window: u64, requests: u64, work: Work) -> Option<f64> {
        self.items(requests, work).windowed(window as f64).value
    }

    fn items(&self, requests: u64, work: Work) -> RemoteItems {
        let Self { request, reply, packed, .. } = *self;
        let Work { application, display } = work;
        RemoteItems { items: requests as f64, request, reply, packed, application, display }
    }

    /// Seconds that a picture of so many requests takes.
    pub fn seconds(&self, protocol: Protocol, requests: u64, work: Work) -> Option<f64> {
        let Self { reply, piece, .. } = *self;
        let items = self.items(requests, work);
        let answer = match protocol {
            Protocol::StopAndWait | Protocol::Redraw => items.stop_and_wait(),
            Protocol::Window(window) => items.windowed(f64::from(window)),
            // The last one is answered.
            Protocol::Pipelined | Protocol::Construction => {
                items.pipelined().map(|seconds| seconds + reply.occupied + reply.beyond)
            }
            Protocol::Bitmap => {
                let pieces = RemoteItems { packed: piece, ..items };
                pieces.pipelined().map(|seconds| seconds + reply.occupied + reply.beyond)
            }
            Protocol::Batched => items.batched(true),
        };
        answer.value
    }
}

/// What a picture's time is made of: by how many per cent it is longer when this takes one per cent longer. Every form here
/// grows as all of its times together, so the four add up to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeShares {
    /// The time for which packets occupy the slowest part of the way: its bandwidth.
    pub bandwidth: f64,
    /// The rest of the way: delay.
    pub delay: f64,
    /// What the application computes.
    pub application: f64,
    /// What the display computes.
    pub display: f64,
}

/// A step of a derivative: small against what matters, large against what is lost in rounding.
const STEP: f64 = 1e-3;

impl Ways {
    /// What the time of a picture is made of.
    pub fn shares(&self, protocol: Protocol, requests: u64, work: Work) -> Option<TimeShares> {
        let share = |bandwidth: f64, delay: f64, application: f64, display: f64| {
            let seconds = |sign: f64| {
                let factor = |of: f64| 1.0 + sign * STEP * of;
                let ways = self.map(|passage| Passage {
                    occupied: passage.occupied * factor(bandwidth),
                    beyond: passage.beyond * factor(delay),
                });
                let work = Work {
                    application: work.application * factor(application),
                    display: work.display * factor(display),
                };
                ways.seconds(protocol, requests, work)
            };
            Some((seconds(1.0)?.ln() - seconds(-1.0)?.ln()) / ((1.0 + STEP).ln() - (1.0 - STEP).ln()))
        };
        Some(TimeShares {
            bandwidth: share(1.0, 0.0, 0.0, 0.0)?,
            delay: share(0.0, 1.0, 0.0, 0.0)?,
            application: share(0.0, 0.0, 1.0, 0.0)?,
            display: share(0.0, 0.0, 0.0, 1.0)?,
        })
    }

    fn map(&self, change: impl Fn(Passage) -> Passage) -> Self {
        let Self { request, reply, packed, piece, line_bits_per_second } = *self;
        let [request, reply, packed, piece] = [request, reply, packed, piece].map(change);
        Self { request, reply, packed, piece, line_bits_per_second }
    }
}

#[cfg(test)]
mod tests {
    use btu_network::Reader;

    use super::*;

    /// A line of 1 Mb/s, 10 ms long, that counts 24 octets beside a frame.
    const LINE: &str = "
name = \"line\"
[stations.application]
[stations.display]
[links.line]
between = [\"application\", \"display\"]
rate = \"1 Mb/s\"
delay = \"10 ms\"
";

    fn ways(carrier: Carrier) -> Option<Ways> {
        let drawing = Reader::new("line").read(LINE).unwrap();
        Ways::over(&drawing, [StationId(0), StationId(1)], carrier)
    }

    /// By hand: 20 octets of request are 90 in their frame and 110 on the line, 8 of reply 78 and 98; of a frame that comes
    /// alone nobody waits for the gap of 12 behind it.
    #[test]
    fn a_line_by_hand() {
        let ways = ways(Carrier::Tcp).unwrap();
        let seconds = |protocol, requests| ways.seconds(protocol, requests, Work::default()).unwrap();
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 2e-3, "{found} {expected}");
        let round = 8.0 * (98.0 + 86.0) / 1e6 + 0.020;
        near(seconds(Protocol::StopAndWait, 100), 100.0 * round);
        // Twenty-five groups; the last item is three requests on the line behind the first of its group.
        near(seconds(Protocol::Window(4), 100), 25.0 * round + 3.0 * 8.0 * 110.0 / 1e6);
        // 72 requests in 1440 octets are 1530 on the line.
        let item = 8.0 * 1530.0 / 72.0 / 1e6;
        near(seconds(Protocol::Pipelined, 720), 720.0 * item + 0.020 + 8.0 * (86.0 - 12.0) / 1e6);
        let work = Work { application: 0.0, display: 1e-3 };
        near(ways.seconds(Protocol::Redraw, 1, work).unwrap(), round + 1e-3);
    }

    #[test]
    fn shares_of_the_time_add_up_and_name_what_matters() {
        let ways = ways(Carrier::Tcp).unwrap();
        let work = Work { application: 1e-5, display: 2e-5 };
        for protocol in Protocol::USUAL {
            let TimeShares { bandwidth, delay, application, display } = ways.shares(protocol, 630, work).unwrap();
            let sum = bandwidth + delay + application + display;
            assert!((sum - 1.0).abs() < 1e-3, "{protocol}: {sum}");
        }
        // By hand: 20 ms of delay in a round, 1.47 ms on the line, 0.03 ms of computing.
        let waiting = ways.shares(Protocol::StopAndWait, 630, work).unwrap();
        assert!((waiting.delay - 0.93).abs() < 0.01, "{waiting:?}");
        let sending = ways.shares(Protocol::Bitmap, 57, work).unwrap();
        assert!(sending.bandwidth > 0.9, "{sending:?}");
    }

    #[test]
    fn nobody_can_tell_what_nagle_does() {
        assert!(ways(Carrier::Tls).is_some() && ways(Carrier::TcpNagle).is_none());
    }
}
