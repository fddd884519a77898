//! The closed forms' prediction for a way of drawing: from the network file, and from the measured
//! computing of both ends.

use btu_model::{Own, Passage, RemoteItems, Tcp};
use btu_network::{Drawing, StationId};
use serde::Serialize;

use super::acknowledgements;
use super::{BITMAP_PIECE, Carrier, Mix, Protocol, REPLY_BYTES, REQUEST_BYTES, TOGETHER};
use btu_contract::experiment::{AROUND_SEGMENT, SEGMENT, passage};

/// Octets of a TLS 1.3 record in addition to its content: header, content type, authentication tag
/// (RFC 8446, section 5.2).
const AROUND_RECORD: usize = 5 + 1 + 16;

/// Segments that TCP sends before the first acknowledgement (RFC 6928, section 2).
pub(super) const FIRST_SEGMENTS: u16 = 10;

/// The times of packets between application and display when no other station uses the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ways {
    request: Passage,
    reply: Passage,
    packed: Passage,
    piece: Passage,
    /// Each further reply in a segment.
    further_reply: f64,
    /// TCP's acknowledgement alone, there and back.
    bare: [Passage; 2],
    /// A message of [`REQUEST_BYTES`] and its echo.
    echo: f64,
    /// Of frames, that the slowest part of the way carries.
    line_bits_per_second: f64,
    /// The messages, if it is not a picture.
    mix: Option<Mix>,
}

/// From station to station: the slowest part is the busy one, all others add their time.
fn along(drawing: &Drawing, route: &[StationId], octets: usize) -> Option<Passage> {
    let ways = route.windows(2).map(|pair| passage(drawing, pair[0], pair[1], octets));
    let ways: Vec<Passage> = ways.collect::<Option<_>>()?;
    let occupied = ways.iter().map(|way| way.occupied).fold(0.0, f64::max);
    let all: f64 = ways.iter().map(|way| way.occupied + way.beyond).sum();
    Some(Passage { occupied, beyond: all - occupied })
}

/// A message of so many octets: its segments one behind the other.
fn message(octets: u64, segment: impl Fn(usize) -> Option<Passage>) -> Option<Passage> {
    let (whole, rest) = (octets / SEGMENT as u64, (octets % SEGMENT as u64) as usize);
    let last = segment(if rest > 0 { rest } else { SEGMENT })?;
    let before = if rest > 0 { whole } else { whole.saturating_sub(1) };
    let full = segment(SEGMENT)?;
    Some(Passage { occupied: before as f64 * full.occupied + last.occupied, ..last })
}

/// What both ends and their machines were seen to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The time that the application computes for one request, in seconds.
    pub application: f64,
    /// The time that the display computes for one request, in seconds.
    pub display: f64,
    /// The machines' own time for messages.
    pub own: Own,
    /// Segments that TCP sends before it waits for an acknowledgement.
    pub first_segments: f64,
}

impl Default for Work {
    /// No time, over a connection that has sent much.
    fn default() -> Self {
        let own = Own::default();
        Self { application: 0.0, display: 0.0, own, first_segments: f64::INFINITY }
    }
}

