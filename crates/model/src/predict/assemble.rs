//! Makes a prediction from solved submodels.

use btu_network::{Direction, Medium, Rate};

use super::answers::{
    BridgePrediction, FlowPrediction, FrameKind, LinePrediction, MediumKind, PacketSizes, RingUse,
    SegmentPrediction,
};
use super::formula::Formula;
use super::network::QueueingNetwork;
use super::server::{FrameServer, Nature, ServerLocation};
use super::wait::Wait;
use crate::answer::{Answer, Warning};

/// A network with its waits.
#[derive(Debug)]
pub(super) struct Solved<'a> {
    pub(super) network: &'a QueueingNetwork<'a>,
    pub(super) waits: Vec<Wait>,
    /// Response times of flows that wait.
    pub(super) responses: Vec<Option<Answer>>,
    /// The servers of each segment.
    by_segment: Vec<Vec<u32>>,
}

/// A share of time: from one on saturated.
fn share(value: f64, used: f64) -> Answer {
    let answer = Answer::of(value);
    if used >= 1.0 { answer.but(Warning::Saturated) } else { answer }
}

/// The sum, or the more severe warning.
pub(super) fn add(total: Answer, more: Answer) -> Answer {
    match (total.value, more.value) {
        (Some(left), Some(right)) => {
            Answer { warning: total.warning.or(more.warning), ..Answer::of(left + right) }
        }
        (None, _) => total,
        (_, None) => more,
    }
}

impl<'a> Solved<'a> {
    pub(super) fn new(network: &'a QueueingNetwork<'a>, responses: Vec<Option<Answer>>) -> Self {
        let mut by_segment = vec![Vec::new(); network.drawing.segments.len()];
        for (number, server) in network.servers.iter().enumerate() {
            match server.place {
                ServerLocation::Segment(segment)
                | ServerLocation::StationLine { segment, .. }
                | ServerLocation::BridgeLine { segment, .. } => {
                    by_segment[segment as usize].push(number as u32);
                }
                ServerLocation::Link { .. } | ServerLocation::Bridge(_) => {}
            }
        }
        Self { network, waits: network.waits(), responses, by_segment }
    }

    pub(super) fn segments(&self) -> Vec<SegmentPrediction> {
        (0..self.by_segment.len()).map(|segment| self.segment(segment)).collect()
    }

    fn segment(&self, number: usize) -> SegmentPrediction {
        let segment = &self.network.drawing.segments[number];
        let servers = &self.by_segment[number];
        let Some(busiest) = servers.iter().copied().max_by(|left, right| {
            self.waits[*left as usize].used.total_cmp(&self.waits[*right as usize].used)
        }) else {
            return empty(&segment.name, &segment.group, &segment.medium);
        };
        let (server, wait) =
            (&self.network.servers[busiest as usize], &self.waits[busiest as usize]);
        let star = matches!(server.nature, Nature::Line);
        // Every frame comes in by one line of a star and goes out by another.
        let entering: Vec<u32> =
            servers.iter().copied().filter(|server| !star || self.is_up(*server)).collect();
        let frames: f64 = entering.iter().map(|server| self.waits[*server as usize].frames).sum();
        let own = |server: &u32| {
            self.waits[*server as usize].frames * self.waits[*server as usize].own_bits
        };
        let bits: f64 = entering.iter().map(own).sum();
        SegmentPrediction {
            name: segment.name.clone(),
            group: segment.group.clone(),
            medium: kind(&segment.medium),
            formula: formula(server),
            rate_bits_per_second: server.rate,
            propagation_seconds: server.propagation,
            stations: if star { servers.len() as u32 / 2 } else { server.stations },
            ring: server.is_ring().then(|| RingUse {
                senders: server.active as u32,
                way: wait.beyond / server.propagation,
            }),
            packet_sizes: server.sizes,
            kinds: if star { self.kinds_of(&entering) } else { self.kinds(server) },
            offered_packets_per_second: frames,
            offered_bits_per_second: bits,
            mean_packet_bits: (frames > 0.0).then(|| bits / frames),
            utilisation_data: share(wait.data, wait.used),
            utilisation_data_and_collisions: share(wait.used, wait.used),
            effective_throughput: Answer::of(wait.capacity),
            waiting_seconds: wait.waiting,
            delay_seconds: if star { self.through(servers, frames) } else { wait.delay() },
            lines: if star { self.lines(servers) } else { Vec::new() },
        }
    }

    /// Mean seconds through a star: all lines' delays, weighted by the frames that pass them, for
    /// each frame that comes in.
    fn through(&self, servers: &[u32], frames: f64) -> Answer {
        if frames <= 0.0 {
            return Answer::OUT_OF_RANGE;
        }
        let used = servers.iter().filter(|server| self.waits[**server as usize].frames > 0.0);
        used.fold(Answer::of(0.0), |total, number| {
            let wait = &self.waits[*number as usize];
            add(total, wait.delay().map(|delay| delay * wait.frames / frames))
        })
    }

