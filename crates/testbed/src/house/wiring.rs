//! Hands the wire its plan: which interfaces it joins, and what it does to frames between them.

use std::fs::File;
use std::io;

use btu_suite::network::{Network, Path, Station};
use serde::Serialize;

use super::error::{Cause, TestbedError};
use super::words::{Blueprint, tell};

/// Provisional: to be replaced by the wire's own.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum WirePlan {
    Veth { seed: u64, boxes: Vec<(String, String)> },
    Path { seed: u64, path: Path, interfaces: Vec<String> },
}

fn plan(network: &Network, seed: u64) -> WirePlan {
    match network {
        Network::Veth => {
            let boxes = Station::ALL.into_iter().filter(|station| station.is_black_box());
            let boxes = boxes.map(|station| (format!("in-{station}"), format!("out-{station}"))).collect();
            WirePlan::Veth { seed, boxes }
        }
        Network::Path(path) => {
            let interfaces = Station::ALL.into_iter().map(|station| format!("p-{station}")).collect();
            WirePlan::Path { seed, path: path.clone(), interfaces }
        }
    }
}

/// Writes the plan into the runtime directory, and opens it as the wire's standard input.
pub(super) fn write_plan(blueprint: &Blueprint) -> Result<File, TestbedError> {
    let path = blueprint.runtime_directory.join("wire.json");
    let written = File::create(&path)
        .and_then(|file| tell(file, &plan(&blueprint.network, blueprint.seed)))
        .and_then(|()| File::open(&path));
    written.map_err(|error: io::Error| {
        let operation = format!("write the wire's plan {}", path.display());
        TestbedError::new(Cause::RuntimeDirectory, operation, error, "make room on that file system")
    })
}
