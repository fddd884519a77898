//! A transfer at the rate at which software makes packets: the *simple* and the *aggregate* delay of
//! the CITI study of 1989, and where one overtakes the other.
//!
//! Source: the Network Modeling Tool of CITI, University of Michigan. The simple delay is how long
//! the software takes to make the packets, the aggregate delay how long the network takes to carry
//! them one after the other; the larger limits. The study has one segment. Over several a packet is
//! on the next while its successor is on this one, so the longest per-packet delay counts for every
//! packet and the others once; propagation on lines counts once too.

use btu_network::Drawing;

use super::PredictError;
use super::answers::{Crossing, PacedTransfer, Transfer, TransferLimit};
use super::assemble::{Solved, add};
use super::network::{QueueingNetwork, fixed_rate};
use super::server::Nature;
use super::wait::Wait;
use crate::answer::Answer;

/// A transfer's flow and the flow with the changed rate, as indices in the drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paced {
    flow: usize,
    per_second: f64,
    against: Option<usize>,
    bits: f64,
}

impl Paced {
    /// `None` where neither the question nor the file names a flow with a rate.
    pub(super) fn of(drawing: &Drawing, transfer: &Transfer) -> Result<Option<Self>, PredictError> {
        let declared = |name: &str| drawing.traffic.iter().position(|flow| flow.name == name);
        let flow = match &transfer.flow {
            Some(name) => Some(flow_called(drawing, name)?),
            None => declared("file"),
        };
        let rate = |flow: usize| fixed_rate(&drawing.traffic[flow]);
        let Some((flow, per_second)) = flow.and_then(|flow| Some((flow, rate(flow)?))) else {
            return if transfer.against.is_some() { Err(PredictError::NoRate) } else { Ok(None) };
        };
        let against = match &transfer.against {
            Some(name) => Some(flow_called(drawing, name)?),
            None => background(drawing, flow),
        };
        let against = against.filter(|other| *other != flow && rate(*other).is_some());
        Ok(Some(Self { flow, per_second, against, bits: transfer.size.bits() }))
    }

    /// The prediction of the transfer.
    pub(super) fn answer(self, solved: &Solved<'_>) -> PacedTransfer {
        let drawing = solved.network.drawing;
        let packets = self.packets(solved.network);
        let simple = packets / self.per_second;
        let carried = self.carry(solved.network, |server| solved.waits[server as usize]);
        let aggregate = carried.aggregate(packets);
        let limit = match aggregate.value {
            None => TransferLimit::Saturated,
            Some(aggregate) if aggregate <= simple => TransferLimit::Software,
            Some(_) => TransferLimit::Network,
        };
        PacedTransfer {
            flow: drawing.traffic[self.flow].name.clone(),
            packets_per_second: self.per_second,
            packets,
            simple_seconds: simple,
            bottleneck: carried
                .place
                .map(|server| solved.network.called(&solved.network.servers[server as usize])),
            packet_delay_seconds: carried.longest,
            aggregate_seconds: aggregate,
            seconds: aggregate.map(|aggregate| aggregate.max(simple)),
            limit,
            overtaken: self.crossing(solved.network, packets, simple),
        }
    }

    fn packets(self, network: &QueueingNetwork<'_>) -> f64 {
        self.bits / network.classes[network.of_flow[self.flow].0].mean_bits
    }

    /// The per-packet delays on the path, for packets of the mean size there.
    fn carry(self, network: &QueueingNetwork<'_>, wait: impl Fn(u32) -> Wait) -> Carried {
        let class = network.of_flow[self.flow].0;
        let mut carried = Carried { place: None, longest: Answer::of(0.0), once: Answer::of(0.0) };
        for (number, visits) in &network.routes[class].way {
            let (server, wait) = (&network.servers[*number as usize], wait(*number));
            let delay = wait.delay_of_one();
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
    fn crossing(
        self,
        network: &QueueingNetwork<'_>,
        packets: f64,
        simple: f64,
    ) -> Option<Crossing> {
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
    network: &'a QueueingNetwork<'a>,
    question: Paced,
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

/// The flow called `background`, else the last with a rate that is not the transfer's.
fn background(drawing: &Drawing, flow: usize) -> Option<usize> {
    let named = drawing.traffic.iter().position(|other| other.name == "background");
    let open = |other: &usize| *other != flow && fixed_rate(&drawing.traffic[*other]).is_some();
    named.or_else(|| (0..drawing.traffic.len()).rev().find(open))
}

/// The place of a flow in the drawing.
pub(super) fn flow_called(drawing: &Drawing, name: &str) -> Result<usize, PredictError> {
    let names = || drawing.traffic.iter().map(|flow| flow.name.as_str());
    names().position(|known| known == name).ok_or_else(|| PredictError::NoFlow {
        name: name.to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
    })
}