    fn is_up(&self, server: u32) -> bool {
        match self.network.servers[server as usize].place {
            ServerLocation::StationLine { up, .. } | ServerLocation::BridgeLine { up, .. } => up,
            _ => true,
        }
    }

    fn kinds(&self, server: &FrameServer) -> Vec<FrameKind> {
        let kind = |visit: &super::server::Visit| {
            self.kind_of(visit.class, self.network.frames(visit), visit)
        };
        server.visits.iter().map(kind).collect()
    }

    /// Kinds of frames on all these lines together; their times are those on the first line they
    /// pass.
    fn kinds_of(&self, servers: &[u32]) -> Vec<FrameKind> {
        let mut kinds: Vec<(usize, FrameKind)> = Vec::new();
        for server in servers {
            for visit in &self.network.servers[*server as usize].visits {
                let frames = self.network.frames(visit);
                match kinds.iter_mut().find(|(class, _)| *class == visit.class) {
                    Some((_, kind)) => kind.packets_per_second += frames,
                    None => kinds.push((visit.class, self.kind_of(visit.class, frames, visit))),
                }
            }
        }
        kinds.sort_by_key(|(class, _)| *class);
        kinds.into_iter().map(|(_, kind)| kind).collect()
    }

    fn kind_of(
        &self,
        class: usize,
        packets_per_second: f64,
        visit: &super::server::Visit,
    ) -> FrameKind {
        let class = &self.network.classes[class];
        FrameKind {
            flow: self.network.drawing.traffic[class.flow].name.clone(),
            reply: class.reply,
            packets_per_second,
            mean_packet_bits: class.mean_bits,
            mean_seconds: visit.mean,
            second_moment_seconds2: visit.second,
        }
    }

    /// The lines that carry frames, equal ones once.
    fn lines(&self, servers: &[u32]) -> Vec<LinePrediction> {
        let mut lines: Vec<LinePrediction> = Vec::new();
        let mut alike = std::collections::HashMap::new();
        for number in servers.iter().filter(|server| self.waits[**server as usize].frames > 0.0) {
            let key = self.likeness(*number);
            if let Some(place) = alike.get(&key) {
                let line: &mut LinePrediction = &mut lines[*place];
                line.alike += 1;
            } else {
                alike.insert(key, lines.len());
                lines.push(self.line(*number));
            }
        }
        lines
    }

    /// The properties that equal lines of a star share: their direction, and the frames that pass
    /// them, to nine digits.
    fn likeness(&self, number: u32) -> Vec<u64> {
        let server = &self.network.servers[number as usize];
        let bridge = matches!(server.place, ServerLocation::BridgeLine { .. });
        let mut key = vec![u64::from(self.is_up(number)), u64::from(bridge)];
        for visit in &server.visits {
            let digits = self.network.frames(visit) as f32;
            key.extend([visit.class as u64, u64::from(digits.to_bits())]);
        }
        key
    }

    fn line(&self, number: u32) -> LinePrediction {
        let (server, wait) = (&self.network.servers[number as usize], &self.waits[number as usize]);
        LinePrediction {
            name: self.network.called(server),
            alike: 1,
            formula: Formula::SingleQueue,
            rate_bits_per_second: server.rate,
            propagation_seconds: server.propagation,
            kinds: self.kinds(server),
            offered_packets_per_second: wait.frames,
            mean_packet_bits: (wait.frames > 0.0).then_some(wait.own_bits),
            utilisation_data: share(wait.data, wait.used),
            utilisation: share(wait.used, wait.used),
            waiting_seconds: wait.waiting,
            delay_seconds: wait.delay(),
            overflow: wait.overflow,
        }
    }

    pub(super) fn links(&self) -> Vec<LinePrediction> {
        let link =
            |(_, server): &(u32, &FrameServer)| matches!(server.place, ServerLocation::Link { .. });
        let servers = (0..).zip(&self.network.servers);
        servers.filter(link).map(|(number, _)| self.line(number)).collect()
    }

    pub(super) fn bridges(&self) -> Vec<BridgePrediction> {
        let servers = self.network.servers.iter().zip(&self.waits);
        let bridge = |(server, wait): (&FrameServer, &Wait)| {
            let ServerLocation::Bridge(number) = server.place else { return None };
            let bridge = &self.network.drawing.bridges[number as usize];
            Some(BridgePrediction {
                name: bridge.name.clone(),
                group: bridge.group.clone(),
                forwarded_packets_per_second: wait.frames,
                latency_seconds: server.latency,
            })
        };
        servers.filter_map(bridge).collect()
    }

