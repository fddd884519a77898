//! The published form of a run: what is in it, what is not, and that a board can check it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use btu_contract::experiment::Experiment;
use btu_contract::load::Load;
use btu_contract::network::{HostName, Machine, Machines, Network, Reached};
use btu_contract::record::{CaptureAccount, CpuTime, Failure};
use btu_control::environment::{IdleState, Interface, Processor, collect};
use btu_store::{Level, Moment, NewRun, State, Store};
use btu_studies::rate::{CellRecord, Component, Plan, Row};
use btu_units::Span;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::shelf::{Shelf, made, plan};

pub(crate) const BOARD: &str = "https://board.example.org";

/// What must not be published, wherever it stands.
const SECRET: &str = "attic-52:54:00:12:34:56-home-ada-198.51.100.7";

fn fixture(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/fixtures");
    directory.join(name).display().to_string()
}

/// The runs of an archive on a shelf of their own.
fn imported(archive: &str) -> Shelf {
    let shelf = Shelf::new();
    shelf.json(&["runs", "import", archive]);
    shelf
}

/// The published form of a run, as a file.
fn published(shelf: &Shelf, run: &str) -> PathBuf {
    let file = format!("{run}.published.gz");
    shelf.json(&["runs", "export", run, "--published", BOARD, "-o", &file]);
    shelf.path(&file)
}

fn lines(archive: &Path) -> Vec<Value> {
    let text = BufReader::new(GzDecoder::new(File::open(archive).expect("an archive")));
    text.lines().map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON")).collect()
}

#[test]
fn what_is_published_gives_the_same_result_and_is_published_the_same_again() {
    for archive in ["rating.btu", "rating-with-known-costs.btu"] {
        let own = imported(&fixture(archive));
        for run in 1..=own.json(&["runs"]).as_array().expect("runs").len() {
            let run = format!("r{run}");
            let first = published(&own, &run);
            let board = imported(&first.display().to_string());
            let again = published(&board, "r1");
            assert_eq!(lines(&first), lines(&again), "{archive} {run}");
            let [there, here] = [own.json(&["show", &run]), board.json(&["show", "r1"])];
            assert_eq!(there["result"], here["result"], "{archive} {run}");
            for field in ["uuid", "plan", "plan_hash", "seed", "created", "spent_ns"] {
                assert_eq!(there["run"][field], here["run"][field], "{field}");
            }
        }
    }
}

/// A run with the secret in every text that a user or a tool can have put there.
fn planted() -> Shelf {
    let shelf = Shelf::new();
    let mut store = Store::open(shelf.path("runs.sqlite")).expect("a database");
    let plan = whole_plan();
    let document = btu_contract::json::to_value(&plan).expect("JSON");
    let new = NewRun {
        study: btu_studies::rate::STUDY,
        profile: "quick",
        network: "veth",
        label: Some(SECRET),
        tags: &[SECRET.to_owned()],
        created: "2026-11-21T04:31:08Z",
        seed: 7,
        btu_version: "0.1.0",
        plan: &document,
        plan_hash: &plan.hash(),
        planned_cells: 20,
    };
    let lock = store.create_run(&new).expect("a run");
    let machine = environment();
    store.save_environment(&lock, Moment::Before, &machine).expect("an environment");
    store.save_environment(&lock, Moment::After, &machine).expect("an environment");
    store.save_calibration(&lock, &calibration(&plan)).expect("a calibration");
    let at = "2026-11-21T04:31:09Z";
    for (level, text) in [
        (Level::Info, SECRET.to_owned()),
        (Level::Error, SECRET.to_owned()),
        (Level::Warning, SECRET.to_owned()),
        (Level::Warning, format!("resumed elsewhere: {SECRET}: machine")),
    ] {
        store.save_event(&lock, at, level, &text).expect("an event");
    }
    for cell in cells(&plan) {
        store.save(&lock, &plan, &cell).expect("a cell");
    }
    store.finish(&lock, State::Complete, at).expect("an end");
    shelf
}

