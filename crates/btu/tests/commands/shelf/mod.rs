//! A database of made-up runs, and the program that reads it.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use btu_contract::experiment::Experiment;
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_control::environment::{self, Environment};
use btu_store::{Moment, NewRun, RunId, RunLock, State, Store};
use btu_studies::rate::{Component, Plan, Profile};
use btu_units::Bytes;

#[path = "../../../../studies/tests/made/mod.rs"]
pub(crate) mod made;

const CREATED: &str = "2026-11-21T04:31:08Z";

/// What btu prints about the runs in a directory; it must succeed.
pub(crate) fn btu(data: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_btu"))
        .args(arguments)
        .env("BTU_DATA", data)
        .stdin(Stdio::null())
        .output()
        .expect("btu runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    output.stdout
}

/// A directory with a database in it.
pub(crate) struct Shelf {
    pub(crate) directory: tempfile::TempDir,
    store: Store,
    /// The core-to-core latencies of cells, in ns: one block after the other has each of them; none
    /// has one if there are none.
    pub(crate) latencies: Vec<u64>,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(directory.path().join("runs.sqlite")).expect("a database");
        Self { directory, store, latencies: Vec::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `btu ARGUMENTS` with this database: exit code, output, errors.
    pub(crate) fn btu(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .args(arguments)
            .env("BTU_DATA", self.directory.path())
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .output()
            .expect("btu runs");
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), out, err)
    }

    /// The output of `btu ARGUMENTS --json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let (code, out, err) = self.btu(&[arguments, &["--json"]].concat());
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
        serde_json::from_str(&out).expect("--json prints JSON")
    }

    /// A complete run of [`plan`] in which a block's goodput is that of `megabits`, with 0.1 %
    /// between the cells.
    pub(crate) fn run(&mut self, plan: &Plan, megabits: &[f64]) -> RunId {
        self.ended(plan, megabits, State::Complete, &[environment::collect()])
    }

    /// Like `run`, with these latencies between the two sides of the machine.
    pub(crate) fn apart(&mut self, plan: &Plan, megabits: &[f64], latencies: &[u64]) -> RunId {
        self.latencies = latencies.to_vec();
        let run = self.run(plan, megabits);
        self.latencies = Vec::new();
        run
    }

    /// Like `run`, in `state`, with sessions on these machines.
    pub(crate) fn ended(
        &mut self,
        plan: &Plan,
        megabits: &[f64],
        state: State,
        machines: &[Environment],
    ) -> RunId {
        let document = btu_contract::json::to_value(&plan).expect("a plan has a JSON form");
        let network = plan.network.to_string();
        let lock = self.begun(("rate", &network), &document, &plan.hash(), machines);
        let calibration = made::calibration(plan);
        self.store.save_calibration(&lock, &calibration).expect("a calibration");
        for (block, megabits) in (0..).zip(megabits) {
            let latency = self.latencies.iter().cycle().nth(block as usize).copied();
            for (number, row) in (0..).zip(plan.rows()) {
                let rate = megabits * (1.0 + 1e-3 * f64::from((block * 7 + number * 3) % 5));
                let mut cell = made::cell(plan, row, block, rate * 1e6);
                cell.machine.core_to_core_ns = latency;
                self.store.save(&lock, plan, &cell).expect("a cell");
            }
        }
        self.store.finish(&lock, state, CREATED).expect("an end");
        lock.run()
    }
}

impl Shelf {
    /// An interrupted run of any study that has no cell yet, begun on this machine.
    pub(crate) fn interrupted(
        &mut self,
        study: &str,
        plan: &serde_json::Value,
        hash: &str,
        machine: &Environment,
    ) -> RunId {
        let lock = self.begun((study, "path"), plan, hash, std::slice::from_ref(machine));
        self.store.finish(&lock, State::Interrupted, CREATED).expect("an end");
        lock.run()
    }

    /// A run that has been begun, with sessions on these machines.
    pub(crate) fn begun(
        &mut self,
        (study, network): (&str, &str),
        plan: &serde_json::Value,
        hash: &str,
        machines: &[Environment],
    ) -> RunLock {
        let new = NewRun {
            study,
            profile: "quick",
            network,
            label: None,
            tags: &[],
            created: CREATED,
            seed: 7,
            btu_version: "0.1.0",
            plan,
            plan_hash: hash,
            planned_cells: 20,
        };
        let lock = self.store.create_run(&new).expect("a run");
        for machine in machines {
            let machine =
                btu_contract::json::to_value(&machine).expect("a machine has a JSON form");
            self.store.save_environment(&lock, Moment::Before, &machine).expect("an environment");
        }
        lock
    }
}

/// Two components and one size alone.
pub(crate) fn plan(network: Network) -> Plan {
    let mut plan = Plan::whole(7, Profile::quick(), network);
    plan.components = vec![Component::Send, Component::Recv];
    plan.messages = vec![Bytes::new(65536)];
    plan.loads = vec![Load::Idle];
    plan
}