    pub(super) fn flows(&self) -> Vec<FlowPrediction> {
        (0..self.network.drawing.traffic.len()).map(|flow| self.flow(flow)).collect()
    }

    fn flow(&self, number: usize) -> FlowPrediction {
        let flow = &self.network.drawing.traffic[number];
        let (class, _) = self.network.of_flow[number];
        let way = &self.network.routes[class].way;
        let servers =
            way.iter().map(|(server, visits)| (&self.network.servers[*server as usize], visits));
        let hops = servers.filter(|(server, _)| server.queues()).map(|(_, visits)| visits).sum();
        // Few frames are lost more than once, so the mean loss of a mean path is exact enough.
        let kept = way.iter().map(|(server, visits)| {
            let lost = self.network.servers[*server as usize].loss;
            ((1.0 - lost) * (1.0 - self.waits[*server as usize].overflow)).powf(*visits)
        });
        let arriving_share = kept.product::<f64>() * self.network.classes[class].fitting;
        let delay = self.delay(class);
        let (rate, bits) = (self.network.rates[number], self.network.classes[class].mean_bits);
        let starved = self.responses[number].is_some_and(|response| response.value.is_none());
        let rate = if starved { Answer::SATURATED } else { Answer::of(rate) };
        let saturated = delay.is_saturated() && super::network::fixed_rate(flow).is_some();
        let carried = rate.map(|rate| rate * flow.from.len() as f64 * bits * arriving_share);
        FlowPrediction {
            name: flow.name.clone(),
            senders: u32::try_from(flow.from.len()).unwrap_or(u32::MAX),
            packets_per_second_each: rate,
            mean_packet_bits: bits,
            hops,
            delay_seconds: delay,
            response_seconds: self.responses[number],
            arriving_share,
            carried_bits_per_second: if saturated { Answer::SATURATED } else { carried },
        }
    }

    /// Mean seconds of a frame of this class over its whole path.
    pub(super) fn delay(&self, class: usize) -> Answer {
        self.network.routes[class].way.iter().fold(Answer::of(0.0), |total, (number, visits)| {
            let (server, wait) =
                (&self.network.servers[*number as usize], &self.waits[*number as usize]);
            let visit = server.visits.iter().find(|visit| visit.class == class);
            let own = visit.map_or(0.0, |visit| visit.mean + visit.beyond);
            let delay = wait.waiting.map(|wait| wait + own);
            add(total, delay.map(|delay| delay * visits))
        })
    }
}

fn formula(server: &FrameServer) -> Formula {
    match server.nature {
        Nature::Cable { .. } => Formula::CsmaCd,
        Nature::TokenRing { .. } => Formula::Polling,
        Nature::TimedToken { .. } => Formula::TimedToken,
        Nature::Line | Nature::Delay => Formula::SingleQueue,
    }
}

fn kind(medium: &Medium) -> MediumKind {
    match medium {
        Medium::SharedEthernet(cable) if cable.contention == btu_network::Contention::Ideal => {
            MediumKind::IdealEthernet
        }
        Medium::SharedEthernet(_) => MediumKind::SharedEthernet,
        Medium::SwitchedEthernet(_) => MediumKind::SwitchedEthernet,
        Medium::TokenRing(_) => MediumKind::TokenRing,
        Medium::Fddi(_) => MediumKind::Fddi,
        Medium::Atm(_) => MediumKind::Atm,
    }
}

/// A star without a line.
fn empty(name: &str, group: &str, medium: &Medium) -> SegmentPrediction {
    SegmentPrediction {
        name: name.to_owned(),
        group: group.to_owned(),
        medium: kind(medium),
        formula: Formula::SingleQueue,
        rate_bits_per_second: match medium {
            Medium::SwitchedEthernet(star) | Medium::Atm(btu_network::Atm { star }) => {
                rate(&star.up)
            }
            _ => 0.0,
        },
        propagation_seconds: 0.0,
        stations: 0,
        ring: None,
        packet_sizes: PacketSizes::Drawn,
        kinds: Vec::new(),
        offered_packets_per_second: 0.0,
        offered_bits_per_second: 0.0,
        mean_packet_bits: None,
        utilisation_data: Answer::of(0.0),
        utilisation_data_and_collisions: Answer::of(0.0),
        effective_throughput: Answer::of(1.0),
        waiting_seconds: Answer::of(0.0),
        delay_seconds: Answer::OUT_OF_RANGE,
        lines: Vec::new(),
    }
}

fn rate(line: &Direction) -> f64 {
    match &line.rate {
        Rate::Fixed(rate) => rate.bits_per_second() as f64,
        Rate::Trace(trace) => trace.mean_rate().bits_per_second() as f64,
    }
}
