//! A transfer by one TCP connection next to the traffic of others.
//!
//! The connection always has another segment, and an acknowledgement goes back for every second one
//! (RFC 9293, section 3.8.6.3). It gets what traffic at fixed rates, and senders that wait for
//! replies, leave of the slowest part of its path; with others that always have another frame it
//! shares evenly (`saturated`). Its rate is the least of that, of its window over the round trip,
//! and of what random loss allows Reno ([`crate::tcp`]). Handshake and slow start come before.
//!
//! Assumptions: traffic at fixed rates does not give way; the queue at the slowest part holds a
//! round trip, or congestion control does without (BBR). Where they do not hold, the answer says so
//! ([`TransferWarning`]). On a shared Ethernet with 802.3's own backoff data and acknowledgements
//! collide far more often than the formula's many stations: the time is a lower bound there.

use btu_network::{
    Arrivals, Atm, Change, Direction, Drawing, Flow, Link, Medium, Rate, Reordering, Sizes,
    StationId, Target, Trace,
};
use btu_units::{Bytes, Span};

use super::PredictError;
use super::answers::{Bottleneck, BulkLimit, BulkTransfer, PacketSizes, Transfer, TransferWarning};
use super::network::{QueueingNetwork, fixed_rate};
use super::paced::flow_called;
use super::saturated::cost;
use super::server::{FrameServer, Nature, ServerLocation, star};
use super::tree::Tree;
use crate::answer::{Answer, Warning};
use crate::ethernet::Transport;
use crate::tcp::{self, Stretch, TcpPath};

/// Octets of a frame around its packet, from destination address to check sequence.
const AROUND_PACKET: Bytes = Bytes::new(18);

/// Octets before a packet, which a queue counts.
const ETHERNET_HEADER: Bytes = Bytes::new(14);

/// No frame at a time of its own.
const SILENT: Arrivals = Arrivals::Periodic { per_second: 0.0 };

/// Loss that BBR bears without slowing down (the threshold of its second version).
const BBR_LOSS: f64 = 0.02;

/// Losses for each visit of the bad state from which on they come in bursts.
const BURST: f64 = 1.5;

/// Moments of a recording at which a transfer may begin.
const STARTS: u32 = 200;

/// The time of `transfer` by TCP in `drawing`.
pub(super) fn predict(
    drawing: &Drawing,
    transfer: &Transfer,
    sizes: Option<PacketSizes>,
) -> Result<BulkTransfer, PredictError> {
    let ends = Ends::of(drawing, transfer)?;
    let packet = packet_of(drawing);
    let others = Drawing { traffic: ends.others(drawing), ..drawing.clone() };
    let segment_bytes = (packet - Transport::Tcp.headers()).count() as f64;
    let window = transfer.window.map(|window| window.count() as f64 / segment_bytes);
    let segments = transfer.size.count() as f64 / segment_bytes;
    let way = Passage { ends: &ends, packet, sizes, window };
    let courses = way.courses(&others);
    let seconds = way.times(&courses, drawing, segments);
    let nobody = Drawing { traffic: Vec::new(), ..others.clone() };
    let alone_seconds = way.times(&way.courses(&nobody), drawing, segments).answer();
    let course = &courses[seconds.place];
    let (per_second, limit) = course.limited(window);
    let lossless = || courses.iter().map(|course| Course { loss_events: 0.0, ..course.clone() });
    let is_lossy = courses.iter().any(|course| course.loss > BBR_LOSS);
    let despite_loss_seconds = (limit == BulkLimit::Loss).then(|| {
        let answer = way.times(&lossless().collect::<Vec<_>>(), drawing, segments).answer();
        if is_lossy { answer.but(Warning::Optimistic) } else { answer }
    });
    let shared_seconds = seconds.answer().is_saturated().then(|| {
        let courses = way.courses(&giving_way(&others));
        way.times(&courses, drawing, segments).answer()
    });
    let station = |id: StationId| drawing.station(id).name.clone();
    Ok(BulkTransfer {
        from: station(ends.from),
        to: station(ends.to),
        replaces: ends.replaced.map(|flow| drawing.traffic[flow].name.clone()),
        seconds: seconds.answer(),
        by_start: seconds.by_start,
        limited_from_seconds: course.from,
        alone_seconds,
        despite_loss_seconds,
        shared_seconds,
        goodput_bits_per_second: course.goodput(segment_bytes, per_second),
        path_bits_per_second: course.goodput(segment_bytes, course.per_second),
        round_trip_seconds: course.round_trip,
        one_way_seconds: course.one_way,
        filling_window_bytes: course.per_second * course.round_trip * segment_bytes,
        segment_bytes,
        warnings: warnings(&courses, seconds, drawing),
        loss: course.loss,
        bottleneck: course.bottleneck.clone(),
        limit,
        simulated: None,
    })
}

