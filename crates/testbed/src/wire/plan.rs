//! What a wire connects, and the network that comes of it.

use std::path::PathBuf;

use btu_medium::{
    Attachment, Chain, Coin, Fabric, Input, Limit, Network, Pass, Port, Probability, Stage, Wiring, line,
};
use btu_network::{Contention, Direction, Drawing, Loss, Medium, Reordering};
use btu_suite::network::{Path, Station};
use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::WireError;
use super::inside::Inside;
use crate::capture::Tapped;
use crate::port::Carriage;

/// Everything a wire has to know; interfaces are named as in the network namespace it is started in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WirePlan {
    /// Seeds the random streams of all elements.
    pub seed: u64,
    /// What is connected with what.
    #[serde(flatten)]
    pub shape: Shape,
    /// What the ports carry.
    #[serde(default)]
    pub carriage: Carriage,
    /// A frame that leaves more than this after its due time counts as late.
    #[serde(rename = "mark_late_after_ns", default = "WirePlan::usual_bound")]
    pub mark_late_after: Span,
    /// Where each port's frames are written, one pcapng file for each; the directory is made when it is not there.
    #[serde(default)]
    pub capture: Option<PathBuf>,
}

/// The kinds of wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Shape {
    /// A piece of wire before each black box, which acts on what comes in to it: two interfaces each.
    Veth {
        /// The black boxes.
        boxes: Vec<BlackBox>,
    },
    /// A point-to-point path between the test station and a learning switch with both black boxes.
    ///
    /// Frames from the test station pass the chain `up`, frames to it the chain `down`; what goes to a black box passes
    /// its input, wherever it comes from. The queue before each line holds 100 full frames or 100 ms worth of them,
    /// whichever is more ([`Limit::for_rate`]).
    Path {
        /// The path's properties, the same in both directions.
        path: Path,
        /// One interface for each station.
        ports: PathPorts,
    },
    /// A whole network as drawn in a network file.
    Drawn {
        /// The network; its traffic is not the wire's business.
        drawing: Drawing,
        /// One interface towards each station, in the drawing's order.
        interfaces: Vec<String>,
    },
}

/// The wire's interfaces around one black box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlackBox {
    /// Which black box.
    pub station: Station,
    /// The interface towards the other stations.
    pub inner: String,
    /// The interface towards the black box.
    pub outer: String,
}

/// The wire's interfaces towards each station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPorts {
    /// Towards the test station.
    pub test: String,
    /// Towards active.
    pub active: String,
    /// Towards passive.
    pub passive: String,
}

/// A network, the interfaces at its ports, and where black boxes are.
pub(super) struct Layout {
    pub(super) inside: Inside,
    pub(super) interfaces: Vec<String>,
    pub(super) inputs: Vec<(Station, Port)>,
}

impl WirePlan {
    /// Frames later than this are marked unless the plan says otherwise: five times what delays may be off (0.2 ms), and
    /// about what a wire that shares two processors with full stations keeps for 99 of 100 frames.
    pub const USUAL_BOUND: Span = Span::from_milliseconds(1);

    /// A plan with the usual bound, of frames as they are on a wire, without capture.
    pub fn new(seed: u64, shape: Shape) -> Self {
        Self { seed, shape, carriage: Carriage::Frames, mark_late_after: Self::USUAL_BOUND, capture: None }
    }

    fn usual_bound() -> Span {
        Self::USUAL_BOUND
    }

    /// What a capture calls its files: after the station where each port leads to one, else after the interface.
    pub(super) fn tapped(&self, interfaces: &[String]) -> Vec<Tapped> {
        let stations: &[btu_network::Station] =
            if let Shape::Drawn { drawing, .. } = &self.shape { &drawing.stations } else { &[] };
        let named = |(place, interface): (usize, &String)| Tapped {
            file: stations.get(place).map_or(interface, |station| &station.name).clone(),
            interface: interface.clone(),
        };
        interfaces.iter().enumerate().map(named).collect()
    }

    /// Draws the network.
    pub(super) fn layout(&self) -> Result<Layout, WireError> {
        match &self.shape {
            Shape::Veth { boxes } => self.veth(boxes),
            Shape::Path { path, ports } => self.path(path, ports),
            Shape::Drawn { drawing, interfaces } => self.drawn(drawing, interfaces),
        }
    }