fn environment() -> Value {
    let mut machine = collect();
    machine.host = Some(SECRET.to_owned());
    machine.busy = Some(0.5);
    machine.kernel.boot = Some(SECRET.to_owned());
    machine.kernel.command_line = Some(SECRET.to_owned());
    machine.network.settings.insert(SECRET.to_owned(), SECRET.to_owned());
    machine.network.interfaces.insert(SECRET.to_owned(), interface());
    machine.processor = processor();
    machine.job = [("SLURM_JOB_NODELIST".to_owned(), SECRET.to_owned())].into();
    let mut document = btu_contract::json::to_value(&machine).expect("JSON");
    document["field_of_a_later_version"] = SECRET.into();
    document
}

fn interface() -> Interface {
    let some = || Some("fq".to_owned());
    let features = ["rx-gro".to_owned()].into();
    Interface { mtu_bytes: Some(1500), queueing: some(), kind: some(), features }
}

/// One that says everything, as no machine does.
fn processor() -> Processor {
    let some = || Some("1".to_owned());
    let state = IdleState { name: "C1".to_owned(), exit_latency_us: Some(1), disabled: false };
    Processor {
        model: some(),
        online: 2,
        allowed: some(),
        quota: some(),
        isolated: some(),
        hyper_threading: some(),
        virtual_machine: false,
        product: some(),
        frequency_driver: some(),
        governors: vec!["powersave".to_owned()],
        turbo: some(),
        idle_driver: some(),
        idle_governor: some(),
        idle_states: vec![state],
    }
}

fn calibration(plan: &Plan) -> Value {
    let mut amounts = made::calibration(plan)["amounts"].take();
    amounts["later"] = SECRET.into();
    json!({
        "amounts": amounts,
        "network_check": {"items": [{"what": SECRET, "asked": 1.0, "seen": 1.0, "allowed": [0.8, 1.2]}]},
    })
}

/// A plan with all accounts that a rating can have.
fn whole_plan() -> Plan {
    let components = [Component::Send, Component::Recv, Component::InteractiveTcp, Component::Udp];
    let loads = vec![Load::Idle, Load::Transfer];
    Plan { components: components.to_vec(), loads, ..plan(Network::Veth) }
}

/// A cell of each row; the activities of two of them failed in all ways.
fn cells(plan: &Plan) -> Vec<CellRecord> {
    let failed = |row: Row| match row {
        Row::Network { component: Component::Send, load: Load::Idle, .. } => vec![
            Failure::Failed { message: SECRET.to_owned() },
            Failure::Died { status: SECRET.to_owned() },
        ],
        Row::Network { component: Component::Recv, load: Load::Idle, .. } => {
            vec![Failure::Deadline { deadline_ns: 5 }, Failure::NotStarted]
        }
        _ => Vec::new(),
    };
    let cell = |row: Row| {
        let mut cell = made::cell(plan, row, 0, 9e6);
        for placed in &mut cell.reports {
            placed.result.as_mut().expect("it did what it was told").cpu = full_cpu();
        }
        for (placed, failure) in cell.reports.iter_mut().zip(failed(row)) {
            placed.result = Err(failure);
        }
        cell.machine.slept_ns = 1;
        cell.machine.stepped_ns = 1;
        cell.wire.late = 1;
        cell.wire.superframes = true;
        let failure = Some(SECRET.to_owned());
        cell.wire.capture = Some(CaptureAccount { frames: 1, missed: 0, failure });
        made::derived(plan, cell)
    };
    plan.rows().into_iter().map(cell).collect()
}

fn full_cpu() -> CpuTime {
    let some = Some(Span::from_nanoseconds(1));
    CpuTime { waited: some, throttled: some, ..CpuTime::default() }
}

#[test]
fn no_text_of_the_user_and_no_name_of_the_machine_is_published() {
    let own = planted();
    let archive = published(&own, "r1");
    let unpacked = lines(&archive);
    let whole = unpacked.iter().map(ToString::to_string).collect::<String>();
    assert!(!whole.contains(SECRET) && !whole.contains("attic"), "{whole}");
    let of =
        |kind: &str| -> Vec<&Value> { unpacked.iter().filter_map(|line| line.get(kind)).collect() };
    let events = of("event");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["text"], "resumed elsewhere: not published");
    let faults = of("cell").into_iter().map(|cell| cell["record"]["faults"].clone());
    let faults: Vec<Value> = faults.filter(|faults| *faults != json!([])).collect();
    assert_eq!(faults, vec![json!(["not published", "not published"]); 2]);
    let board = imported(&archive.display().to_string());
    assert_eq!(lines(&published(&board, "r1")), unpacked);
    let [there, here] = [own.json(&["show", "r1"]), board.json(&["show", "r1"])];
    for field in ["rating", "obstacles"] {
        assert_eq!(there["result"][field], here["result"][field], "{field}");
    }
    assert!(
        there["result"]["obstacles"].to_string().contains("resumed"),
        "{}",
        there["result"]["obstacles"]
    );
}