impl Ways {
    /// For a network file; `None` without emulation, if the closed forms have no answer, and for
    /// carriers with unknown headers.
    ///
    /// The route begins with the application's station and ends with the display's; the nodes
    /// between forward whole packets, and the form assumes no computing there.
    pub fn over(
        drawing: &Drawing,
        route: &[StationId],
        carrier: Carrier,
        mix: Option<Mix>,
    ) -> Option<Self> {
        let record = match carrier {
            Carrier::Tcp | Carrier::Relay => 0,
            Carrier::Tls => AROUND_RECORD,
            // Nagle's algorithm keeps requests back until answers come, which no form here knows.
            Carrier::TcpNagle | Carrier::Quic | Carrier::Udp | Carrier::Http2
            // How ssh fills its packets, and how the terminal divides what comes, is not known.
            | Carrier::Ssh
            // X requests have sizes of their own, and the server does not say what it computes.
            | Carrier::X11 | Carrier::X11perf
            // There is no network between them.
            | Carrier::Unix | Carrier::InProcess => return None,
        };
        if drawing.bare {
            return None;
        }
        let there = |payload| along(drawing, route, payload + record + AROUND_SEGMENT);
        let reversed: Vec<StationId> = route.iter().rev().copied().collect();
        let back = |payload| along(drawing, &reversed, payload + record + AROUND_SEGMENT);
        let full = there(TOGETHER * REQUEST_BYTES)?;
        let [request, reply, packed, piece] = match mix {
            None => {
                let packed = Passage { occupied: full.occupied / TOGETHER as f64, ..full };
                [
                    there(REQUEST_BYTES)?,
                    back(REPLY_BYTES)?,
                    packed,
                    there(REQUEST_BYTES + BITMAP_PIECE)?,
                ]
            }
            Some(mix) => {
                let (request, response) = (mix.request().count(), mix.response().count());
                let all = u64::from(mix.fan_out());
                let there = |octets| message(octets, there);
                let back = |octets| message(octets, back);
                [there(request)?, back(response)?, there(all * request)?, back(all * response)?]
            }
        };
        let answers = back(TOGETHER * REPLY_BYTES)?.occupied - back(REPLY_BYTES)?.occupied;
        let echo = [there(REQUEST_BYTES)?, back(REQUEST_BYTES)?];
        Some(Self {
            request,
            reply,
            packed,
            piece,
            further_reply: answers / (TOGETHER - 1) as f64,
            bare: [
                along(drawing, route, AROUND_SEGMENT)?,
                along(drawing, &reversed, AROUND_SEGMENT)?,
            ],
            echo: echo.iter().map(|passage| passage.occupied + passage.beyond).sum(),
            mix,
            line_bits_per_second: 8.0 * (TOGETHER * REQUEST_BYTES + record + AROUND_SEGMENT) as f64
                / full.occupied,
        })
    }

    /// Seconds of an echo of 20 octets.
    pub(crate) const fn echo_seconds(&self) -> f64 {
        self.echo
    }

    /// Bits per second of frames that the slowest part of the way carries.
    pub const fn line_bits_per_second(&self) -> f64 {
        self.line_bits_per_second
    }

    /// Returns these ways with `times` times the bandwidth.
    #[must_use]
    pub(crate) fn with_bandwidth(&self, times: f64) -> Self {
        let faster = self.map(|passage| Passage { occupied: passage.occupied / times, ..passage });
        Self { line_bits_per_second: self.line_bits_per_second * times, ..faster }
    }

    /// Seconds of a mix: of its calls with so many requests on their way at once, or all of a call
    /// in one message, and of the pauses between them.
    fn mix_seconds(&self, mix: &Mix, window: Option<u64>, work: Work) -> Option<f64> {
        let all = u64::from(mix.fan_out());
        let call = if let Some(window) = window {
            self.items(all, work).windowed(window as f64).value?
        } else {
            let (there, back) = (self.packed, self.piece);
            let passing = there.occupied + there.beyond + back.occupied + back.beyond;
            all as f64 * (work.application + work.display) + passing + work.own.round
        };
        let pauses = f64::from(mix.calls() - 1) * mix.think().seconds();
        let waits = acknowledgements::waits(mix, window, self.bare, work);
        Some(f64::from(mix.calls()) * call + pauses + waits)
    }

    /// Seconds that a picture of so many requests takes with any window, one of a whole picture
    /// included.
    pub(crate) fn windowed_seconds(&self, window: u64, requests: u64, work: Work) -> Option<f64> {
        if let Some(mix) = &self.mix {
            return self.mix_seconds(mix, Some(window.min(mix.fan_out().into())), work);
        }
        self.items(requests, work).windowed(window as f64).value
    }

    fn items(&self, requests: u64, work: Work) -> RemoteItems {
        let Self { request, reply, packed, further_reply, bare: [bare_there, bare_back], .. } =
            *self;
        let Work { application, display, own, first_segments } = work;
        // What waits in a call of a mix has other sizes.
        let first_segments = if self.mix.is_some() { f64::INFINITY } else { first_segments };
        let most_items = TOGETHER as f64;
        let tcp = Tcp { first_segments, bare_there, bare_back, further_reply, most_items };
        RemoteItems {
            items: requests as f64,
            request,
            reply,
            packed,
            application,
            display,
            own,
            tcp,
        }
    }