    /// Pairs of ports: 0 and 1 around the first black box, 2 and 3 around the second.
    fn veth(&self, boxes: &[BlackBox]) -> Result<Layout, WireError> {
        let mut layout = Draft::default();
        for BlackBox { station, inner, outer } in boxes {
            if !station.is_black_box() {
                return Err(WireError::Plan(format!(
                    "{station} is not a black box: nothing may be done to its packets"
                )));
            }
            let from_box = pass(format!("{station}/output"));
            let to_lan = pass(format!("{station}/to-lan"));
            let from_lan = pass(format!("{station}/from-lan"));
            layout.attach(inner, Attachment { inbound: from_lan, outbound: to_lan });
            let port = layout.attach(outer, Attachment { inbound: from_box, outbound: self.input(*station) });
            layout.inputs.push((*station, port));
        }
        let partner = |port: u32| Port(port ^ 1);
        let patch = (0..2 * boxes.len() as u32).map(partner).collect();
        layout.finish(Wiring::Patch(patch))
    }

    fn path(&self, path: &Path, ports: &PathPorts) -> Result<Layout, WireError> {
        let direction = direction(path)?;
        let [inbound, outbound] = ["up", "down"].map(|name| line(&direction, name, self.seed));
        let mut layout = Draft::default();
        layout.attach(&ports.test, Attachment { inbound, outbound });
        for (station, interface) in [(Station::Active, &ports.active), (Station::Passive, &ports.passive)] {
            let output = pass(format!("{station}/output"));
            let port = layout.attach(interface, Attachment { inbound: output, outbound: self.input(station) });
            layout.inputs.push((station, port));
        }
        layout.finish(Wiring::Switch)
    }

    fn drawn(&self, drawing: &Drawing, interfaces: &[String]) -> Result<Layout, WireError> {
        let (stations, named) = (drawing.stations.len(), interfaces.len());
        if stations != named {
            return Err(WireError::Plan(format!("it names {named} interfaces for {stations} stations")));
        }
        if let Some(segment) = drawing.segments.iter().find(|segment| is_ideal(&segment.medium)) {
            let why =
                "idealised contention knows what no real station can; use `btu sim`, or the standard's contention";
            return Err(WireError::Plan(format!("segment {}: {why}", segment.name)));
        }
        check_names(interfaces)?;
        let fabric = Fabric::of(drawing, self.seed).map_err(|error| WireError::Plan(error.to_string()))?;
        let inside = Inside::drawn(fabric);
        Ok(Layout { inside, interfaces: interfaces.to_vec(), inputs: Vec::new() })
    }

    /// What a black box may do to incoming packets later on; nothing to begin with.
    fn input(&self, station: Station) -> Chain {
        let name = format!("{station}/input");
        let coin = Coin::new(self.seed, &name, Probability::NEVER);
        Chain::new(name, Stage::Input(Box::new(Input::new(coin, Limit::frames(Limit::MOST_FRAMES)))))
    }
}

fn pass(name: String) -> Chain {
    Chain::new(name, Stage::Pass(Pass::new()))
}

fn direction(path: &Path) -> Result<Direction, WireError> {
    if path.rate.bits_per_second() == 0 {
        return Err(WireError::Plan("a line rate of 0 carries nothing".to_owned()));
    }
    let loss = probability("loss", path.loss)?;
    let reorder = probability("reorder", path.reorder)?;
    Ok(Direction {
        loss: if loss > Probability::NEVER { Loss::Random(loss) } else { Loss::None },
        duplicate: probability("duplicate", path.duplicate)?,
        reorder: Reordering { share: reorder, ..Reordering::NEVER },
        ..Direction::new(path.rate, path.delay)
    })
}

fn probability(what: &str, share: f64) -> Result<Probability, WireError> {
    Probability::new(share).map_err(|error| WireError::Plan(format!("{what}: {error}")))
}

/// A layout in the making.
#[derive(Default)]
struct Draft {
    attachments: Vec<Attachment>,
    interfaces: Vec<String>,
    inputs: Vec<(Station, Port)>,
}

impl Draft {
    fn attach(&mut self, interface: &str, attachment: Attachment) -> Port {
        self.attachments.push(attachment);
        self.interfaces.push(interface.to_owned());
        Port(self.attachments.len() as u32 - 1)
    }

