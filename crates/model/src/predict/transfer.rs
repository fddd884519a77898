//! A transfer of a file: the study's *simple* and *aggregate* delay, and where one overtakes the
//! other.
//!
//! Source: the Network Modeling Tool of CITI, University of Michigan. The simple delay is how long
//! the software takes to make the packets, the aggregate delay how long the network takes to carry
//! them one after the other; the larger limits. The study has one segment. Over several a packet is
//! on the next while its successor is on this one, so the longest per-packet delay counts for every
//! packet and the others once; propagation on lines counts once too.

use btu_network::{Arrivals, Drawing};

use super::PredictError;
use super::answers::{Crossing, Limit, Transfer, TransferPrediction};
use super::assemble::{Solved, add};
use super::network::{Network, fixed_rate};
use super::server::Nature;
use super::wait::Wait;
use crate::answer::Answer;

/// A transfer's flow and the flow with the changed rate, as indices in the drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    flow: usize,
    against: Option<usize>,
    bits: f64,
}

impl Task {
    pub(super) fn of(drawing: &Drawing, transfer: &Transfer) -> Result<Self, PredictError> {
        let place = |name: &String| {
            drawing.traffic.iter().position(|flow| flow.name == *name).ok_or_else(|| {
                PredictError::NoFlow {
                    name: name.clone(),
                    known: drawing
                        .traffic
                        .iter()
                        .map(|flow| flow.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                }
            })
        };
        if drawing.traffic.is_empty() {
            return Err(PredictError::NoTraffic);
        }
        let flow = transfer.flow.as_ref().map_or(Ok(0), place)?;
        let against = match &transfer.against {
            Some(name) => Some(place(name)?),
            None => background(drawing, flow),
        };
        let against = against
            .filter(|other| *other != flow && fixed_rate(&drawing.traffic[*other]).is_some());
        Ok(Self { flow, against, bits: transfer.size.bits() })
    }

    /// The prediction of the transfer.
    pub(super) fn answer(self, solved: &Solved<'_>) -> TransferPrediction {
        let drawing = solved.network.drawing;
        let packets = self.packets(solved.network);
        let simple = packets_per_second(drawing, self.flow).map(|rate| packets / rate);
        let carried = self.carry(solved.network, |server| solved.waits[server as usize]);
        let aggregate = carried.aggregate(packets);
        let limit = match (aggregate.value, simple) {
            (None, _) => Limit::Saturated,
            (Some(aggregate), Some(simple)) if aggregate <= simple => Limit::Software,
            _ => Limit::Network,
        };
        TransferPrediction {
            flow: drawing.traffic[self.flow].name.clone(),
            size_bytes: self.bits / 8.0,
            packets,
            simple_seconds: simple,
            bottleneck: carried
                .place
                .map(|server| solved.called(&solved.network.servers[server as usize])),
            packet_delay_seconds: carried.longest,
            aggregate_seconds: aggregate,
            seconds: aggregate.map(|aggregate| aggregate.max(simple.unwrap_or(0.0))),
            limit,
            overtaken: simple.and_then(|simple| self.crossing(solved.network, packets, simple)),
        }
    }

    fn packets(self, network: &Network<'_>) -> f64 {
        self.bits / network.classes[network.of_flow[self.flow].0].mean_bits
    }

    /// The per-packet delays on the path, for packets of the mean size there.
    fn carry(self, network: &Network<'_>, wait: impl Fn(u32) -> Wait) -> Carried {
        let class = network.of_flow[self.flow].0;
        let mut carried = Carried { place: None, longest: Answer::of(0.0), once: Answer::of(0.0) };
        for (number, visits) in &network.routes[class].way {
            let (server, wait) = (&network.servers[*number as usize], wait(*number));
            let delay = wait.delay_of(wait.occupied, server);
            carried.once = add(carried.once, delay.map(|delay| delay * visits));
            let pipelined = if let Nature::Line = server.nature {
                server.propagation + server.latency
            } else {
                0.0
            };
            let each = if server.queues() {
                delay.map(|delay| (delay - pipelined).max(0.0))
            } else {
                Answer::of(0.0)
            };
            let longer = match (carried.longest.value, each.value) {
                (Some(longest), Some(each)) => each > longest,
                (longest, _) => longest.is_some(),
            };
            if longer {
                (carried.place, carried.longest) = (Some(*number), each);
            }
        }
        carried
    }

    /// Raises the rate of the other flow until the network takes longer than the software.
    fn crossing(self, network: &Network<'_>, packets: f64, simple: f64) -> Option<Crossing> {
        const HIGHEST: f64 = 1e9;
        const CLOSE: f64 = 1e-9;
        let against = self.against?;
        let turned = Turned { network, question: self, against, packets, simple };
        if turned.overtaken(0.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while !turned.overtaken(high) {
            (low, high) = (high, high * 2.0);
            if high > HIGHEST {
                return None;
            }
        }
        while high - low > high * CLOSE {
            let middle = f64::midpoint(low, high);
            if turned.overtaken(middle) { high = middle } else { low = middle }
        }
        let flow = network.drawing.traffic[against].name.clone();
        Some(Crossing { flow, packets_per_second: high, whole_packets_per_second: high.ceil() })
    }
}

/// A packet's delays on its path.
struct Carried {
    place: Option<u32>,
    /// The longest delay at one place.
    longest: Answer,
    /// The delay of all other parts of the path.
    once: Answer,
}

impl Carried {
    /// The last packet's arrival, if each is sent when its predecessor has left the slowest place.
    fn aggregate(&self, packets: f64) -> Answer {
        let (Some(longest), Some(once)) = (self.longest.value, self.once.value) else {
            return add(self.longest, self.once);
        };
        Answer {
            warning: self.once.warning,
            ..Answer::of(packets * longest + (once - longest).max(0.0))
        }
    }
}

/// A network in which one flow's rate is changed.
struct Turned<'a> {
    network: &'a Network<'a>,
    question: Task,
    against: usize,
    packets: f64,
    simple: f64,
}

impl Turned<'_> {
    /// Whether the network takes longer than the software with so many frames per second of each
    /// other sender.
    fn overtaken(&self, rate: f64) -> bool {
        let mut rates = self.network.rates.clone();
        rates[self.against] = rate;
        let carried =
            self.question.carry(self.network, |server| self.network.wait_with(server, &rates));
        carried.aggregate(self.packets).value.is_none_or(|aggregate| aggregate > self.simple)
    }
}

/// The rate at which a sender's software makes packets.
fn packets_per_second(drawing: &Drawing, flow: usize) -> Option<f64> {
    match drawing.traffic[flow].arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => Some(per_second),
        Arrivals::Saturated => None,
        Arrivals::Closed { think, service, .. } => {
            let pause = think.seconds() + service.seconds();
            (pause > 0.0).then(|| 1.0 / pause)
        }
    }
}

/// The flow called `background`, else the last with a rate that is not the transfer's.
fn background(drawing: &Drawing, flow: usize) -> Option<usize> {
    let named = drawing.traffic.iter().position(|other| other.name == "background");
    let open = |other: &usize| *other != flow && fixed_rate(&drawing.traffic[*other]).is_some();
    named.or_else(|| (0..drawing.traffic.len()).rev().find(open))
}