/// Why a real transfer may take longer.
fn warnings(courses: &[Course], times: BulkTimes, drawing: &Drawing) -> Vec<TransferWarning> {
    let begun = || courses.iter().filter(|course| course.from < times.seconds);
    let longest = &courses[times.place];
    let grows = |link: &Link| {
        let least = link.forth.delay.min(link.back.delay);
        let grown = |change: &&Change| change.delay.is_some_and(|delay| delay > least);
        link.changes.iter().filter(grown).any(|change| change.at.seconds() < times.seconds)
    };
    let is_bursty = |course: &Course| course.loss > BURST * course.loss_events;
    [
        (longest.contends, TransferWarning::Collisions),
        (begun().any(is_bursty), TransferWarning::LossBursts),
        (longest.queue < longest.per_second * longest.round_trip, TransferWarning::ShortQueue),
        (longest.reorders, TransferWarning::Reordering),
        (longest.shares, TransferWarning::SaturatedOthers),
        (drawing.links.iter().any(grows), TransferWarning::GrowingDelay),
    ]
    .into_iter()
    .filter_map(|(holds, warning)| holds.then_some(warning))
    .collect()
}

/// The others with senders that give way in place of those at fixed rates.
fn giving_way(others: &Drawing) -> Drawing {
    let mut others = others.clone();
    for flow in &mut others.traffic {
        if fixed_rate(flow).is_some() {
            flow.arrivals = Arrivals::Saturated;
        }
    }
    others
}

/// The times of a transfer.
#[derive(Debug, Clone, Copy)]
struct BulkTimes {
    seconds: f64,
    is_bound: bool,
    by_start: Option<[f64; 2]>,
    /// The place of the course that it passes longest.
    place: usize,
}

impl BulkTimes {
    fn answer(&self) -> Answer {
        let answer =
            if self.seconds.is_finite() { Answer::of(self.seconds) } else { Answer::SATURATED };
        if self.is_bound { answer.but(Warning::Optimistic) } else { answer }
    }
}

/// The way of a connection through a drawing.
#[derive(Debug, Clone, Copy)]
struct Passage<'a> {
    ends: &'a Ends,
    packet: Bytes,
    sizes: Option<PacketSizes>,
    /// In segments.
    window: Option<f64>,
}

impl Passage<'_> {
    /// What the path gives as the network begins, and after each change of a link.
    fn courses(&self, others: &Drawing) -> Vec<Course> {
        let changes = others.links.iter().flat_map(|link| &link.changes);
        let mut times: Vec<Span> = changes.map(|change| change.at).chain([Span::ZERO]).collect();
        times.sort_unstable();
        times.dedup();
        let course = |at: Span| Course {
            from: at.seconds(),
            ..Course::of(&others.changed_by(at), self.ends, self.packet, self.sizes)
        };
        times.into_iter().map(course).collect()
    }

    /// The time of so many segments: handshake, windows, and the way of the last segment. On a
    /// recorded link the median and the ends over all moments at which it may begin.
    fn times(&self, courses: &[Course], drawing: &Drawing, segments: f64) -> BulkTimes {
        let recorded = courses.iter().find_map(|course| course.recorded.as_ref());
        let recorded = recorded.and_then(|recorded| recorded.of(drawing));
        let stretches = courses.iter().map(|course| course.stretch(self.window)).collect();
        let path = TcpPath { stretches, recorded };
        let took = |begin: f64| {
            let Course { round_trip, one_way, .. } = &courses[path.place(begin)];
            round_trip + path.seconds(segments, begin + round_trip) + one_way
        };
        let lap = path.recorded.map(|(trace, _)| trace.lap().seconds());
        let begins = lap.map_or(1, |_| STARTS);
        let begin = |number: u32| f64::from(number) / f64::from(begins) * lap.unwrap_or(0.0);
        let mut times: Vec<f64> = (0..begins).map(|number| took(begin(number))).collect();
        times.sort_unstable_by(f64::total_cmp);
        let seconds = times[times.len() / 2];
        let ends = courses.iter().skip(1).map(|course| course.from).chain([f64::INFINITY]);
        let passed = courses.iter().zip(ends).map(|(course, end)| end.min(seconds) - course.from);
        let longest = passed.enumerate().max_by(|left, right| left.1.total_cmp(&right.1));
        BulkTimes {
            seconds,
            is_bound: courses.iter().any(Course::is_bound),
            by_start: lap.map(|_| [times[0], times[times.len() - 1]]),
            place: longest.map_or(0, |(place, _)| place),
        }
    }
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

