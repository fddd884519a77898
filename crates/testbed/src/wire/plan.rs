//! The ports that an emulator connects, and the network between them.

use std::path::PathBuf;

use btu_contract::record::WireAccount;
use btu_medium::{Fabric, Port};
use btu_network::{Contention, Drawing, HostName, Medium, StationId};
use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::WireError;
use super::emulated::EmulatedNetwork;
use crate::capture::Tapped;
use crate::port::Carriage;

/// All settings of a wire; interfaces are named as in its network namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WirePlan {
    /// Seeds the random streams of all elements.
    pub seed: u64,
    /// The network; the wire does not use its traffic.
    pub drawing: Drawing,
    /// One interface towards each station, in the drawing's order.
    pub interfaces: Vec<String>,
    /// The stations with incoming packets that can be impaired later.
    #[serde(default)]
    pub inputs: Vec<StationId>,
    /// The kind of frames on the ports.
    #[serde(default)]
    pub carriage: Carriage,
    /// A frame that leaves more than this after its due time counts as late.
    #[serde(rename = "mark_late_after_ns", default = "WirePlan::usual_bound")]
    pub mark_late_after: Span,
    /// The directory of the capture, with one pcapng file for each port; it is made if it does not
    /// exist.
    #[serde(default)]
    pub capture: Option<PathBuf>,
}

/// A network, and the stations with input impairments.
pub(super) struct Layout {
    pub(super) inside: EmulatedNetwork,
    pub(super) inputs: Vec<(HostName, Port)>,
}

impl WirePlan {
    /// Frames later than this are marked, unless the plan says otherwise or the network's round
    /// trip is so long that more is harmless: five times the tolerance of delays (0.2 ms), and
    /// about the 99th percentile of a wire that shares two processors with busy stations.
    pub(crate) const USUAL_BOUND: Span = Span::from_milliseconds(1);

    /// A plan with the default bound, for plain frames, without inputs and capture.
    pub fn new(seed: u64, drawing: Drawing, interfaces: Vec<String>) -> Self {
        let carriage = Carriage::Frames;
        let harmless = WireAccount::harmless_lateness(drawing.least_round_trip());
        let mark_late_after = Self::USUAL_BOUND.max(harmless);
        Self {
            seed,
            drawing,
            interfaces,
            inputs: Vec::new(),
            carriage,
            mark_late_after,
            capture: None,
        }
    }

    fn usual_bound() -> Span {
        Self::USUAL_BOUND
    }

    /// The names of a capture's files: the station to which each port leads.
    pub(super) fn tapped(&self) -> Vec<Tapped> {
        let stations = self.drawing.stations.iter().zip(&self.interfaces);
        let named = |(station, interface): (&btu_network::Station, &String)| Tapped {
            file: station.name.clone(),
            interface: interface.clone(),
        };
        stations.map(named).collect()
    }

    /// Computes the layout of the network.
    pub(super) fn layout(&self) -> Result<Layout, WireError> {
        let Self { drawing, interfaces, inputs, .. } = self;
        let (stations, named) = (drawing.stations.len(), interfaces.len());
        if stations != named {
            return Err(WireError::Plan(format!(
                "it names {named} interfaces for {stations} stations"
            )));
        }
        if let Some(segment) = drawing.segments.iter().find(|segment| is_ideal(&segment.medium)) {
            let why = "idealised contention knows what no real station can; use `btu sim`, or the standard's contention";
            return Err(WireError::Plan(format!("segment {}: {why}", segment.name)));
        }
        if let Some(input) = inputs.iter().find(|input| input.0 as usize >= stations) {
            return Err(WireError::Plan(format!("it has no station {} to have an input", input.0)));
        }
        check_names(interfaces)?;
        let ports: Vec<Port> = inputs.iter().map(|input| Port(input.0)).collect();
        let fabric = Fabric::with_inputs(drawing, self.seed, &ports);
        let inside =
            EmulatedNetwork::new(fabric.map_err(|error| WireError::Plan(error.to_string()))?);
        let inputs =
            inputs.iter().map(|&input| (HostName::from(drawing.station(input)), Port(input.0)));
        Ok(Layout { inside, inputs: inputs.collect() })
    }
}

/// Checks that there are interfaces, each of them once.
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

    fn drawn(text: &str, interfaces: usize) -> WirePlan {
        let drawing = Drawing::read(text, "test").unwrap();
        let interfaces = (0..interfaces).map(|number| format!("p{number}")).collect();
        WirePlan { inputs: vec![StationId(1)], ..WirePlan::new(1, drawing, interfaces) }
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
        assert_eq!(layout.inside.meters().next().unwrap().0, "lab");
        let names: Vec<&str> = layout.inside.accounts().map(|(name, _)| name).collect();
        assert_eq!(names, ["lab", "host-2/input/loss", "host-2/input/delay"]);
        let files: Vec<String> = plan.tapped().into_iter().map(|tapped| tapped.file).collect();
        assert_eq!(files, ["host-1", "host-2", "host-3"]);
    }

    #[test]
    fn idealised_contention_is_for_the_simulator() {
        let ideal =
            CABLE.replace("\"shared-ethernet\"", "\"shared-ethernet\"\ncontention = \"ideal\"");
        let Err(WireError::Plan(why)) = drawn(&ideal, 3).layout() else { panic!("it was carried") };
        assert!(why.contains("lab") && why.contains("btu sim"), "{why}");
    }

    #[test]
    fn impossible_plans_are_refused() {
        let plan = drawn(CABLE, 3);
        let twice = WirePlan {
            interfaces: vec!["x".to_owned(), "x".to_owned(), "y".to_owned()],
            ..plan.clone()
        };
        let nowhere = WirePlan { inputs: vec![StationId(3)], ..plan };
        for plan in
            [drawn(CABLE, 2), twice, nowhere, WirePlan::new(1, Drawing::default(), Vec::new())]
        {
            assert!(matches!(plan.layout(), Err(WireError::Plan(_))), "{plan:?}");
        }
    }
}
