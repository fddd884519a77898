//! The plan of `btu speed`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_network::{Drawing, StationId};
use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Deserializer, Serialize, de};

use btu_contract::accounting::flow_faults;
use btu_contract::activity::{
    Activity, OpenLoop, Order, Receiving, Rendezvous, Request, Respond, TcpReceive, TcpSend,
    Transport, UdpReceive, UdpSend, Work,
};
use btu_contract::border;
use btu_contract::dscp::Dscp;
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, Quantity, RunFacts, Scripts,
};
use btu_contract::lead;
use btu_contract::network::{HostName, Impairments};
use btu_contract::script::{Role, Script, Step};

use super::forecast::message;
use super::pace::interval;
use super::verdict::{Direction, PathFormulas, SpeedVerdict, judge, requested, together};
use super::{Phase, SpeedCell};
use crate::Judged;

/// Most TCP connections at a time in one direction.
pub const MOST_STREAMS: u32 = 64;

/// A request of a connection and its answer, in octets of TCP's payload.
pub(super) const CONNECT_ASKED: Bytes = Bytes::new(16);

/// A request and its answer: the smallest datagrams of btu's, so that they take little of a slow
/// line.
pub(super) const ASKED: Bytes = Bytes::new(32);

/// Payload of a datagram: with its headers it fits into every Ethernet frame, and into those of
/// most tunnels.
const DATAGRAM: Bytes = Bytes::new(1400);

/// Bytes of one system call of a stream: 128 KiB, as of most benchmarks.
pub(super) const MESSAGE: Bytes = Bytes::new(128 << 10);

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeedPlan {
    /// The common part of all plans; of the two hosts the first is the near one, the second the far
    /// one.
    #[serde(flatten)]
    pub frame: Frame,
    /// The phases, in this order.
    #[serde(deserialize_with = "border::once")]
    pub phases: Vec<Phase>,
    /// The time for which the network is full and measured in each phase; streams begin earlier, by
    /// the lead.
    #[serde(rename = "time_ns")]
    pub time: Span,
    /// The moments of requests, and the time in which a stream fills the queues of the network
    /// first. Absent in plans of version 1, which sent one request at a time over TCP, at most one in
    /// 20 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<OpenLoop>,
    /// The time with requests only.
    #[serde(rename = "idle_ns")]
    pub idle: Span,
    /// TCP connections at a time in one direction.
    #[serde(deserialize_with = "streams")]
    pub streams: u32,
    /// The offered rate of datagrams, counted over their payload; only with such phases.
    #[serde(rename = "offered_bits_per_second", default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<BitRate>,
    /// The code point in all packets' headers, those of requests too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// When receivers of streams read.
    pub receiving: Receiving,
}

/// Reads the number of connections; it may have come with a file from an untrusted source.
fn streams<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let streams = u32::deserialize(from)?;
    if (1..=MOST_STREAMS).contains(&streams) {
        return Ok(streams);
    }
    Err(de::Error::custom(format!("{streams} connections are not between 1 and {MOST_STREAMS}")))
}

/// A placeholder that is replaced before the order is sent.
const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const UNSET_PEER: SocketAddr = SocketAddr::new(UNSET, 0);

/// Steps in pairs: the far host listens, the near one calls, whichever way data flows, since only
/// one of them may be reachable.
struct Pairs<'a> {
    dscp: Option<Dscp>,
    near: &'a HostName,
    far: &'a HostName,
    setting: &'a CellSetting,
    receiving: Receiving,
    /// Bytes of one call of a stream.
    message: Bytes,
    /// The send buffer of a stream, if the kernel's own is too large.
    window: Option<Bytes>,
    /// The most that a stream leaves unsent in it.
    unsent: Option<Bytes>,
    steps: Vec<Step>,
}

