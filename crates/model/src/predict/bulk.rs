//! A transfer by one TCP connection next to the traffic of others.
//!
//! The connection always has another segment, and an acknowledgement goes back for every second one
//! (RFC 9293, section 3.8.6.3). It gets what traffic at fixed rates, and senders that wait for
//! replies, leave of the slowest part of its path; with others that always have another frame it
//! shares evenly (`saturated`). Its rate is the least of that, of its window over the round trip,
//! and of what random loss allows Reno ([`crate::tcp`]). Handshake and slow start come before.
//!
//! Assumptions: traffic at fixed rates does not give way; the queue at the slowest part holds a
//! round trip, or congestion control does without (BBR). On a shared Ethernet with 802.3's own
//! backoff data and acknowledgements collide far more often than the formula's many stations: the
//! time is a lower bound there.

use btu_network::{Arrivals, Direction, Drawing, Flow, Sizes, StationId, Target};
use btu_units::{Bytes, Span};

use super::PredictError;
use super::answers::{Bottleneck, BulkLimit, BulkTransfer, PacketSizes, Transfer};
use super::network::QueueingNetwork;
use super::paced::flow_called;
use super::saturated::cost;
use super::server::{Nature, star};
use super::tree::Tree;
use crate::answer::{Answer, Warning};
use crate::ethernet::Transport;
use crate::tcp;

/// Octets of a frame around its packet, from destination address to check sequence.
const AROUND_PACKET: Bytes = Bytes::new(18);

/// The time of `transfer` by TCP in `drawing`.
pub(super) fn predict(
    drawing: &Drawing,
    transfer: &Transfer,
    sizes: Option<PacketSizes>,
) -> Result<BulkTransfer, PredictError> {
    let ends = Ends::of(drawing, transfer)?;
    let packet = packet_of(drawing);
    let others = Drawing { traffic: ends.others(drawing), ..drawing.clone() };
    let course = Course::of(&others, &ends, packet, sizes);
    let nobody = Drawing { traffic: Vec::new(), ..others };
    let alone = Course::of(&nobody, &ends, packet, sizes);
    let segment_bytes = (packet - Transport::Tcp.headers()).count() as f64;
    let window = transfer.window.map(|window| window.count() as f64 / segment_bytes);
    let station = |id: StationId| drawing.station(id).name.clone();
    let (per_second, limit) = course.limited(window);
    let mut bulk = BulkTransfer {
        from: station(ends.from),
        to: station(ends.to),
        replaces: ends.replaced.map(|flow| drawing.traffic[flow].name.clone()),
        seconds: Answer::of(0.0),
        alone_seconds: Answer::of(0.0),
        despite_loss_seconds: None,
        goodput_bits_per_second: course.goodput(segment_bytes, per_second),
        path_bits_per_second: course.goodput(segment_bytes, course.per_second),
        round_trip_seconds: course.round_trip,
        one_way_seconds: course.one_way,
        filling_window_bytes: course.per_second * course.round_trip * segment_bytes,
        segment_bytes,
        loss: course.loss,
        bottleneck: course.bottleneck.clone(),
        limit,
        simulated: None,
    };
    let size = transfer.size.count() as f64;
    let takes = |course: &Course, per_second| {
        course.goodput(segment_bytes, per_second).map(|goodput| bulk.seconds_at(size, goodput))
    };
    let seconds = takes(&course, per_second);
    let alone_seconds = takes(&alone, alone.limited(window).0);
    let despite_loss = (limit == BulkLimit::Loss).then(|| takes(&course, course.within(window)));
    (bulk.seconds, bulk.alone_seconds, bulk.despite_loss_seconds) =
        (seconds, alone_seconds, despite_loss);
    Ok(bulk)
}

/// The stations of a transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) from: StationId,
    pub(super) to: StationId,
    /// The drawn flow in whose place the transfer is.
    replaced: Option<usize>,
}

impl Ends {
    pub(super) fn of(drawing: &Drawing, transfer: &Transfer) -> Result<Self, PredictError> {
        let named = transfer.flow.as_ref().map(|name| flow_called(drawing, name)).transpose()?;
        let flow = named.unwrap_or(0);
        let station = |name: &Option<String>| {
            name.as_ref().map(|name| station_called(drawing, name)).transpose()
        };
        let (from, to) = (station(&transfer.from)?, station(&transfer.to)?);
        let drawn = drawing.traffic.get(flow);
        let first = || drawn.and_then(|flow| flow.from.iter().copied().find(|id| Some(*id) != to));
        let any = |last: bool, not: Option<StationId>| {
            let mut all = (0..drawing.stations.len() as u32).map(StationId);
            let is_other = |id: &StationId| Some(*id) != not;
            if last { all.rfind(is_other) } else { all.find(is_other) }
        };
        let from = from.or_else(first).or_else(|| any(false, to));
        let target = || drawn.and_then(|flow| target_of(flow, from));
        let to = to.or_else(target).or_else(|| any(true, from));
        let (Some(from), Some(to)) = (from, to) else { return Err(PredictError::NoStations) };
        check_reach(drawing, from, to)?;
        let own = |flow: &Flow| flow.from == [from] && flow.to == Target::Station(to);
        let replaced = named
            .filter(|flow| own(&drawing.traffic[*flow]))
            .or_else(|| drawing.traffic.iter().position(own));
        Ok(Self { from, to, replaced })
    }

