//! The wire of a testbed: its plan, passed on standard input, and its process.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;

use btu_network::{Attachment, Direction, Drawing, End, Link, LinkId, Station, StationId};
use btu_units::{BitRate, Span};
use nix::unistd::{Pid, getppid};

use super::design::Design;
use super::error::{Cause, TestbedError};
use super::layout::{port_of, wire_inner, wire_outer};
use super::messages::{TestbedSpec, receive, send};
use crate::note;
use crate::wire::{self, WireError, WirePlan};

/// Writes the plan into the runtime directory, and opens it as the wire's standard input.
pub(super) fn write_plan(spec: &TestbedSpec) -> Result<File, TestbedError> {
    let path = spec.runtime_directory.join("wire.json");
    let written = File::create(&path)
        .and_then(|file| send(file, &plan(&spec.design, spec.seed)))
        .and_then(|()| File::open(&path));
    written.map_err(|error| {
        let operation = format!("write the link emulator's plan {}", path.display());
        TestbedError::new(
            Cause::RuntimeDirectory,
            operation,
            error,
            "make room on that file system",
        )
    })
}

/// The number of the process namespace that the machine started with (`PROC_PID_INIT_INO` of the
/// kernel's `linux/proc_ns.h`).
const FIRST_PROCESS_NAMESPACE: u64 = 0xefff_fffc;

/// The work of `btu internal wire --socket SOCKET`: it reads its plan, one line on standard input,
/// and carries frames until it gets the order to stop. It needs no keep-alive pipe: it ends with
/// the testbed's process namespace.
///
/// It refuses to run anywhere else. A user who makes such namespaces by hand has all the wire's
/// rights in them.
pub fn wire(socket: &Path) -> ExitCode {
    match check_inside().and_then(|()| carry(socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("btu: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether process 1 of another process namespace than the machine's own started this one.
fn check_inside() -> Result<(), WireError> {
    let namespace = fs::metadata("/proc/self/ns/pid");
    let namespace = namespace
        .map_err(|source| WireError::System { operation: "looking where it is", source })?
        .ino();
    let is_inside = getppid() == Pid::from_raw(1) && namespace != FIRST_PROCESS_NAMESPACE;
    if is_inside { Ok(()) } else { Err(WireError::Outside) }
}

fn carry(socket: &Path) -> Result<(), WireError> {
    let system = |operation| move |source: io::Error| WireError::System { operation, source };
    let plan: WirePlan = receive(io::stdin().lock()).map_err(system("reading the plan"))?;
    let control = UnixListener::bind(socket).map_err(system("making the control socket"))?;
    wire::run(&plan, control, None)
}

fn plan(design: &Design, seed: u64) -> WirePlan {
    let Design { drawing, capture, inputs, .. } = design;
    let plan = if drawing.bare {
        let interfaces = inputs
            .iter()
            .flat_map(|&input| [wire_inner(drawing, input), wire_outer(drawing, input)]);
        let outer = (0..inputs.len() as u32).map(|number| StationId(2 * number + 1));
        WirePlan {
            inputs: outer.collect(),
            ..WirePlan::new(seed, before_inputs(drawing, inputs), interfaces.collect())
        }
    } else {
        let interfaces = (0..drawing.stations.len()).map(|number| port_of(drawing, number));
        WirePlan {
            inputs: inputs.clone(),
            ..WirePlan::new(seed, drawing.clone(), interfaces.collect())
        }
    };
    WirePlan { capture: capture.clone(), ..plan }
}

/// The fastest line that a network file can have: a full frame takes 12 ns.
const FASTEST: BitRate = BitRate::from_bits_per_second(1_000_000_000_000);

/// The network of a wire that is only before the inputs of a bare network's stations: for each
/// input a link from the bridge to the station, which keeps its name.
fn before_inputs(drawing: &Drawing, inputs: &[StationId]) -> Drawing {
    let mut carried = Drawing { name: drawing.name.clone(), ..Drawing::default() };
    for (number, input) in (0..).zip(inputs) {
        let station = drawing.station(*input);
        let name = format!("to-{}", station.name);
        let attachment = Attachment::Link(LinkId(number));
        let port = |name: &str| Station {
            name: name.to_owned(),
            group: name.to_owned(),
            attachment,
            address: Ipv4Addr::UNSPECIFIED,
            one_at_a_time: false,
        };
        carried.stations.extend([port(&name), port(&station.name)]);
        carried.links.push(Link {
            group: name.clone(),
            name,
            ends: [0, 1].map(|end| End::Station(StationId(2 * number + end))),
            forth: Direction::new(FASTEST, Span::ZERO),
            back: Direction::new(FASTEST, Span::ZERO),
            changes: Vec::new(),
        });
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::super::layout::{Layout, TestbedNamespace};
    use super::super::samples;
    use super::*;

    #[test]
    fn every_interface_of_a_plan_is_in_the_layout() {
        let emulated = Design { drawing: samples::star(5), ..Design::default() };
        let bare = Drawing { bare: true, ..samples::star(3) };
        let bare =
            Design { drawing: bare, inputs: vec![StationId(1), StationId(2)], ..Design::default() };
        for (design, count) in [(emulated, 5), (bare, 4)] {
            let layout = Layout::of(&design);
            let plan = plan(&design, 1);
            assert_eq!((plan.interfaces.len(), plan.drawing.stations.len()), (count, count));
            for name in plan.interfaces {
                assert!(
                    layout
                        .ends_in(TestbedNamespace::Wire)
                        .any(|end| end.name == name && !end.offloads),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn an_input_is_called_after_its_station() {
        let drawing = Drawing { bare: true, ..samples::star(3) };
        let plan = plan(&Design { drawing, inputs: vec![StationId(2)], ..Design::default() }, 1);
        assert_eq!(
            plan.inputs
                .iter()
                .map(|&input| plan.drawing.station(input).name.as_str())
                .collect::<Vec<_>>(),
            ["host-3"]
        );
        assert_eq!(plan.interfaces, ["in-host-3", "out-host-3"]);
    }
}