    /// Seconds that a picture of so many requests takes.
    pub fn seconds(&self, protocol: Protocol, requests: u64, work: Work) -> Option<f64> {
        if let Some(mix) = &self.mix {
            return self.mix_seconds(mix, mix.window(protocol), work);
        }
        let Self { reply, piece, .. } = *self;
        let items = self.items(requests, work);
        // The last one is answered.
        let answered = |seconds| seconds + reply.occupied + reply.beyond;
        let answer = match protocol {
            Protocol::StopAndWait | Protocol::Redraw => items.stop_and_wait(),
            Protocol::Window(window) => items.windowed(f64::from(window)),
            Protocol::Pipelined | Protocol::Construction => {
                items.pipelined_in(TOGETHER as f64).map(answered)
            }
            Protocol::Bitmap => {
                RemoteItems { packed: piece, ..items }.pipelined_in(1.0).map(answered)
            }
            Protocol::Batched => items.batched_in(TOGETHER as f64),
        };
        answer.value
    }
}

/// The parts of a picture's time, without what machines need for messages themselves: its increase in
/// per cent when this part takes one per cent longer. Every form here grows as all of its times together, so the four add up to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeShares {
    /// The time for which packets occupy the slowest part of the way: its bandwidth.
    pub bandwidth: f64,
    /// The rest of the way: delay.
    pub delay: f64,
    /// The application's computing.
    pub application: f64,
    /// The display's computing.
    pub display: f64,
}

/// A step of a derivative: small against what matters, large against what is lost in rounding.
const STEP: f64 = 1e-3;

