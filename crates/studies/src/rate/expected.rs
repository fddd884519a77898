//! The predictions of the closed form and the simulator for the run's network, next to the
//! measurements.

use btu_medium::sim::{Settings, simulate};
use btu_model::Transport;
use btu_model::predict::predict;
use btu_network::{
    Arrivals, Atm, Attachment, Direction, Drawing, Flow, Medium, Sizes, StationId, Target,
};
use btu_units::{Bytes, Probability, Span};
use serde::Serialize;

use btu_contract::network::{HostRole, Impairment, Topology};

use super::context::Context;
use super::goodputs::Goodputs;
use super::row::{Component, Row};

/// The longest frame of Ethernet from destination address to check sequence, and its payload of TCP
/// with time stamps.
const FULL_FRAME: Bytes = Bytes::new(1518);
const AROUND_PACKET: Bytes = Bytes::new(18);

/// An acknowledgement's frame: TCP's headers with time stamps, in Ethernet; a receiver sends one
/// for two segments (RFC 9293, section 3.8.6.3).
const SEGMENTS_FOR_ONE: f64 = 2.0;

/// The rounds that adjust acknowledgements and data: each round divides the error by more than the
/// ratio of their sizes, which is 20.
const ROUNDS: usize = 3;

/// Frames of a simulation: 2 s of the slowest, and no longer than a user waits for a result.
const SIMULATED: Span = Span::from_seconds(2);
const MOST_FRAMES: f64 = 50_000.0;

/// Goodput of a component without a load, in bits per second of payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpectedRow {
    /// The component; only those without impairments by peers.
    pub component: Component,
    /// The message size it was measured with: the largest of the plan.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The geometric mean of the cells.
    pub measured_bits_per_second: Option<f64>,
    /// By the closed form of bulk TCP in full frames, acknowledgements included.
    pub closed_form_bits_per_second: Option<f64>,
    /// By the simulator, in an equal way.
    pub simulated_bits_per_second: Option<f64>,
}

/// The components that a plan has, as its network file has them; none without emulation, and if
/// frames are lost, reordered or limited below Ethernet's length: neither the closed form nor the
/// simulator models TCP's behaviour then. Nor where data goes both ways: acknowledgements wait in
/// the queue behind the data of their direction and come in bunches (Zhang, Shenker, Clark,
/// SIGCOMM 1991); at 25 Mb/s and 4 ms that costs 15 %.
pub(super) fn expected(goodputs: &Goodputs, context: &Context) -> Vec<ExpectedRow> {
    let plan = &context.plan;
    let Ok(Some(topology)) = plan.network.topology() else { return Vec::new() };
    let Some(&message) = plan.messages.iter().max().filter(|_| is_plain(&topology.drawing)) else {
        return Vec::new();
    };
    let bulk = |component: &&Component| {
        component.is_rated()
            && component.impairment() == Impairment::NONE
            && !goes_both_ways(**component)
    };
    let rows = plan.components.iter().filter(bulk).map(|&component| {
        let row = Row::idle(component, message);
        let steps = brought_into_step(&topology, component);
        ExpectedRow {
            component,
            message,
            measured_bits_per_second: goodputs.estimate(row).map(|goodput| goodput.value),
            closed_form_bits_per_second: steps.as_ref().and_then(closed_form),
            simulated_bits_per_second: steps
                .as_ref()
                .and_then(|drawing| simulated(drawing, plan.seed)),
        }
    });
    rows.collect()
}

/// Whether data goes from a host to another, and from that one back.
fn goes_both_ways(component: Component) -> bool {
    let flows = component.flows();
    flows.iter().any(|&(from, to)| flows.contains(&(to, from)))
}

fn is_plain(drawing: &Drawing) -> bool {
    let stars = drawing.segments.iter().filter_map(|segment| match &segment.medium {
        Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => Some(star),
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
    });
    let lines = stars.flat_map(|star| [&star.up, &star.down]);
    let mut lines = lines.chain(drawing.links.iter().flat_map(|link| [&link.forth, &link.back]));
    let never = |share: Probability| share == Probability::NEVER;
    !drawing.bare
        && drawing.links.iter().all(|link| link.changes.is_empty())
        && lines.all(|line| {
            line.loss.share() <= 0.0
                && never(line.corrupt)
                && never(line.duplicate)
                && never(line.reorder.share)
                && line.mtu >= Direction::ETHERNET_MTU
        })
}

fn is_on_shared_medium(drawing: &Drawing, station: StationId) -> bool {
    match drawing.station(station).attachment {
        Attachment::Segment(segment, _) => {
            !matches!(drawing.segment(segment).medium, Medium::SwitchedEthernet(_) | Medium::Atm(_))
        }
        Attachment::Link(_) => false,
    }
}

/// The network with the component's data, and acknowledgements as often as the closed form expects
/// data to come.
fn brought_into_step(topology: &Topology, component: Component) -> Option<Drawing> {
    let station = |wanted: HostRole| {
        topology.roles.iter().find(|(role, _)| *role == wanted).map(|&(_, station)| station)
    };
    let flows: Option<Vec<[StationId; 2]>> =
        component.flows().iter().map(|&(from, to)| Some([station(from)?, station(to)?])).collect();
    let flows = flows?;
    let mut drawing = Drawing { traffic: Vec::new(), ..topology.drawing.clone() };
    let mut per_second = vec![0.0; flows.len()];
    for _ in 0..ROUNDS {
        drawing.traffic =
            flows.iter().zip(&per_second).flat_map(|(ends, rate)| traffic(*ends, *rate)).collect();
        let prediction = predict(&drawing);
        for (rate, flow) in per_second.iter_mut().zip(data(&prediction.flows)) {
            *rate = flow.packets_per_second_each.value? / SEGMENTS_FOR_ONE;
        }
    }
    Some(drawing)
}

