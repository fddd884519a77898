//! The wire of a house: its plan, handed over on standard input, and the process that carries it out.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;

use btu_suite::network::{Network, Station};

use super::design::{Design, Drawn};
use super::error::{Cause, TestbedError};
use super::layout::{path_port, port_of, wire_inner, wire_outer};
use super::words::{Blueprint, hear, tell};
use crate::wire::{self, BlackBox, PathPorts, Shape, WireError, WirePlan};

/// Writes the plan into the runtime directory, and opens it as the wire's standard input.
pub(super) fn write_plan(blueprint: &Blueprint) -> Result<File, TestbedError> {
    let path = blueprint.runtime_directory.join("wire.json");
    let written = File::create(&path)
        .and_then(|file| tell(file, &plan(&blueprint.design, blueprint.seed)))
        .and_then(|()| File::open(&path));
    written.map_err(|error| {
        let operation = format!("write the wire's plan {}", path.display());
        TestbedError::new(Cause::RuntimeDirectory, operation, error, "make room on that file system")
    })
}

/// What `btu internal wire --socket SOCKET` does: reads its plan, one line on standard input, and carries frames until it
/// is told to stop. It needs no lifeline: it ends with the house's process namespace.
pub fn wire(socket: &Path) -> ExitCode {
    match carry(socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("btu: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry(socket: &Path) -> Result<(), WireError> {
    let system = |operation| move |source: io::Error| WireError::System { operation, source };
    let plan: WirePlan = hear(io::stdin().lock()).map_err(system("reading the plan"))?;
    let control = UnixListener::bind(socket).map_err(system("making the control socket"))?;
    wire::run(&plan, control, None)
}

fn plan(design: &Design, seed: u64) -> WirePlan {
    match design {
        Design::Rate(network) => WirePlan::new(seed, shape(network)),
        Design::Drawn(drawn) => WirePlan { capture: drawn.capture.clone(), ..WirePlan::new(seed, drawn_shape(drawn)) },
    }
}

fn shape(network: &Network) -> Shape {
    match network {
        Network::Veth => Shape::Veth {
            boxes: Station::ALL.into_iter().filter(|station| station.is_black_box()).map(black_box).collect(),
        },
        Network::Path(path) => Shape::Path { path: path.clone(), ports: path_ports() },
        // Real hosts have wires of their own.
        Network::Machines(_) => Shape::Veth { boxes: Vec::new() },
    }
}

fn drawn_shape(Drawn { drawing, .. }: &Drawn) -> Shape {
    let interfaces = (0..drawing.stations.len()).map(|number| port_of(drawing, number)).collect();
    Shape::Drawn { drawing: drawing.clone(), interfaces }
}

fn black_box(station: Station) -> BlackBox {
    BlackBox { station, inner: wire_inner(station), outer: wire_outer(station) }
}

fn path_ports() -> PathPorts {
    let [test, active, passive] = Station::ALL.map(path_port);
    PathPorts { test, active, passive }
}

#[cfg(test)]
mod tests {
    use btu_suite::network;
    use btu_units::{BitRate, Span};

    use super::super::layout::{Layout, Place};
    use super::super::samples;
    use super::*;

    fn interfaces_of(shape: Shape) -> Vec<String> {
        match shape {
            Shape::Veth { boxes } => boxes.into_iter().flat_map(|one| [one.inner, one.outer]).collect(),
            Shape::Path { ports: PathPorts { test, active, passive }, .. } => vec![test, active, passive],
            Shape::Drawn { interfaces, .. } => interfaces,
        }
    }

    #[test]
    fn every_interface_of_a_plan_is_in_the_layout() {
        let rate = BitRate::from_megabits_per_second(10);
        let path = network::Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 };
        let drawn = Drawn { drawing: samples::star(5), capture: None, bare: false };
        let designs =
            [(Design::Rate(Network::Veth), 4), (Design::Rate(Network::Path(path)), 3), (Design::Drawn(drawn), 5)];
        for (design, count) in designs {
            let layout = Layout::of(&design);
            let interfaces = interfaces_of(plan(&design, 1).shape);
            assert_eq!(interfaces.len(), count);
            for name in interfaces {
                assert!(layout.ends_in(Place::Wire).any(|end| end.name == name && !end.offloads), "{name}");
            }
        }
    }
}