impl Ways {
    /// The parts of a picture's time.
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
                    own: Own::default(),
                    ..work
                };
                ways.seconds(protocol, requests, work)
            };
            Some(
                (seconds(1.0)?.ln() - seconds(-1.0)?.ln())
                    / ((1.0 + STEP).ln() - (1.0 - STEP).ln()),
            )
        };
        let (bandwidth, delay) = (share(1.0, 0.0, 0.0, 0.0)?, share(0.0, 1.0, 0.0, 0.0)?);
        Some(TimeShares {
            // On a short line no delay makes up for the gap behind a frame, which is the bandwidth's.
            bandwidth: bandwidth + delay.min(0.0),
            delay: delay.max(0.0),
            application: share(0.0, 0.0, 1.0, 0.0)?,
            display: share(0.0, 0.0, 0.0, 1.0)?,
        })
    }

    fn map(&self, change: impl Fn(Passage) -> Passage) -> Self {
        let Self { request, reply, packed, piece, bare, further_reply, .. } = *self;
        let [request, reply, packed, piece] = [request, reply, packed, piece].map(&change);
        let further = change(Passage { occupied: further_reply, beyond: 0.0 }).occupied;
        let bare = bare.map(&change);
        Self { request, reply, packed, piece, bare, further_reply: further, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use btu_network::Reader;

    use super::*;

    /// A line of 1 Mb/s, 10 ms long, that counts 24 octets in addition to a frame.
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
        Ways::over(&drawing, &[StationId(0), StationId(1)], carrier, None)
    }

    /// By hand: 20 octets of request are 90 in their frame and 110 on the line, 8 of reply 78 and
    /// 98; no receiver waits for the gap of 12 behind a frame that comes alone.
    #[test]
    fn a_line_by_hand() {
        let ways = ways(Carrier::Tcp).unwrap();
        let seconds =
            |protocol, requests| ways.seconds(protocol, requests, Work::default()).unwrap();
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 2e-3, "{found} {expected}");
        };
        let round = 8.0 * (98.0 + 86.0) / 1e6 + 0.020;
        near(seconds(Protocol::StopAndWait, 100), 100.0 * round);
        // Twenty-five groups; the last item is three requests on the line behind the first of its
        // group.
        near(seconds(Protocol::Window(4), 100), 25.0 * round + 3.0 * 8.0 * 110.0 / 1e6);
        // 72 requests in 1440 octets are 1530 on the line.
        let item = 8.0 * 1530.0 / 72.0 / 1e6;
        near(seconds(Protocol::Pipelined, 648), 648.0 * item + 0.020 + 8.0 * (86.0 - 12.0) / 1e6);
        // The tenth segment is acknowledged at once by 90 octets, and the answer waits for that.
        let alone = 8.0 * 90.0 / 1e6;
        let answer = alone + 8.0 * (86.0 - 12.0) / 1e6;
        near(seconds(Protocol::Pipelined, 720), 720.0 * item + 0.020 + answer);
        let work = Work { display: 1e-3, ..Work::default() };
        near(ways.seconds(Protocol::Redraw, 1, work).unwrap(), round + 1e-3);
    }

    /// By hand: 0.1 ms of the machines' own in each round, once in a picture that waits once, and 2 ms
    /// between two messages, which are more than the 0.88 ms of the line.
    #[test]
    fn the_machines_own_time_is_in_every_form() {
        let ways = ways(Carrier::Tcp).unwrap();
        let own = Own { round: 1e-4, message: 2e-3 };
        let more = |protocol, own| {
            let seconds = |own| ways.seconds(protocol, 55, Work { own, ..Work::default() });
            seconds(own).unwrap() - seconds(Own::default()).unwrap()
        };
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        };
        near(more(Protocol::StopAndWait, own), 55.0 * 1e-4);
        let line = 8.0 * 110.0 / 1e6;
        near(more(Protocol::Window(4), own), 14.0 * 1e-4 + 2.0 * (2e-3 - line));
        near(more(Protocol::Pipelined, own), 1e-4);
        near(more(Protocol::Batched, own), 1e-4);
    }

    #[test]
    fn shares_of_the_time_add_up_and_name_what_matters() {
        let ways = ways(Carrier::Tcp).unwrap();
        let work = Work { application: 1e-5, display: 2e-5, ..Work::default() };
        for protocol in Protocol::USUAL {
            let TimeShares { bandwidth, delay, application, display } =
                ways.shares(protocol, 630, work).unwrap();
            let sum = bandwidth + delay + application + display;
            assert!((sum - 1.0).abs() < 1e-3, "{protocol}: {sum}");
        }
        // No delay: what the frame's gap takes from the way beyond the line is no share of its own.
        let short = LINE.replace("10 ms", "0 ms");
        let short = Reader::new("line").read(&short).unwrap();
        let short = Ways::over(&short, &[StationId(0), StationId(1)], Carrier::Tcp, None).unwrap();
        let shares = short.shares(Protocol::StopAndWait, 630, work).unwrap();
        assert!(shares.bandwidth < 1.0 && shares.delay >= 0.0, "{shares:?}");
        // By hand: 20 ms of delay in a round, 1.47 ms on the line, 0.03 ms of computing.
        let waiting = ways.shares(Protocol::StopAndWait, 630, work).unwrap();
        assert!((waiting.delay - 0.93).abs() < 0.01, "{waiting:?}");
        let sending = ways.shares(Protocol::Bitmap, 57, work).unwrap();
        assert!(sending.bandwidth > 0.9, "{sending:?}");
    }

    /// By hand: 20 calls of 4 requests of 200 octets (290 on the line with the gap), answered by
    /// 2000 octets in two segments (1538 and 642), with 5 ms between.
    #[test]
    fn a_mix_by_hand() {
        let drawing = Reader::new("line").read(LINE).unwrap();
        let mix: Mix =
            "calls=20,fan-out=4,request=200 B,response=2000 B,think=5 ms".parse().unwrap();
        let ways =
            Ways::over(&drawing, &[StationId(0), StationId(1)], Carrier::Tcp, Some(mix)).unwrap();
        let near = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found / expected - 1.0).abs() < 5e-3, "{found} {expected}");
        };
        let octets = |count: f64| 8.0 * count / 1e6;
        let pauses = 19.0 * 0.005;
        let round = 0.020 + octets(290.0 - 12.0) + octets(1538.0 + 642.0 - 12.0);
        let seconds = |protocol| ways.seconds(protocol, mix.requests(), Work::default());
        // Two segments are acknowledged by 90 octets, for which the next request of a call waits.
        let within = 20.0 * 3.0 * octets(90.0);
        near(seconds(Protocol::StopAndWait), 80.0 * round + within + pauses);
        // All four at once: the answers follow each other on the line.
        near(seconds(Protocol::Pipelined), 20.0 * (round + 3.0 * octets(1538.0 + 642.0)) + pauses);
        let two = 2.0 * round + octets(1538.0 + 642.0) + octets(90.0);
        near(seconds(Protocol::Window(2)), 20.0 * two + pauses);
        // In one message each way: 800 octets, and 8000 in six segments.
        let batch = 0.020 + octets(890.0 - 12.0) + octets(5.0 * 1538.0 + 850.0 - 12.0);
        near(seconds(Protocol::Batched), 20.0 * batch + pauses);
    }

    #[test]
    fn nobody_can_tell_what_nagle_does() {
        assert!(ways(Carrier::Tls).is_some() && ways(Carrier::TcpNagle).is_none());
    }
}