    /// The drawn traffic but the flow in whose place the transfer is.
    pub(super) fn others(&self, drawing: &Drawing) -> Vec<Flow> {
        let flows = drawing.traffic.iter().enumerate();
        flows
            .filter(|(flow, _)| Some(*flow) != self.replaced)
            .map(|(_, flow)| flow.clone())
            .collect()
    }
}

fn station_called(drawing: &Drawing, name: &str) -> Result<StationId, PredictError> {
    drawing.station_called(name).ok_or_else(|| PredictError::NoStation { name: name.to_owned() })
}

/// The first station to which a flow sends, other than `from`.
fn target_of(flow: &Flow, from: Option<StationId>) -> Option<StationId> {
    let other = |list: &[StationId]| list.iter().copied().find(|id| Some(*id) != from);
    match &flow.to {
        Target::Station(one) => other(std::slice::from_ref(one)),
        Target::AnyOf(list) => other(list),
        Target::Next => {
            let next = flow.from.iter().position(|id| Some(*id) == from).map_or(0, |own| own + 1);
            other(&flow.from[next % flow.from.len()..])
        }
        Target::Broadcast => None,
    }
}

fn check_reach(drawing: &Drawing, from: StationId, to: StationId) -> Result<(), PredictError> {
    let tree = Tree::of(drawing);
    let root = |id: StationId| tree.root(tree.node[id.0 as usize]);
    let name = |id: StationId| drawing.station(id).name.clone();
    if from == to || root(from) != root(to) {
        return Err(PredictError::Unreachable { from: name(from), to: name(to) });
    }
    Ok(())
}

/// The longest packet that every part of the network takes, at most Ethernet's: what the stations of
/// an emulated network use.
fn packet_of(drawing: &Drawing) -> Bytes {
    let stars = (0..drawing.segments.len() as u32).filter_map(|segment| star(drawing, segment));
    let lines = stars
        .flat_map(|star| [&star.up, &star.down])
        .chain(drawing.links.iter().flat_map(|link| [&link.forth, &link.back]));
    let smallest = lines
        .map(|line| line.mtu)
        .chain(drawing.bridges.iter().map(|bridge| bridge.mtu))
        .fold(Direction::ETHERNET_MTU, Ord::min);
    smallest.max(Transport::Tcp.headers() + Bytes::new(1))
}

/// What the path gives a connection.
#[derive(Debug)]
struct Course {
    /// Segments per second that the path can take.
    per_second: f64,
    /// Seconds from a segment's first bit to its acknowledgement's last.
    round_trip: f64,
    /// Seconds of a segment alone.
    one_way: f64,
    loss: f64,
    bottleneck: Bottleneck,
    /// Whether a real path is slower.
    is_bound: bool,
}

impl Course {
    fn of(others: &Drawing, ends: &Ends, packet: Bytes, sizes: Option<PacketSizes>) -> Self {
        let [data, answers] = [others.traffic.len(), others.traffic.len() + 1];
        let drawn = Drawing {
            traffic: [others.traffic.as_slice(), &connection(ends, packet)].concat(),
            ..others.clone()
        };
        let mut network = QueueingNetwork::of(&drawn, sizes);
        network.settle();
        let one_way = network.delay_behind_others(data);
        let round_trip = one_way + network.delay_behind_others(answers);
        network.tied = Some([data, answers]);
        network.fill();
        let kept = network.routes[network.of_flow[data].0]
            .way
            .iter()
            .map(|(server, visits)| (1.0 - network.servers[*server as usize].loss).powf(*visits));
        Self {
            per_second: network.rates[data],
            round_trip,
            one_way,
            loss: 1.0 - kept.product::<f64>(),
            bottleneck: network.bottleneck([data, answers]),
            is_bound: network.contends(data),
        }
    }

    /// Segments per second, and what limits them.
    fn limited(&self, window: Option<f64>) -> (f64, BulkLimit) {
        let reno = tcp::reno(self.loss, self.round_trip);
        let within = self.within(window);
        if reno < within {
            (reno, BulkLimit::Loss)
        } else if within < self.per_second {
            (within, BulkLimit::Window)
        } else {
            (self.per_second, BulkLimit::Path)
        }
    }