/// Data, and from the second round on its acknowledgements.
fn traffic([from, to]: [StationId; 2], acknowledgements: f64) -> Vec<Flow> {
    let flow = |[from, to]: [StationId; 2], size, arrivals| Flow {
        name: format!("{}-{}", from.0, to.0),
        from: vec![from],
        to: Target::Station(to),
        sizes: Sizes::Fixed(size),
        arrivals,
        start: Span::ZERO,
        stop: None,
    };
    let small = Transport::Tcp.headers() + AROUND_PACKET;
    let regular = Arrivals::Periodic { per_second: acknowledgements.max(1e-3) };
    vec![flow([from, to], FULL_FRAME, Arrivals::Saturated), flow([to, from], small, regular)]
}

/// Every other flow is data.
fn data<T>(flows: &[T]) -> impl Iterator<Item = &T> {
    flows.iter().step_by(2)
}

/// The share of a full frame's bits that are payload.
fn payload_share() -> f64 {
    let payload = FULL_FRAME.count() - AROUND_PACKET.count() - Transport::Tcp.headers().count();
    payload as f64 / FULL_FRAME.count() as f64
}

fn closed_form(drawing: &Drawing) -> Option<f64> {
    let prediction = predict(drawing);
    let carried: Option<f64> =
        data(&prediction.flows).map(|flow| flow.carried_bits_per_second.value).sum();
    carried.map(|carried| carried * payload_share())
}

/// A sender on a shared medium always has one more frame and contends for it; on a line of its own,
/// which may be faster than the path behind it, it sends at the rate of the closed form, like a TCP
/// that has found its rate.
fn simulated(drawing: &Drawing, seed: u64) -> Option<f64> {
    let prediction = predict(drawing);
    let mut drawing = drawing.clone();
    for number in (0..drawing.traffic.len()).step_by(2) {
        let per_second = prediction.flows.get(number)?.packets_per_second_each.value?;
        if !is_on_shared_medium(&drawing, drawing.traffic[number].from.first().copied()?) {
            drawing.traffic[number].arrivals = Arrivals::Periodic { per_second };
        }
    }
    let frames: f64 =
        prediction.flows.iter().filter_map(|flow| flow.packets_per_second_each.value).sum();
    let time = Span::from_seconds_f64(
        SIMULATED.seconds().max(100.0 / frames.max(1e-3)).min(MOST_FRAMES / frames.max(1.0)),
    );
    let outcome = simulate(&drawing, &Settings { seed, ..Settings::lasting(time) }).ok()?;
    let carried: f64 = data(&outcome.flows).map(|flow| flow.goodput_bits_per_second.value).sum();
    (carried > 0.0).then(|| carried * payload_share())
}

#[cfg(test)]
mod tests {
    use btu_units::BitRate;

    use super::*;
    use crate::rate::plan::{Plan, Profile};
    use btu_contract::network::{Drawn, Network, Path, Stations};

    fn rows(network: Network) -> Vec<ExpectedRow> {
        let plan = Plan::whole(1, Profile::quick(), network);
        let context = Context::complete(plan, 1);
        expected(&Goodputs::default(), &context)
    }

    fn path(loss: f64) -> Network {
        let rate = BitRate::from_megabits_per_second(10);
        Network::Path(Path {
            rate,
            delay: Span::from_milliseconds(5),
            loss,
            duplicate: 0.0,
            reorder: 0.0,
        })
    }

    /// 1448 of 1538 octets, with a separate return path.
    #[test]
    fn a_line_gives_its_share_of_payload() {
        let rows = rows(path(0.0));
        let components: Vec<Component> = rows.iter().map(|row| row.component).collect();
        assert_eq!(components, [Component::Send, Component::Recv], "data one way");
        let line = 10e6 * 1448.0 / 1538.0;
        for row in &rows {
            for value in [row.closed_form_bits_per_second, row.simulated_bits_per_second] {
                let value = value.unwrap();
                assert!(
                    (line * 0.999..line * 1.002).contains(&value),
                    "{}: {value} of {line}",
                    row.component
                );
            }
        }
    }

    #[test]
    fn where_frames_are_lost_or_nothing_is_emulated_nothing_is_expected() {
        assert_eq!(rows(path(0.01)), []);
        assert_eq!(rows(Network::Veth), []);
    }

    #[test]
    fn on_a_shared_cable_acknowledgements_take_their_part() {
        let stations =
            Stations { test: "host-1".to_owned(), active: "host-2".to_owned(), passive: None };
        let text = btu_network::library_text("ethernet-shared-10").unwrap().to_owned();
        let rows = rows(Network::Drawing(Drawn { name: "shared".to_owned(), text, stations }));
        let send = rows.iter().find(|row| row.component == Component::Send).unwrap();
        let simulated = send.simulated_bits_per_second.unwrap();
        assert!((8.0e6..9.4148e6).contains(&simulated), "{simulated}");
    }
}