    fn finish(self, wiring: Wiring) -> Result<Layout, WireError> {
        let Self { attachments, interfaces, inputs } = self;
        check_names(&interfaces)?;
        Ok(Layout { inside: Inside::Parts(Box::new(Network::new(attachments, wiring))), interfaces, inputs })
    }
}

/// There are interfaces, and each is there once.
fn check_names(interfaces: &[String]) -> Result<(), WireError> {
    let mut sorted: Vec<&String> = interfaces.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(WireError::Plan(format!("interface {} is named twice", pair[0]))),
        None if interfaces.is_empty() => Err(WireError::Plan("it names no interface".to_owned())),
        None => Ok(()),
    }
}

fn is_ideal(medium: &Medium) -> bool {
    matches!(medium, Medium::SharedEthernet(ethernet) if ethernet.contention == Contention::Ideal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::{BitRate, Span};

    fn path(loss: f64) -> WirePlan {
        let rate = BitRate::from_megabits_per_second(10);
        let path = Path { rate, delay: Span::ZERO, loss, duplicate: 0.0, reorder: 0.0 };
        let [test, active, passive] = ["a", "b", "c"].map(str::to_owned);
        let shape = Shape::Path { path, ports: PathPorts { test, active, passive } };
        WirePlan::new(1, shape)
    }

    #[test]
    fn plans_survive_the_way_to_the_wire() {
        let boxes = vec![BlackBox { station: Station::Active, inner: "x".into(), outer: "y".into() }];
        for plan in [path(0.1), WirePlan { shape: Shape::Veth { boxes }, ..path(0.0) }] {
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<WirePlan>(&text).unwrap(), plan, "{text}");
        }
    }

    #[test]
    fn elements_are_named_after_their_place() {
        let layout = path(0.1).layout().unwrap();
        let names: Vec<&str> = layout.inside.accounts().into_iter().map(|(name, _)| name).collect();
        for name in ["up/line", "up/loss", "down/loss", "active/input", "passive/output"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
    }

    fn drawn(text: &str, interfaces: usize) -> WirePlan {
        let drawing = Drawing::read(text, "test").unwrap();
        let interfaces = (0..interfaces).map(|number| format!("p{number}")).collect();
        WirePlan::new(1, Shape::Drawn { drawing, interfaces })
    }

    const CABLE: &str = r#"
        name = "cable"
        [segments.lab]
        medium = "shared-ethernet"
        [stations.host]
        segment = "lab"
        count = 3
    "#;

    #[test]
    fn a_drawing_is_carried_with_an_interface_for_each_station() {
        let plan = drawn(CABLE, 3);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<WirePlan>(&text).unwrap(), plan, "{text}");
        let layout = plan.layout().unwrap();
        assert_eq!(layout.inside.meters()[0].0, "lab");
        let files: Vec<String> = plan.tapped(&layout.interfaces).into_iter().map(|tapped| tapped.file).collect();
        assert_eq!(files, ["host-1", "host-2", "host-3"]);
        assert!(matches!(drawn(CABLE, 2).layout(), Err(WireError::Plan(_))));
    }

    #[test]
    fn idealised_contention_is_for_the_simulator() {
        let ideal = CABLE.replace("\"shared-ethernet\"", "\"shared-ethernet\"\ncontention = \"ideal\"");
        let Err(WireError::Plan(why)) = drawn(&ideal, 3).layout() else { panic!("it was carried") };
        assert!(why.contains("lab") && why.contains("btu sim"), "{why}");
    }

    #[test]
    fn impossible_plans_are_refused() {
        let boxes = |station| vec![BlackBox { station, inner: "x".into(), outer: "x".into() }];
        for plan in [
            path(1.5),
            path(f64::NAN),
            WirePlan { shape: Shape::Veth { boxes: boxes(Station::Test) }, ..path(0.0) },
            WirePlan { shape: Shape::Veth { boxes: boxes(Station::Active) }, ..path(0.0) },
            WirePlan { shape: Shape::Veth { boxes: Vec::new() }, ..path(0.0) },
        ] {
            assert!(matches!(plan.layout(), Err(WireError::Plan(_))), "{plan:?}");
        }
    }
}
