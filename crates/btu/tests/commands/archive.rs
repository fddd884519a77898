//! `btu runs tag`, `rm`, `export` and `import` as users call them.

use std::process::{Command, Stdio};
use std::sync::LazyLock;

use btu_contract::experiment::{Columns, Named};
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_contract::record::Failure;
use btu_store::{Level, Moment, NewRun, RunId, State, Store};
use btu_studies::rate::{CellRecord, Plan};
use btu_units::{Bytes, Span};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::Value;

use crate::fuzz::{seeds, study};
use crate::shelf::{Shelf, made, plan};

/// A shelf with this number of runs.
fn shelf(runs: usize) -> Shelf {
    let mut shelf = Shelf::new();
    for _ in 0..runs {
        shelf.run(&plan(Network::Veth), &[9.0, 9.1, 9.2]);
    }
    shelf
}

#[test]
fn runs_are_found_by_their_tags() {
    let shelf = shelf(2);
    let (code, out, _) = shelf.btu(&["runs", "tag", "r1", "nightly", "lab"]);
    assert_eq!((code, out.as_str()), (Some(0), "r1: lab, nightly\n"));
    let (_, out, _) = shelf.btu(&["runs", "--tag", "nightly"]);
    assert!(out.contains("#lab #nightly") && out.contains("r1 ") && !out.contains("r2 "), "{out}");
    assert_eq!(shelf.json(&["runs", "--tag", "lab"]).as_array().map(Vec::len), Some(1));
    assert_eq!(
        shelf.json(&["runs", "tag", "r1", "lab", "--remove"])["tags"],
        serde_json::json!(["nightly"])
    );
    let (_, out, _) = shelf.btu(&["runs", "--tag", "lab"]);
    assert!(out.starts_with("No run has the tag `lab`"), "{out}");
    let (code, _, errors) = shelf.btu(&["runs", "tag", "r1", "two words"]);
    assert!(code == Some(2) && errors.contains("is not a tag"), "{errors}");
    let (code, _, errors) = shelf.btu(&["rate", "--tag", "two words"]);
    assert!(code == Some(2) && errors.contains("is not a tag"), "{errors}");
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let shelf = shelf(3);
    let (code, _, errors) = shelf.btu(&["runs", "rm", "r1", "r2"]);
    assert!(
        code == Some(2) && errors.contains("deleting r1, r2 needs a terminal to ask on, or --yes"),
        "{errors}"
    );
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
    let (code, _, errors) = shelf.btu(&["runs", "rm", "r1", "r9", "--yes"]);
    assert!(code == Some(2) && errors.contains("r9"), "{errors}");
    assert_eq!(
        shelf.json(&["runs", "rm", "r2", "r1", "r2", "--yes"])["deleted"],
        serde_json::json!([1, 2])
    );
    assert_eq!(shelf.json(&["runs"])[0]["id"], 3);
}

#[test]
fn runs_move_to_another_shelf() {
    let (from, to) = (shelf(2), shelf(1));
    from.btu(&["runs", "tag", "r1", "nightly"]);
    let (code, out, errors) = from.btu(&["runs", "export", "tag:nightly", "r2", "-o", "runs.btu"]);
    assert!(code == Some(0) && out.starts_with("exported r1, r2 to runs.btu, "), "{out}{errors}");
    let file = from.path("runs.btu").display().to_string();
    let (code, out, errors) = to.btu(&["runs", "import", &file]);
    assert_eq!((code, out.as_str()), (Some(0), "r2  imported\nr3  imported\n"), "{errors}");
    let again = to.json(&["runs", "import", &file]);
    assert_eq!(
        (&again[0]["new"], &again[1]["run"]),
        (&serde_json::json!(false), &serde_json::json!(3))
    );
    let [there, here] = [from.json(&["show", "r1"]), to.json(&["show", "r2"])];
    assert_eq!(there["result"], here["result"]);
    assert_eq!(there["run"]["uuid"], here["run"]["uuid"]);
    let (code, _, errors) = from.btu(&["runs", "export", "r1", "-o", "runs.btu"]);
    assert!(code == Some(2) && errors.contains("is there already"), "{errors}");
    let (code, _, errors) = from.btu(&["runs", "export", "r1", "-o", "no/such/place.btu"]);
    assert!(
        code == Some(3) && errors.contains("writing no/such/place.btu: No such file"),
        "{errors}"
    );
}

