//! `btu tag`, `rm`, `export` and `import` as users call them.

use std::process::{Command, Stdio};

use btu_suite::network::Network;
use rusqlite::Connection;

use crate::shelf::{Shelf, plan};

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
    let (code, out, _) = shelf.btu(&["tag", "r1", "nightly", "lab"]);
    assert_eq!((code, out.as_str()), (Some(0), "r1: lab, nightly\n"));
    let (_, out, _) = shelf.btu(&["runs", "--tag", "nightly"]);
    assert!(out.contains("#lab #nightly") && out.contains("r1 ") && !out.contains("r2 "), "{out}");
    assert_eq!(shelf.json(&["runs", "--tag", "lab"]).as_array().map(Vec::len), Some(1));
    assert_eq!(
        shelf.json(&["tag", "r1", "lab", "--remove"])["tags"],
        serde_json::json!(["nightly"])
    );
    let (_, out, _) = shelf.btu(&["runs", "--tag", "lab"]);
    assert!(out.starts_with("No run has the tag `lab`"), "{out}");
    let (code, _, errors) = shelf.btu(&["tag", "r1", "two words"]);
    assert!(code == Some(2) && errors.contains("is no tag"), "{errors}");
    let (code, _, errors) = shelf.btu(&["rate", "--tag", "two words"]);
    assert!(code == Some(2) && errors.contains("is no tag"), "{errors}");
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let shelf = shelf(3);
    let (code, _, errors) = shelf.btu(&["rm", "r1", "r2"]);
    assert!(
        code == Some(2) && errors.contains("deleting r1, r2 needs a terminal to ask on, or --yes"),
        "{errors}"
    );
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
    let (code, _, errors) = shelf.btu(&["rm", "r1", "r9", "--yes"]);
    assert!(code == Some(2) && errors.contains("r9"), "{errors}");
    assert_eq!(
        shelf.json(&["rm", "r2", "r1", "r2", "--yes"])["deleted"],
        serde_json::json!([1, 2])
    );
    assert_eq!(shelf.json(&["runs"])[0]["id"], 3);
}

#[test]
fn runs_move_to_another_shelf() {
    let (from, to) = (shelf(2), shelf(1));
    from.btu(&["tag", "r1", "nightly"]);
    let (code, out, errors) = from.btu(&["export", "tag:nightly", "r2", "-o", "runs.btu"]);
    assert!(code == Some(0) && out.starts_with("exported r1, r2 to runs.btu, "), "{out}{errors}");
    let file = from.path("runs.btu").display().to_string();
    let (code, out, errors) = to.btu(&["import", &file]);
    assert_eq!((code, out.as_str()), (Some(0), "r2  imported\nr3  imported\n"), "{errors}");
    let again = to.json(&["import", &file]);
    assert_eq!(
        (&again[0]["new"], &again[1]["run"]),
        (&serde_json::json!(false), &serde_json::json!(3))
    );
    let [there, here] = [from.json(&["show", "r1"]), to.json(&["show", "r2"])];
    assert_eq!(there["result"], here["result"]);
    assert_eq!(there["run"]["uuid"], here["run"]["uuid"]);
    let (code, _, errors) = from.btu(&["export", "r1", "-o", "runs.btu"]);
    assert!(code == Some(2) && errors.contains("is there already"), "{errors}");
    let (code, _, errors) = from.btu(&["export", "r1", "-o", "no/such/place.btu"]);
    assert!(
        code == Some(3) && errors.contains("writing no/such/place.btu: No such file"),
        "{errors}"
    );
}

/// `ssh host btu export tag:nightly | btu import -`
#[test]
fn runs_move_by_standard_streams() {
    let (from, to) = (shelf(2), shelf(1));
    from.btu(&["tag", "r1", "nightly"]);
    for arguments in [&["export", "tag:nightly", "r2"][..], &["export", "r1", "r2", "-o", "-"]] {
        let mut export = Command::new(env!("CARGO_BIN_EXE_btu"));
        let mut export = export
            .args(arguments)
            .env("BTU_DATA", from.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("btu");
        let mut import = Command::new(env!("CARGO_BIN_EXE_btu"));
        import
            .args(["import", "-", "--json"])
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
    let (code, _, errors) = to.btu(&["import", "-"]);
    assert!(code == Some(2) && errors.contains("standard input"), "nothing came: {errors}");
}

#[test]
fn what_cannot_be_imported_is_said_in_one_line() {
    let shelf = shelf(1);
    shelf.btu(&["export", "r1", "-o", "whole.btu"]);
    shelf.btu(&["rm", "r1", "--yes"]);
    let whole = std::fs::read(shelf.path("whole.btu")).unwrap();
    std::fs::write(shelf.path("half.btu"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(shelf.path("text.btu"), "hello").unwrap();
    for (file, word) in [
        ("half.btu", "cut short"),
        ("text.btu", "no archive of btu runs"),
        ("nowhere.btu", "No such file"),
        ("runs.sqlite", "no archive of btu runs"),
    ] {
        let (code, out, errors) = shelf.btu(&["import", file]);
        assert_eq!(
            (code, out.as_str(), errors.lines().count()),
            (Some(2), "", 1),
            "{file}: {errors}"
        );
        assert!(errors.contains(word), "{errors}");
    }
    assert_eq!(shelf.json(&["runs"]), serde_json::json!([]));
    let (code, _, errors) = shelf.btu(&["export", "r1", "-o", "x"]);
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
            && lines[5].contains("`btu rm r2 --yes` deletes this one"),
        "{out}"
    );
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
    let (code, _, errors) = shelf.btu(&["show", "r2"]);
    assert!(code == Some(1) && errors.contains("its environment is no JSON"), "{errors}");
    let left_out = &shelf.json(&["rank"])["left_out"];
    assert!(left_out.to_string().contains("r2"), "{left_out}");
    let (code, out, errors) = shelf.btu(&["machine", "list"]);
    assert!(code == Some(0) && !out.is_empty() && errors.contains("run r2"), "{out}{errors}");
    assert_eq!(shelf.btu(&["rm", "r2", "--yes"]).0, Some(0));
    assert_eq!(shelf.btu(&["runs"]).1.lines().count(), 4);
}

#[test]
fn a_label_does_nothing_to_a_terminal() {
    let shelf = Shelf::new();
    for label in ["\u{202e}tsrif", "a\nb", "\u{1b}[2J"] {
        let (code, _, errors) = shelf.btu(&["rate", "--label", label]);
        assert!(code == Some(2) && errors.contains("is no label"), "{errors}");
    }
}
