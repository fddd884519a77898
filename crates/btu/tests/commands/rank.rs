//! `btu rank` and `btu runs machine` over made-up runs of several machines.

use std::path::Path;
use std::process::{Command, Output};

use btu_contract::experiment::Experiment;
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_control::environment::{Environment, collect};
use btu_store::{Moment, NewRun, State, Store};
use btu_studies::rate::{CellRecord, Component, HostResult, NetworkResult, Plan, Profile, Row};
use btu_units::{Bytes, Span};

fn btu(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_btu"))
        .args(arguments)
        .env("BTU_DATA", data)
        .output()
        .expect("btu runs")
}

fn json(data: &Path, arguments: &[&str]) -> serde_json::Value {
    let all: Vec<&str> = arguments.iter().chain(&["--json"]).copied().collect();
    let output = btu(data, &all);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn machine(processor: &str) -> Environment {
    let mut environment = collect();
    environment.processor.model = Some(processor.to_owned());
    environment
}

fn plan(profile: Profile) -> Plan {
    let whole = Plan::whole(1, profile, Network::Veth);
    let messages = vec![Bytes::new(4096)];
    Plan {
        components: vec![Component::Send],
        messages,
        loads: vec![Load::Idle, Load::Cpu],
        ..whole
    }
}

/// A cell of this rate in Mb/s, with a little noise from block to block.
fn cell(row: Row, block: u32, megabits: f64) -> CellRecord {
    let goodput = megabits * 1e6 * (1.0 + 0.001 * f64::from(block));
    let duration = Span::from_milliseconds(100);
    let alone = matches!(row, Row::Host { .. });
    let network = NetworkResult {
        bytes: Bytes::new((goodput / 80.0) as u64),
        duration,
        goodput_bits_per_second: goodput,
        loss: 0.0,
    };
    CellRecord {
        network: (!alone).then_some(network),
        host: Some(HostResult { work: (megabits * 10.0) as u64, duration, overlap: 1.0 }),
        ..CellRecord::empty(row, block, 0)
    }
}

fn add(store: &mut Store, environment: &Environment, plan: &Plan, megabits: f64, state: State) {
    let document = btu_contract::json::to_value(&plan).unwrap();
    let new = NewRun {
        study: "rate",
        profile: &plan.profile.name,
        network: "veth",
        label: None,
        tags: &["fair".to_owned()],
        created: "2026-11-21T04:31:08Z",
        seed: 1,
        btu_version: "0.1.0",
        plan: &document,
        plan_hash: &plan.hash(),
        planned_cells: 9,
    };
    let lock = store.create_run(&new).unwrap();
    store
        .save_environment(
            &lock,
            Moment::Before,
            &btu_contract::json::to_value(&environment).unwrap(),
        )
        .unwrap();
    for (position, row) in (0u32..).zip(plan.rows()) {
        for block in 0..3 {
            store
                .save(&lock, plan, &CellRecord { position, ..cell(row, block, megabits) })
                .unwrap();
        }
    }
    store.finish(&lock, state, "2026-11-21T04:34:08Z").unwrap();
}

/// Three machines; the second has three runs, and there is an interrupted and a quick one.
fn laboratory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
    let [fast, middle, slow] = ["Fast 1", "Middle 2", "Slow 3"].map(machine);
    let standard = plan(Profile::standard());
    add(&mut store, &slow, &standard, 10.0, State::Complete);
    for megabits in [100.0, 101.0, 102.0] {
        add(&mut store, &middle, &standard, megabits, State::Complete);
    }
    add(&mut store, &fast, &standard, 1000.0, State::Complete);
    add(&mut store, &fast, &standard, 5.0, State::Interrupted);
    add(&mut store, &fast, &plan(Profile::quick()), 990.0, State::Complete);
    directory
}

#[test]
fn machines_stand_in_order_and_plans_apart() {
    let laboratory = laboratory();
    let ranking = json(laboratory.path(), &["rank", "--tag", "fair"]);
    let places = ranking["lists"][0]["places"].as_array().unwrap();
    assert_eq!(ranking["lists"].as_array().unwrap().len(), 2, "{ranking}");
    let order: Vec<&str> = places
        .iter()
        .map(|place| {
            ranking["machines"][place["machine"].as_str().unwrap()]["processor"].as_str().unwrap()
        })
        .collect();
    assert_eq!(order, ["Fast 1", "Middle 2", "Slow 3"]);
    let ranks: Vec<u64> = places.iter().map(|place| place["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [1, 2, 3]);
    assert_eq!(places[1]["runs"].as_array().unwrap().len(), 3);
    // 100 Mb/s: 1000 rounds in 0.1 s, the geometric mean over the three runs.
    assert!(
        (places[1]["cpu_rounds_per_second"].as_f64().unwrap() - 10_100.0).abs() < 1.0,
        "{places:?}"
    );
    assert_eq!(ranking["left_out"][0]["run"], "r6");
}

#[test]
fn only_what_was_asked_for_is_ranked() {
    let laboratory = laboratory();
    let quick = json(laboratory.path(), &["rank", "--profile", "quick"]);
    assert_eq!(quick["lists"].as_array().unwrap().len(), 1);
    let with = json(laboratory.path(), &["rank", "--with", "btu95"]);
    assert_eq!(with["machines_of_1995"][0]["machine"], "DEC");
}

#[test]
fn a_price_is_kept_and_shown() {
    let laboratory = laboratory();
    let ranking = json(laboratory.path(), &["rank"]);
    let fast = ranking["lists"][0]["places"][0]["machine"].as_str().unwrap();
    let set = btu(
        laboratory.path(),
        &["runs", "machine", "set", fast, "--name", "attic", "--price", "2000 EUR"],
    );
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let text = String::from_utf8(btu(laboratory.path(), &["rank"]).stdout).unwrap();
    let line = text.lines().find(|line| line.contains("attic")).unwrap();
    assert!(
        line.contains("2000 EUR") && line.trim_end().ends_with("EUR      2.00"),
        "1000 Mb/s for 2000 EUR: {line}"
    );
    let listed = json(laboratory.path(), &["runs", "machine", "list"]);
    assert_eq!(listed["machines"][fast]["name"], "attic");
    assert!(listed["machines"].as_object().unwrap().contains_key(listed["this"].as_str().unwrap()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let laboratory = laboratory();
    let refused = |arguments: &[&str], word: &str| {
        let output = btu(laboratory.path(), arguments);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
        assert!(line.contains(word), "{arguments:?}: {line}");
    };
    assert!(btu(laboratory.path(), &["runs", "machine", "set", "--name", "here"]).status.success());
    refused(
        &["runs", "machine", "set", "nowhere", "--price", "1 EUR"],
        "there is no machine `nowhere`",
    );
    refused(&["runs", "machine", "set", "--price", "cheap"], "1200 EUR");
    refused(&["runs", "machine", "set"], "--name");
    refused(&["rank", "--tag", "other"], "no run has the tag `other`");
    let other = json(laboratory.path(), &["rank"])["lists"][0]["places"][0]["machine"].clone();
    refused(&["runs", "machine", "set", other.as_str().unwrap(), "--name", "here"], "belongs to");
}
