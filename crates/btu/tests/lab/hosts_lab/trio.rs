//! Three hosts that are rated together, from a desk with a database of their own: trios do not
//! disturb each other.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Hosts, RATED};
use crate::support::{LONG, text};

/// Hosts 3 x `number` and the two after it: test, active, passive.
#[derive(Clone, Copy)]
pub(crate) struct Trio<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) number: usize,
}

impl Trio<'_> {
    pub(crate) fn names(&self) -> &[String] {
        let first = self.number * RATED.len();
        &self.hosts.names[first..first + RATED.len()]
    }

    /// The active host: it takes part in every cell.
    pub(crate) fn active(&self) -> &str {
        &self.names()[1]
    }

    pub(crate) fn inventory(&self) -> String {
        let first = self.number * RATED.len();
        self.hosts.write_inventory(
            &format!("trio-{}.toml", self.number),
            first..first + RATED.len(),
            |text| text,
        )
    }

    fn data(&self) -> PathBuf {
        self.hosts.lab.home.path().join(format!("data-{}", self.number))
    }

    /// `btu ARGUMENTS` at the controller's desk.
    pub(crate) fn desk(&self, arguments: &[&str]) -> Command {
        let btu = env!("CARGO_BIN_EXE_btu");
        let mut command = self.hosts.lab.exec("desk", &[&[btu], arguments].concat());
        command.env("BTU_DATA", self.data()).env("BTU_IDENTITY", self.hosts.path("me.pem"));
        command
    }

    /// `btu rate --hosts` on these three.
    pub(crate) fn rate(&self, arguments: &[&str]) -> Command {
        self.desk(&[&["rate", "--hosts", &self.inventory(), "--quiet"], arguments].concat())
    }

    /// The stored data of the newest run.
    pub(crate) fn stored(&self) -> Value {
        Hosts::json(self.lab_command(&["show", "latest"]))
    }

    /// Every cell of the newest run.
    pub(crate) fn cells(&self) -> Vec<Value> {
        match Hosts::json(self.lab_command(&["show", "--cells"])) {
            Value::Array(cells) => cells,
            other => panic!("no list of cells: {other}"),
        }
    }

    /// `btu ARGUMENTS` outside, on the same database.
    pub(crate) fn lab_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.hosts.lab.btu(arguments);
        command.env("BTU_DATA", self.data());
        command
    }

    /// The number of runs, and of cells in the newest one.
    pub(crate) fn runs(&self) -> (usize, u64) {
        let output = self.lab_command(&["runs", "--json"]).output().unwrap();
        let runs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (runs.len(), runs.last().and_then(|run| run["cells"].as_u64()).unwrap_or(0))
    }

    /// Begins a command that makes a run, and waits until that has this number of cells.
    pub(crate) fn begin(&self, mut command: Command, cells: u64) -> Child {
        let wanted = (self.runs().0 + 1, cells);
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + LONG;
        while self.runs() < wanted {
            let status = child.try_wait().unwrap();
            if status.is_some() {
                break;
            }
            assert!(Instant::now() < deadline, "no {cells} cells");
            thread::sleep(Duration::from_millis(50));
        }
        if self.runs() >= wanted {
            return child;
        }
        panic!(
            "it ended before {cells} cells were stored: {}",
            text(&child.wait_with_output().unwrap().stderr)
        )
    }
}