/// What the path gives a connection from a time on.
#[derive(Debug, Clone)]
struct Course {
    /// Seconds since the network came up.
    from: f64,
    /// Segments per second that the path can take.
    per_second: f64,
    /// Seconds from a segment's first bit to its acknowledgement's last.
    round_trip: f64,
    /// Seconds of a segment alone.
    one_way: f64,
    loss: f64,
    /// Losses that halve a window, for each segment.
    loss_events: f64,
    /// Segments that the slowest part's queue holds.
    queue: f64,
    bottleneck: Bottleneck,
    recorded: Option<Recorded>,
    /// Whether data and acknowledgements collide on it.
    contends: bool,
    /// Whether frames are held back on it until others have overtaken them.
    reorders: bool,
    /// Whether others that always have another frame pass its slowest part.
    shares: bool,
}

/// The recorded link of a path.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    link: u32,
    forth: bool,
    /// Its opportunities that a segment takes, next to the others' frames.
    each: f64,
    /// Segments per second that the rest of the path can take.
    rest: f64,
}

impl Recorded {
    fn of(self, drawing: &Drawing) -> Option<(&Trace, f64)> {
        let link = &drawing.links[self.link as usize];
        let direction = if self.forth { &link.forth } else { &link.back };
        if let Rate::Trace(trace) = &direction.rate { Some((trace, self.each)) } else { None }
    }
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
        let kept = |lost: fn(&FrameServer) -> f64| -> f64 {
            let way = network.routes[network.of_flow[data].0].way.iter();
            way.map(|(server, visits)| {
                (1.0 - lost(&network.servers[*server as usize])).powf(*visits)
            })
            .product()
        };
        let fullest = network.fullest([data, answers]);
        let slowest = &network.servers[fullest];
        let room = slowest.room(packet + ETHERNET_HEADER).unwrap_or(f64::INFINITY);
        let dropped = slowest.drops_from().map(|wait| wait * network.rates[data]);
        let saturated = |class: usize| {
            let flow = network.classes[class].flow;
            flow < data && matches!(drawn.traffic[flow].arrivals, Arrivals::Saturated)
        };
        Self {
            from: 0.0,
            per_second: network.rates[data],
            round_trip,
            one_way,
            loss: 1.0 - kept(|server| server.loss),
            loss_events: 1.0 - kept(|server| server.loss_events),
            queue: dropped.map_or(room, |dropped| room.min(dropped)),
            bottleneck: network.bottleneck(fullest, [data, answers]),
            recorded: network.recorded([data, answers]),
            contends: network.contends(data),
            reorders: network.reorders(data),
            shares: slowest.visits.iter().any(|visit| saturated(visit.class)),
        }
    }

    /// Whether a real path is slower.
    fn is_bound(&self) -> bool {
        self.contends || self.shares
    }

    /// What the walk of a transfer takes of it.
    fn stretch(&self, window: Option<f64>) -> Stretch {
        Stretch {
            from: self.from,
            // What is lost is sent again.
            per_second: self.recorded.map_or(self.per_second, |recorded| recorded.rest)
                * (1.0 - self.loss),
            round_trip: self.round_trip,
            loss_events: self.loss_events,
            longest_window: window
                .unwrap_or(f64::INFINITY)
                .min(self.per_second * self.round_trip + self.queue),
        }
    }

    /// Segments per second, and what limits them.
    fn limited(&self, window: Option<f64>) -> (f64, BulkLimit) {
        let reno = tcp::reno(self.loss_events, self.round_trip);
        let within = window.map_or(f64::INFINITY, |window| window / self.round_trip);
        let within = within.min(self.per_second);
        if reno < within {
            (reno, BulkLimit::Loss)
        } else if within < self.per_second {
            (within, BulkLimit::Window)
        } else {
            (self.per_second, BulkLimit::Path)
        }
    }

    /// Bits of payload that arrive in a second at so many segments of this size.
    fn goodput(&self, segment_bytes: f64, per_second: f64) -> Answer {
        let arriving = per_second * (1.0 - self.loss) * segment_bytes * 8.0;
        let goodput = if per_second > 0.0 { Answer::of(arriving) } else { Answer::SATURATED };
        if self.is_bound() { goodput.but(Warning::Optimistic) } else { goodput }
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
    [
        flow("transfer", [ends.from, ends.to], packet, Arrivals::Saturated),
        flow("acknowledgements", [ends.to, ends.from], Transport::Tcp.headers(), SILENT),
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

    /// Seconds per second in which a server is busy with the frames that count.
    fn busy(&self, server: &FrameServer, counts: impl Fn(usize) -> bool) -> f64 {
        let visits = server.visits.iter().filter(|visit| counts(visit.class));
        visits.map(|visit| self.frames(visit) * cost(server, visit)).sum()
    }

    /// The place of the part that a connection fills first, of those that its segments and
    /// acknowledgements pass.
    fn fullest(&self, connection: [usize; 2]) -> usize {
        let own = connection.map(|flow| self.of_flow[flow].0);
        let passed = own.into_iter().flat_map(|class| &self.routes[class].way);
        let shares = passed.map(|(number, _)| {
            (*number as usize, self.busy(&self.servers[*number as usize], |_| true))
        });
        shares.fold((0, 0.0), |most, next| if next.1 > most.1 { next } else { most }).0
    }

    fn bottleneck(&self, place: usize, connection: [usize; 2]) -> Bottleneck {
        let own = connection.map(|flow| self.of_flow[flow].0);
        let server = &self.servers[place];
        Bottleneck {
            name: self.called(server),
            rate_bits_per_second: server.rate,
            others: self.busy(server, |class| !own.contains(&class)),
        }
    }

    /// The recorded link that a connection's segments pass, the slowest of several.
    fn recorded(&self, connection: [usize; 2]) -> Option<Recorded> {
        let own = connection.map(|flow| self.of_flow[flow].0);
        let passed = || own.into_iter().flat_map(|class| &self.routes[class].way);
        let others = |server| self.busy(server, |class| !own.contains(&class));
        let place = |number: &u32| {
            let server = &self.servers[*number as usize];
            let ServerLocation::Link { link, forth } = server.place else { return None };
            let drawn = &self.drawing.links[link as usize];
            let line = if forth { &drawn.forth } else { &drawn.back };
            matches!(line.rate, Rate::Trace(_)).then_some((server, link, forth))
        };
        let links = self.routes[own[0]].way.iter().filter_map(|(number, _)| place(number));
        let (slowest, link, forth) = links.min_by(|a, b| a.0.rate.total_cmp(&b.0.rate))?;
        let rooms = passed().filter_map(|(number, _)| {
            let server = &self.servers[*number as usize];
            let busy = self.busy(server, |class| own.contains(&class));
            (!std::ptr::eq(server, slowest) && busy > 0.0)
                .then(|| (1.0 - others(server)).max(0.0) / busy)
        });
        let rest = self.rates[connection[0]] * rooms.fold(f64::INFINITY, f64::min);
        let left = 1.0 - others(slowest);
        let each = if left > 0.0 { 1.0 / left } else { f64::INFINITY };
        Some(Recorded { link, forth, each, rest })
    }

    /// Whether a flow's frames are held back somewhere until others have overtaken them.
    fn reorders(&self, flow: usize) -> bool {
        let way = &self.routes[self.of_flow[flow].0].way;
        way.iter().any(|(server, _)| self.servers[*server as usize].reorders)
    }

    /// Whether a flow passes a shared Ethernet with 802.3's own backoff.
    fn contends(&self, flow: usize) -> bool {
        let way = &self.routes[self.of_flow[flow].0].way;
        way.iter().any(|(server, _)| {
            matches!(self.servers[*server as usize].nature, Nature::Cable { ideal: false })
        })
    }
}

/// The drawing in which a simulator sends the transfer: its first flow has the segments, its second
/// the acknowledgements, both without a rate of their own. Lines keep frames in order, since Linux
/// learns how far they are overtaken and does not take them for lost (RFC 8985, section 6.2), which
/// the simulator does not.
///
/// # Errors
/// When the drawing has no such stations.
pub fn as_connection(drawing: &Drawing, transfer: &Transfer) -> Result<Drawing, PredictError> {
    let ends = Ends::of(drawing, transfer)?;
    let mut traffic = connection(&ends, packet_of(drawing)).to_vec();
    traffic[0].arrivals = SILENT;
    traffic.extend(ends.others(drawing));
    let mut drawn = Drawing { traffic, ..drawing.clone() };
    let stars = drawn.segments.iter_mut().filter_map(|segment| match &mut segment.medium {
        Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => Some(star),
        _ => None,
    });
    let links = drawn.links.iter_mut().flat_map(|link| [&mut link.forth, &mut link.back]);
    for line in stars.flat_map(|star| [&mut star.up, &mut star.down]).chain(links) {
        line.reorder = Reordering::NEVER;
    }
    Ok(drawn)
}