/// `ssh host btu runs export tag:nightly | btu runs import -`
#[test]
fn runs_move_by_standard_streams() {
    let (from, to) = (shelf(2), shelf(1));
    from.btu(&["runs", "tag", "r1", "nightly"]);
    for arguments in
        [&["runs", "export", "tag:nightly", "r2"][..], &["runs", "export", "r1", "r2", "-o", "-"]]
    {
        let mut export = Command::new(env!("CARGO_BIN_EXE_btu"));
        let mut export = export
            .args(arguments)
            .env("BTU_DATA", from.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("btu");
        let mut import = Command::new(env!("CARGO_BIN_EXE_btu"));
        import
            .args(["runs", "import", "-", "--json"])
            .env("BTU_DATA", to.path("."))
            .stdin(export.stdout.take().expect("its output"));
        let import = import.output().expect("btu");
        assert!(
            export.wait().expect("btu").success() && import.status.success(),
            "{}",
            String::from_utf8_lossy(&import.stderr)
        );
        let imported: serde_json::Value = serde_json::from_slice(&import.stdout).expect("JSON");
        assert_eq!(
            (&imported[0]["run"], &imported[1]["run"]),
            (&serde_json::json!(2), &serde_json::json!(3))
        );
    }
    assert_eq!(from.json(&["show", "r1"])["result"], to.json(&["show", "r2"])["result"]);
    assert!(
        std::fs::read_dir(to.path(".")).unwrap().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("part"))
    );
    let (code, _, errors) = to.btu(&["runs", "import", "-"]);
    assert!(code == Some(2) && errors.contains("standard input"), "nothing came: {errors}");
}

