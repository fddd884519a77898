//! Stored runs of every study: each is read, shown, reported, and exported as it was imported.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Reads gauges by the parser of Prometheus' own client library (Debian: python3-prometheus-client), where it is installed:
/// each must have a finite value, and no two the same name and labels.
fn prometheus_reads(gauges: &[u8]) {
    const READ: &str = "
import math, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
samples = [one for family in families(sys.stdin.read()) for one in family.samples]
seen = {(one.name, tuple(sorted(one.labels.items()))) for one in samples}
assert len(seen) == len(samples) > 1 and all(math.isfinite(one.value) for one in samples)
";
    let python = |program: &str| {
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", program]).stdin(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    if !python("import prometheus_client").output().is_ok_and(|output| output.status.success()) {
        eprintln!("LAB SKIPPED: no prometheus_client for /usr/bin/python3");
        assert_ne!(std::env::var("BTU_LAB").as_deref(), Ok("required"), "and it is required");
        return;
    }
    let mut reader = python(READ).spawn().expect("python starts");
    reader.stdin.take().expect("piped").write_all(gauges).expect("it reads");
    let output = reader.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn runs_of_every_study_are_shown_reported_and_copied() {
    let (one, other) = (tempfile::tempdir().expect("new"), tempfile::tempdir().expect("new"));
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/fixtures");
    for archive in fs::read_dir(archives).expect("the archives").map(|entry| entry.expect("one")) {
        btu(one.path(), &["runs", "import", &archive.path().display().to_string()]);
    }
    let mut studies: Vec<String> = Vec::new();
    for run in runs(one.path()) {
        let name = format!("r{}", run["id"]);
        for arguments in [&["show", &name, "--all"][..], &["show", &name, "--cells"]] {
            assert!(!btu(one.path(), arguments).is_empty(), "{arguments:?}");
        }
        for format in ["html", "markdown", "csv", "raw"] {
            btu(one.path(), &["report", &name, "--format", format, "--output", "-"]);
        }
        prometheus_reads(&btu(one.path(), &["show", &name, "--openmetrics"]));
        let copy = one.path().join("copy.btu");
        fs::write(&copy, btu(one.path(), &["runs", "export", &name])).expect("a file");
        btu(other.path(), &["runs", "import", &copy.display().to_string()]);
        studies.push(run["study"].as_str().expect("a study").to_owned());
    }
    assert!(results(one.path()) == results(other.path()), "a copy gives the same results");
    studies.sort();
    studies.dedup();
    assert_eq!(studies, ["app", "copy", "lan", "pipe", "rate", "run", "speed"]);
}