    /// Segments per second with this window, whatever is lost.
    fn within(&self, window: Option<f64>) -> f64 {
        window.map_or(f64::INFINITY, |window| window / self.round_trip).min(self.per_second)
    }

    /// Bits of payload that arrive in a second at so many segments of this size.
    fn goodput(&self, segment_bytes: f64, per_second: f64) -> Answer {
        let arriving = per_second * (1.0 - self.loss) * segment_bytes * 8.0;
        let goodput = if per_second > 0.0 { Answer::of(arriving) } else { Answer::SATURATED };
        if self.is_bound { goodput.but(Warning::Optimistic) } else { goodput }
    }
}

/// Segments that always follow each other, and their acknowledgements, whose rate follows from
/// theirs.
fn connection(ends: &Ends, packet: Bytes) -> [Flow; 2] {
    let flow = |name: &str, [from, to]: [StationId; 2], packet, arrivals| Flow {
        name: name.to_owned(),
        from: vec![from],
        to: Target::Station(to),
        sizes: Sizes::Fixed(packet + AROUND_PACKET),
        arrivals,
        start: Span::ZERO,
        stop: None,
    };
    let silent = Arrivals::Periodic { per_second: 0.0 };
    [
        flow("transfer", [ends.from, ends.to], packet, Arrivals::Saturated),
        flow("acknowledgements", [ends.to, ends.from], Transport::Tcp.headers(), silent),
    ]
}

impl QueueingNetwork<'_> {
    /// Seconds of a flow's frames that take their turn behind the others' traffic; where the others
    /// already fill a part of the path, without their wait.
    fn delay_behind_others(&self, flow: usize) -> f64 {
        let class = self.of_flow[flow].0;
        let way = self.routes[class].way.iter().map(|(number, visits)| {
            let server = &self.servers[*number as usize];
            let waiting = self.wait_with(*number, &self.rates).waiting.value.unwrap_or(0.0);
            let own = server.visits.iter().find(|visit| visit.class == class);
            let own = own.map_or(0.0, |visit| visit.mean + visit.beyond);
            (waiting.max(server.idle_wait()) + own) * visits
        });
        way.sum()
    }

    /// The part that a connection fills first, of those that its segments and acknowledgements pass.
    fn bottleneck(&self, connection: [usize; 2]) -> Bottleneck {
        let own = connection.map(|flow| self.of_flow[flow].0);
        let busy = |number: u32, counts: &dyn Fn(usize) -> bool| -> f64 {
            let server = &self.servers[number as usize];
            let visits = server.visits.iter().filter(|visit| counts(visit.class));
            visits.map(|visit| self.frames(visit) * cost(server, visit)).sum()
        };
        let passed = own.into_iter().flat_map(|class| &self.routes[class].way);
        let fullest = passed
            .map(|(number, _)| (*number, busy(*number, &|_| true)))
            .fold((0, 0.0), |most, next| if next.1 > most.1 { next } else { most });
        let server = &self.servers[fullest.0 as usize];
        Bottleneck {
            name: self.called(server),
            rate_bits_per_second: server.rate,
            others: busy(fullest.0, &|class| !own.contains(&class)),
        }
    }

    /// Whether a flow passes a shared Ethernet with 802.3's own backoff.
    fn contends(&self, flow: usize) -> bool {
        let way = &self.routes[self.of_flow[flow].0].way;
        way.iter().any(|(server, _)| {
            matches!(self.servers[*server as usize].nature, Nature::Cable { ideal: false })
        })
    }
}

/// The drawing in which a simulator sends the transfer: in place of the connection its first two
/// flows keep so many segments on the way, those of the first acknowledged one by one, those of the
/// second not at all. After an acknowledgement, or the arrival of a segment without one, or a loss,
/// the next is sent after `pause`.
///
/// # Errors
/// When the drawing has no such stations.
pub fn as_window(
    drawing: &Drawing,
    transfer: &Transfer,
    [answered, silent]: [u32; 2],
    pause: Span,
) -> Result<Drawing, PredictError> {
    let ends = Ends::of(drawing, transfer)?;
    let packet = packet_of(drawing);
    let [segments, answers] = connection(&ends, packet);
    let answer = Bytes::new(answers.sizes.mean() as u64);
    let flow = |name: &str, count: u32, reply| Flow {
        name: name.to_owned(),
        from: vec![ends.from; count as usize],
        arrivals: Arrivals::Closed { think: pause, reply, service: Span::ZERO },
        ..segments.clone()
    };
    let mut traffic = vec![
        flow("transfer", answered, Some(answer)),
        flow("transfer, not acknowledged", silent, None),
    ];
    traffic.extend(ends.others(drawing));
    Ok(Drawing { traffic, ..drawing.clone() })
}