/// Names of these are data, not fields.
const MAPS: [&str; 3] = [".settings", ".mitigations", ".interfaces"];

/// The paths of a document's fields that say something.
fn paths(at: &str, value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_map = MAPS.iter().any(|map| at.ends_with(map));
                paths(&format!("{at}.{}", if is_map { "*" } else { name }), field, into);
            }
        }
        Value::Array(members) => members.iter().for_each(|member| paths(at, member, into)),
        Value::Null => {}
        Value::String(text) if text == "not published" => {}
        _ => drop(into.insert(at.to_owned())),
    }
}

fn paths_of(archive: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in lines(archive) {
        for (kind, part) in
            [("environment", "document"), ("cell", "record"), ("run", "calibration")]
        {
            line.get(kind).iter().for_each(|line| paths(kind, &line[part], &mut found));
        }
    }
    found
}

/// A new field of an environment or a record is in neither list until it is decided whether
/// it is published.
#[test]
fn every_field_is_published_or_withheld_by_a_decision() {
    let (mut stored, mut out) = (BTreeSet::new(), BTreeSet::new());
    for own in [
        imported(&fixture("rating.btu")),
        imported(&fixture("rating-with-known-costs.btu")),
        planted(),
    ] {
        for run in 1..=own.json(&["runs"]).as_array().expect("runs").len() {
            let run = format!("r{run}");
            own.json(&["runs", "export", &run, "-o", &format!("{run}.btu")]);
            stored.extend(paths_of(&own.path(&format!("{run}.btu"))));
            out.extend(paths_of(&published(&own, &run)));
        }
    }
    let decided = |path: &String| {
        format!("{} {path}\n", if out.contains(path) { "published" } else { "withheld " })
    };
    let found: String = stored.union(&out).map(decided).collect();
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/published.txt");
    if std::env::var_os("BTU_WRITE_LISTS").is_some() {
        fs::write(&list, &found).expect("the list");
    }
    let known = fs::read_to_string(list).expect("the list");
    let new: Vec<&str> = found.lines().filter(|line| !known.contains(line)).collect();
    assert!(new.is_empty(), "decide in crates/btu/src/published, then list:\n{}", new.join("\n"));
}

#[test]
fn runs_without_a_published_form_are_refused_with_a_sentence() {
    let mut shelf = Shelf::new();
    for archive in ["speed.btu", "lan.btu"] {
        shelf.json(&["runs", "import", &fixture(archive)]);
    }
    let runs = [
        ("r1", "study `speed`"),
        ("r2", "study `lan`"),
        ("r3", "real hosts"),
        ("r4", "is being written"),
    ];
    shelf.run(&on_hosts(), &[9.0]);
    let _writing = shelf.begun(("rate", "veth"), &json!({}), "0", &[]);
    for (run, word) in runs {
        let (code, out, errors) =
            shelf.btu(&["runs", "export", run, "--published", BOARD, "-o", "x.gz"]);
        assert!(code == Some(2) && out.is_empty() && errors.contains(word), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    for board in ["board", "https://me:word@board", "https://board/?x"] {
        let (code, _, errors) =
            shelf.btu(&["runs", "export", "r3", "--published", board, "-o", "x.gz"]);
        assert!(code == Some(2) && errors.contains("is no address"), "{errors}");
    }
    assert!(!shelf.path("x.gz").exists() && !shelf.path("x.gz.part").exists());
}

fn on_hosts() -> Plan {
    let host = Machine {
        station: HostName::try_from("test".to_owned()).expect("a name"),
        name: SECRET.replace(':', "-"),
        reached: Reached::Here,
        measured: [198, 51, 100, 7].into(),
    };
    plan(Network::Machines(Machines { hosts: vec![host] }))
}
