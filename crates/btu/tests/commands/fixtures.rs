//! Stored runs of every suite: each is read, shown, reported, and exported as it was imported.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::shelf::btu;

fn runs(data: &Path) -> Vec<Value> {
    serde_json::from_slice(&btu(data, &["runs", "--json"])).expect("a list")
}

/// The name of a run, and everything that follows from its cells.
fn results(data: &Path) -> Vec<(String, Value)> {
    let named = |run: &Value| {
        let shown = btu(data, &["show", &format!("r{}", run["id"]), "--json"]);
        let mut shown: Value = serde_json::from_slice(&shown).expect("JSON");
        (run["uuid"].as_str().expect("a name").to_owned(), shown["result"].take())
    };
    let mut all: Vec<_> = runs(data).iter().map(named).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn runs_of_every_suite_are_shown_reported_and_copied() {
    let (one, other) = (tempfile::tempdir().expect("new"), tempfile::tempdir().expect("new"));
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/fixtures");
    for archive in fs::read_dir(archives).expect("the archives").map(|entry| entry.expect("one")) {
        btu(one.path(), &["runs", "import", &archive.path().display().to_string()]);
    }
    let mut suites: Vec<String> = Vec::new();
    for run in runs(one.path()) {
        let name = format!("r{}", run["id"]);
        for arguments in [&["show", &name, "--all"][..], &["show", &name, "--cells"]] {
            assert!(!btu(one.path(), arguments).is_empty(), "{arguments:?}");
        }
        for format in ["html", "markdown", "csv", "raw"] {
            btu(one.path(), &["report", &name, "--format", format, "--output", "-"]);
        }
        let copy = one.path().join("copy.btu");
        fs::write(&copy, btu(one.path(), &["runs", "export", &name])).expect("a file");
        btu(other.path(), &["runs", "import", &copy.display().to_string()]);
        suites.push(run["suite"].as_str().expect("a suite").to_owned());
    }
    assert!(results(one.path()) == results(other.path()), "a copy gives the same results");
    suites.sort();
    suites.dedup();
    assert_eq!(
        suites,
        ["app", "btu", "copy", "hint", "lan", "pipe", "pipe-layers", "pipe-load", "run", "speed"]
    );
}