#[test]
fn what_cannot_be_imported_is_said_in_one_line() {
    let shelf = shelf(1);
    shelf.btu(&["runs", "export", "r1", "-o", "whole.btu"]);
    shelf.btu(&["runs", "rm", "r1", "--yes"]);
    let whole = std::fs::read(shelf.path("whole.btu")).unwrap();
    std::fs::write(shelf.path("half.btu"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(shelf.path("text.btu"), "hello").unwrap();
    for (file, word) in [
        ("half.btu", "cut short"),
        ("text.btu", "not a file that can be imported"),
        ("nowhere.btu", "No such file"),
        ("runs.sqlite", "not a file that can be imported"),
    ] {
        let (code, out, errors) = shelf.btu(&["runs", "import", file]);
        assert_eq!(
            (code, out.as_str(), errors.lines().count()),
            (Some(2), "", 1),
            "{file}: {errors}"
        );
        assert!(errors.contains(word), "{errors}");
    }
    assert_eq!(shelf.json(&["runs"]), serde_json::json!([]));
    let (code, _, errors) = shelf.btu(&["runs", "export", "r1", "-o", "x"]);
    assert!(
        code == Some(2) && errors.contains("no run `r1`") && !shelf.path("x").exists(),
        "{errors}"
    );
}

/// Data that an older btu imported, or that a disk lost, make only their own run unreadable.
#[test]
fn a_run_that_cannot_be_read_is_one_line_among_the_others() {
    let shelf = shelf(3);
    let connection = Connection::open(shelf.path("runs.sqlite")).unwrap();
    connection
        .execute("UPDATE environments SET document = '{\"a\":1e999}' WHERE run = 2", [])
        .unwrap();
    let (code, out, errors) = shelf.btu(&["runs"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines.len() == 6 && lines[3].starts_with("r2 ") && !out.contains("start anew"),
        "{out}"
    );
    assert!(
        lines[5].starts_with("run r2 in ")
            && lines[5].contains("`btu runs rm r2 --yes` deletes this one"),
        "{out}"
    );
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
    let (code, _, errors) = shelf.btu(&["show", "r2"]);
    assert!(code == Some(1) && errors.contains("its environment is no JSON"), "{errors}");
    let left_out = &shelf.json(&["rank"])["left_out"];
    assert!(left_out.to_string().contains("r2"), "{left_out}");
    let (code, out, errors) = shelf.btu(&["runs", "machine", "list"]);
    assert!(code == Some(0) && !out.is_empty() && errors.contains("run r2"), "{out}{errors}");
    assert_eq!(shelf.btu(&["runs", "rm", "r2", "--yes"]).0, Some(0));
    assert_eq!(shelf.btu(&["runs"]).1.lines().count(), 4);
}

#[test]
fn a_label_does_nothing_to_a_terminal() {
    let shelf = Shelf::new();
    for label in ["\u{202e}tsrif", "a\nb", "\u{1b}[2J"] {
        let (code, _, errors) = shelf.btu(&["rate", "--label", label]);
        assert!(code == Some(2) && errors.contains("is not a label"), "{errors}");
    }
}

const CREATED: &str = "2026-11-21T04:31:08Z";

/// Stores a run of each study, in each of which programs, machines and errors say `text`.
fn said_everywhere(store: &mut Store, text: &str) -> Vec<RunId> {
    let of_one = |seed: seeds::StudySeed| {
        let (study, plan) = (seed.study.study(), seed.plan.to_string());
        let read = seed.study.plan(&plan).unwrap();
        let hash = read.hash().unwrap();
        let printed = serde_json::json!({"text": text, "all_bytes": text.len()});
        let program = serde_json::json!({
            "name": "get", "station": "test", "part": "measured", "ending": {"not-started": text},
            "started_ns": 0, "finished_ns": 1, "cpu": {"user_ns": 0, "system_ns": 0}, "peak_memory_bytes": 0,
            "least_memory_bytes": 0, "voluntary_switches": 0, "involuntary_switches": 0, "output": printed,
            "errors": printed, "left_running": 0,
        });
        let mut record: serde_json::Value = serde_json::from_slice(&seed.record()).unwrap();
        record["faults"] = serde_json::json!([text]);
        record["programs"] = serde_json::json!([program]);
        let record = record.to_string();
        let columns = read.cells(None).unwrap().add(&record).unwrap();
        let new = NewRun {
            study,
            profile: "quick",
            network: "path",
            label: None,
            tags: &[],
            created: CREATED,
            seed: 7,
            btu_version: "0.1.0",
            plan: &seed.plan,
            plan_hash: &hash,
            planned_cells: 1,
        };
        let lock = store.create_run(&new).unwrap();
        let machine = serde_json::json!({"kernel": {"command_line": [text]}});
        store.save_environment(&lock, Moment::Before, &machine).unwrap();
        store.save_event(&lock, CREATED, Level::Warning, text).unwrap();
        store.save_record(&lock, &columns, &record).unwrap();
        store.finish(&lock, State::Complete, CREATED).unwrap();
        lock.run()
    };
    seeds::studies().into_iter().map(of_one).collect()
}

/// Archives' lines of a run of each study without scripts: the rating, signatures, HINT, roll calls.
static OTHER_STUDIES: LazyLock<Vec<Vec<Value>>> = LazyLock::new(|| {
    let lines = |seed: Vec<u8>| -> Vec<Value> {
        let text = String::from_utf8(seed).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = seeds::of("import_and_show").into_iter().map(lines);
    let scripted: Vec<&str> = seeds::studies().iter().map(|seed| seed.study.study()).collect();
    all.filter(|lines| !scripted.contains(&lines[0]["run"]["study"].as_str().unwrap())).collect()
});

/// Stores such a run, in which machines, errors and hosts say `text`.
fn said_by_another_study(store: &mut Store, lines: &[Value], text: &str) -> RunId {
    let run = &lines[0]["run"];
    let word = |name: &str| run[name].as_str().unwrap();
    let new = NewRun {
        study: word("study"),
        profile: word("profile"),
        network: word("network"),
        label: None,
        tags: &[],
        created: CREATED,
        seed: 7,
        btu_version: "0.1.0",
        plan: &run["plan"],
        plan_hash: word("plan_hash"),
        planned_cells: 1,
    };
    let lock = store.create_run(&new).unwrap();
    let machine = serde_json::json!({"kernel": {"command_line": [text]}});
    store.save_environment(&lock, Moment::After, &machine).unwrap();
    store.save_event(&lock, CREATED, Level::Warning, text).unwrap();
    for cell in lines.iter().map(|line| &line["cell"]).filter(|cell| cell.is_object()) {
        let mut record = cell["record"].clone();
        if let Some(host) = record.pointer_mut("/hosts/1") {
            *host = serde_json::json!({"name": "beta", "reached": text, "trouble": text});
        }
        let number = |name: &str| cell[name].as_u64().unwrap();
        let columns = Columns {
            block: number("block") as u32,
            position: number("position") as u32,
            component: cell["component"].as_str().unwrap().to_owned(),
            message: Bytes::new(number("message_bytes")),
            load: Load::Idle.name(),
            valid: cell["valid"] == true,
            goodput_bits_per_second: cell["goodput_bits_per_second"].as_f64(),
            duration: cell["duration_ns"].as_u64().map(Span::from_nanoseconds),
            host_duration: None,
        };
        if new.study == Plan::STUDY {
            let plan: Plan = serde_json::from_value(run["plan"].clone()).unwrap();
            store.save_calibration(&lock, &made::calibration(&plan)).unwrap();
            let mut record: CellRecord = serde_json::from_value(record).unwrap();
            record.reports[0].result = Err(Failure::Failed { message: text.to_owned() });
            store.save(&lock, &plan, &made::derived(&plan, record)).unwrap();
            continue;
        }
        store.save_record(&lock, &columns, &record.to_string()).unwrap();
    }
    store.finish(&lock, State::Complete, CREATED).unwrap();
    lock.run()
}

/// All that is stored of the runs, as it is exported.
fn exported(store: &Store, runs: &[RunId]) -> Vec<u8> {
    store.export(runs, Vec::new()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever programs, machines, hosts and errors say, in runs of every study: what is stored is
    /// exported, imported and exported again octet by octet.
    #[test]
    fn what_was_stored_is_exported_and_imported(text in "[\0-\u{a0}\u{2020}-\u{2070}\\\\\"]{0,60}|\\PC{0,60}|(\r?\n|\r|\u{1b}\\[31m|[a-z]){0,20}") {
        let directory = tempfile::tempdir().unwrap();
        let [mut from, mut to] =
            ["from", "to"].map(|name| Store::open(directory.path().join(name)).unwrap());
        let mut runs = said_everywhere(&mut from, &text);
        for lines in OTHER_STUDIES.iter() {
            runs.push(said_by_another_study(&mut from, lines, &text));
        }
        prop_assert_eq!(OTHER_STUDIES.len(), 5);
        let archive = exported(&from, &runs);
        let imported = to.import(std::io::Cursor::new(&archive), study).unwrap();
        let there: Vec<RunId> = imported.iter().map(|run| run.run).collect();
        prop_assert_eq!(imported.len(), runs.len());
        prop_assert_eq!(exported(&to, &there), archive);
        for run in there {
            let shown = &to.run(&run.to_string()).unwrap().events[0].text;
            prop_assert!(!shown.contains(|c: char| c != '\n' && c != '\t' && btu_units::controls(c)), "{:?}", shown);
        }
    }
}

/// Another program may have written anything into a database: it is cleaned where it is read, shown
/// and exported.
#[test]
fn what_another_program_stored_is_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let runs = said_everywhere(&mut store, "RED");
    let connection = Connection::open(&path).unwrap();
    for (table, column) in [("events", "text"), ("environments", "document")] {
        let clean: String = connection
            .query_row(&format!("SELECT max({column}) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        let set = format!("UPDATE {table} SET {column} = ?1");
        connection.execute(&set, [clean.replace("RED", "\u{9b}31mred\u{202e}")]).unwrap();
    }
    assert_eq!(store.run(&runs[0].to_string()).unwrap().events[0].text, "?31mred?");
    let mut other = Store::open(directory.path().join("other")).unwrap();
    let archive = exported(&store, &runs[..1]);
    assert_eq!(other.import(std::io::Cursor::new(archive), study).unwrap().len(), 1);
}

/// What no btu would import is not begun.
#[test]
fn a_run_that_could_not_be_imported_is_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
    let new = NewRun {
        study: "none",
        profile: "none",
        network: "none",
        label: None,
        tags: &[],
        created: CREATED,
        seed: 7,
        btu_version: "0.1.0",
        plan: &serde_json::Value::Null,
        plan_hash: "none",
        planned_cells: 1,
    };
    let command = serde_json::json!({"order": {"command": ["sh", "-c", "echo a\necho b"]}});
    store.create_run(&NewRun { plan: &command, ..new.clone() }).expect("two lines are a command");
    let evil = serde_json::json!({"order": {"command": ["\u{1b}[2J"]}});
    let lines = serde_json::json!({"name": "a\nb"});
    for (new, word) in [
        (NewRun { network: "a\nb", ..new.clone() }, "is not a name"),
        (NewRun { study: "../x", ..new.clone() }, "is not a name"),
        (NewRun { created: "now", ..new.clone() }, "is not a time"),
        (NewRun { plan: &evil, ..new.clone() }, "would control a terminal"),
        (NewRun { plan: &lines, ..new }, "several lines"),
    ] {
        let refused = store.create_run(&new).expect_err(word).to_string();
        assert!(refused.contains(word) && refused.lines().count() == 1, "{refused}");
    }
}

/// What a run says of itself in lists is what its plan says.
#[test]
fn a_head_that_contradicts_its_plan_is_refused() {
    for seed in seeds::of("import_and_show") {
        let seed = String::from_utf8(seed).unwrap();
        let is_planned = ["rate", "app", "copy", "lan", "run", "speed"]
            .iter()
            .any(|study| seed.contains(&format!("\"study\":\"{study}\"")));
        let changed = |from: &str, to: &str| {
            let changed = seed.replacen(from, to, 1);
            assert_ne!(changed, seed, "{from}");
            crate::fuzz::imported(changed.as_bytes())
        };
        assert_eq!(crate::fuzz::imported(seed.as_bytes()), Some(1));
        for (from, to) in [
            ("\"study\":\"", "\"study\":\"../"),
            ("\"created\":\"2026-01-01T", "\"created\":\"9999-99-99T"),
            ("\"finished\":\"2026-01-01T00:00:00Z", "\"finished\":\"tomorrow"),
        ] {
            assert_eq!(changed(from, to), None, "{to}: {seed}");
        }
        if is_planned {
            assert_eq!(changed("\"profile\":\"quick", "\"profile\":\"$(id)"), None, "{seed}");
            assert_eq!(changed("\"network\":\"", "\"network\":\"<img src=x>"), None, "{seed}");
            assert_eq!(changed("\"seed\":\"7", "\"seed\":\"8"), None, "{seed}");
        }
    }
}