impl<'a> Pairs<'a> {
    fn between([near, far]: [&'a HostName; 2], setting: &'a CellSetting) -> Self {
        Self {
            dscp: None,
            near,
            far,
            setting,
            receiving: Receiving::Plain,
            message: MESSAGE,
            window: None,
            unsent: None,
            steps: Vec::new(),
        }
    }

    fn script(self) -> Script {
        Script { impairments: Impairments::new(), steps: self.steps }
    }

    fn add(&mut self, listening: Activity, calling: Activity) {
        let order = |activity| {
            let order = Order::new(self.setting.seed, self.setting.deadline, activity);
            Order { dscp: self.dscp, ..order }
        };
        let peer = Some(self.steps.len());
        let [there, here] = [(self.far, None, listening), (self.near, peer, calling)].map(
            |(host, peer, activity)| Step {
                host: host.clone(),
                role: Role::Network,
                peer,
                order: order(activity),
            },
        );
        self.steps.extend([there, here]);
    }

    /// Requests as datagrams at random moments, or one after the other.
    fn ask(&mut self, duration: Span, in_turn: Transport, open_loop: Option<OpenLoop>) {
        let token = self.setting.token;
        let (transport, message) =
            if open_loop.is_some() { (Transport::Udp, ASKED) } else { (in_turn, CONNECT_ASKED) };
        self.add(
            Activity::Respond(Respond { on: UNSET, transport, token, message }),
            Activity::Request(Request {
                to: UNSET_PEER,
                transport,
                token,
                message,
                duration,
                open_loop,
            }),
        );
    }

    /// A TCP connection that one of the hosts keeps full for this time.
    fn stream(&mut self, time: Span, is_up: bool) {
        let (token, message) = (self.setting.token, self.message);
        let (window, unsent, work) = (self.window, self.unsent, Work::For(time));
        let receiving = self.receiving;
        let send =
            |meeting| Activity::TcpSend(TcpSend { meeting, token, message, work, window, unsent });
        let receive = |meeting| {
            Activity::TcpReceive(TcpReceive {
                meeting,
                token,
                message,
                window: None,
                volume: None,
                receiving,
            })
        };
        let (listen, call) = (Rendezvous::Listen(UNSET), Rendezvous::Connect(UNSET_PEER));
        if is_up {
            self.add(receive(listen), send(call));
        } else {
            self.add(send(listen), receive(call));
        }
    }
}

/// A TCP connection from one station to another for this time, as in [`Phase::Up`] of a plan, and
/// requests until the queues that it filled are empty again.
pub fn upload(
    drawing: &Drawing,
    ends: [StationId; 2],
    time: Span,
    setting: &CellSetting,
) -> Script {
    let [near, far] = ends.map(|id| HostName::from(drawing.station(id)));
    let interval = interval(Some((drawing, ends)), time);
    let mut pairs = Pairs::between([&near, &far], setting);
    pairs.ask(time + lead::of(Some(drawing)), Transport::Tcp, Some(OpenLoop::every(interval)));
    let handed = PathFormulas::between(drawing, ends).handed_over().filter(|_| !drawing.bare);
    (pairs.message, pairs.unsent) = (message(handed), handed);
    pairs.stream(time, true);
    pairs.script()
}

impl SpeedPlan {
    /// How long a stream sends: until the queues are full, and then for the plan's time.
    fn streaming(&self) -> Span {
        self.lead() + self.time
    }

    /// The time in which a stream fills the queues of the network.
    pub fn lead(&self) -> Span {
        self.requests.map_or(Span::ZERO, |requests| requests.lead)
    }

    /// The near host and the far one.
    pub fn hosts(&self) -> [Option<&HostName>; 2] {
        self.frame.network.ends()
    }

    fn datagrams(&self, pairs: &mut Pairs<'_>, is_up: bool) {
        let Some(offered) = self.offered else { return };
        let (token, message, duration) = (pairs.setting.token, DATAGRAM, self.streaming());
        let expected = offered.bits_per_second() as f64 * duration.seconds() / message.bits();
        // A margin for rounding; more than this is not sent.
        let expected_datagrams = (expected as u64).saturating_add(16);
        let send = |meeting| {
            Activity::UdpSend(UdpSend { meeting, token, message, offered, duration, hold: None })
        };
        let receive = |meeting| {
            let offered = Some(offered);
            Activity::UdpReceive(UdpReceive {
                meeting,
                token,
                message,
                expected_datagrams,
                offered,
                tells: false,
            })
        };
        let (listen, call) = (Rendezvous::Listen(UNSET), Rendezvous::Connect(UNSET_PEER));
        if is_up {
            pairs.add(receive(listen), send(call));
        } else {
            pairs.add(send(listen), receive(call));
        }
    }
}

impl Named for SpeedPlan {
    const STUDY: &'static str = "speed";
    const COMMAND: &'static str = "btu speed";
    const VERSION: u32 = 2;
}

impl Scripts for SpeedPlan {
    type Cell = SpeedCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn forecast(&self) -> Span {
        let cells = self.phases.len().max(1) as u64;
        Span::from_nanoseconds(self.takes().nanoseconds() / cells)
    }

