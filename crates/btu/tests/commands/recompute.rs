//! Every number of a rating is a function of the run's own cells, wherever it is stored.

use std::path::Path;

use btu_contract::network::Network;
use serde_json::Value;

use crate::recompute_cells::check;
use crate::shelf::{Shelf, btu, plan};

/// A run with a few rows.
const RATING: &[u8] = include_bytes!("fixtures/rating-with-known-costs.btu");

fn json(data: &Path, arguments: &[&str]) -> Value {
    serde_json::from_slice(&btu(data, &[arguments, &["--json"]].concat())).expect("JSON")
}

/// Checks every rating that is stored there; returns how many numbers were compared.
fn check_all(data: &Path) -> usize {
    let runs = json(data, &["runs"]);
    let ours = runs.as_array().expect("runs").iter().filter(|run| run["study"] == "rate");
    let names = ours.map(|run| format!("r{}", run["id"]));
    names
        .map(|run| {
            let shown = json(data, &["show", &run]);
            check(&shown["result"], &json(data, &["show", &run, "--cells"]))
        })
        .sum()
}

fn imported(archive: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("archive");
    std::fs::write(&file, archive).expect("a file");
    btu(directory.path(), &["runs", "import", &file.display().to_string()]);
    directory
}

#[test]
fn a_stored_run_shows_what_its_cells_give() {
    // Four loaded rows, four idle ones, their means, and two slowdowns.
    assert_eq!(check_all(imported(RATING).path()), 12);
}

#[test]
fn a_run_shows_the_same_in_every_database() {
    let first = imported(RATING);
    let second = imported(&btu(first.path(), &["runs", "export", "r1"]));
    let shown = |directory: &tempfile::TempDir| btu(directory.path(), &["show", "r1", "--json"]);
    assert!(shown(&first) == shown(&second), "byte by byte");
    // Among three other runs of its plan, and alone.
    let mut shelf = Shelf::new();
    for rates in [[9.0, 9.1, 9.2], [5.0, 5.1, 5.2], [3.0, 3.1, 3.2], [9.0, 8.0, 7.0]] {
        shelf.apart(&plan(Network::Veth), &rates, &[60, 300]);
    }
    let alone = imported(&btu(shelf.directory.path(), &["runs", "export", "r4"]));
    let result = |data: &Path, run: &str| json(data, &["show", run])["result"].to_string();
    assert_eq!(result(shelf.directory.path(), "r4"), result(alone.path(), "r1"));
    assert!(check_all(shelf.directory.path()) > 0);
}