    fn forget_network(&mut self) {
        self.frame.forget_network();
        self.requests = self.requests.map(|_| OpenLoop::every(Span::ZERO));
    }

    fn cells(&self) -> Vec<SpeedCell> {
        self.phases.iter().map(|&phase| SpeedCell { phase }).collect()
    }

    /// As the plan has them: a queue that one phase filled is empty again when the next has begun.
    fn order(&self, _: u32) -> Vec<SpeedCell> {
        self.cells()
    }

    fn script(&self, cell: &SpeedCell, setting: &CellSetting) -> Script {
        let [Some(near), Some(far)] = self.hosts() else {
            return Script { impairments: Impairments::new(), steps: Vec::new() };
        };
        let (dscp, receiving) = (self.dscp, self.receiving);
        let (handed, window) = (self.handed_over(), self.window());
        let between = Pairs::between([near, far], setting);
        let message = message(handed);
        let mut pairs = Pairs { dscp, receiving, message, window, unsent: handed, ..between };
        match cell.phase {
            Phase::Idle => {
                let at_once = |requests| OpenLoop { lead: Span::ZERO, ..requests };
                pairs.ask(self.idle, Transport::Tcp, self.requests.map(at_once));
            }
            Phase::Connects => pairs.ask(self.time, Transport::TcpConnect, None),
            _ => pairs.ask(self.streaming(), Transport::Tcp, self.requests),
        }
        for is_up in [true, false] {
            match (cell.phase, is_up) {
                (Phase::Up | Phase::Both, true) | (Phase::Down | Phase::Both, false) => {
                    (0..self.streams).for_each(|_| pairs.stream(self.streaming(), is_up));
                }
                (Phase::DatagramsUp, true) | (Phase::DatagramsDown, false) => {
                    self.datagrams(&mut pairs, is_up);
                }
                (
                    Phase::Idle
                    | Phase::Up
                    | Phase::Down
                    | Phase::Connects
                    | Phase::DatagramsUp
                    | Phase::DatagramsDown,
                    true | false,
                ) => {}
            }
        }
        pairs.script()
    }

    fn faults(&self, cell: &SpeedCell, seen: &Observation) -> Vec<String> {
        flow_faults(&self.script(cell, &CellSetting::unplayed(&self.frame)), &seen.reports)
    }

    fn facts(&self, cell: &SpeedCell, seen: &Observation) -> Facts {
        let goodput = [Direction::Up, Direction::Down]
            .map(|direction| together(seen, direction).map(|flow| flow.bits_per_second));
        let typical = requested(seen).and_then(|requested| requested.round_trip.quantile(0.5));
        let typical = typical.map(Span::from_nanoseconds);
        let connects = cell.phase == Phase::Connects;
        Facts {
            message: if cell.phase.is_of_requests() { ASKED } else { MESSAGE },
            goodput_bits_per_second: goodput[0].xor(goodput[1]),
            both_ways: goodput[0].zip(goodput[1]).map(|(up, down)| [up, down]),
            // A connection with its request is no round trip: it takes two.
            duration: typical.filter(|_| connects),
            round_trip: typical.filter(|_| !connects),
        }
    }

    fn quantity_name(&self, cell: &SpeedCell, quantity: Quantity) -> String {
        cell.phase.quantity_name(quantity)
    }
}

impl Judged for SpeedPlan {
    type Verdict = SpeedVerdict;

    fn judge(&self, cells: &[Measured<SpeedCell>], _: &RunFacts) -> SpeedVerdict {
        judge(self, cells)
    }
}
