//! `--resume` on another machine than the run was begun on.

use rusqlite::Connection;

use crate::common::Laboratory;
use crate::support::text;

/// With `--force` the rest is measured, and the run keeps the warning.
#[test]
fn what_is_forced_is_measured_and_keeps_the_warning() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let row = ["--component", "SEND", "--message", "65536", "--load", "idle", "--quiet"];
    let begun = laboratory.rate(&row);
    assert!(begun.status.success(), "{}", text(&begun.stderr));
    let cells = laboratory.stored_cells();
    break_off_elsewhere(&laboratory, "block > 0");
    let refused = laboratory.rate(&["--resume", "latest", "--quiet"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert_eq!(laboratory.stored_cells(), 1);
    let forced = laboratory.rate(&["--resume", "latest", "--quiet", "--force"]);
    assert!(forced.status.success(), "{}", text(&forced.stderr));
    assert!(laboratory.stored_cells() >= cells.min(3), "{} cells", laboratory.stored_cells());
    let shown = resumed_elsewhere(&laboratory);
    let obstacles = shown["result"]["obstacles"].as_array().expect("obstacles");
    assert!(obstacles.contains(&"resumed-elsewhere".into()), "{obstacles:?}");
    laboratory.assert_down();
}

/// Changes the newest run as if it had been interrupted on another machine, before these cells.
fn break_off_elsewhere(laboratory: &Laboratory, cells: &str) {
    let elsewhere = format!(
        "UPDATE runs SET state = 'interrupted', finished = NULL; DELETE FROM cells WHERE {cells};
        DELETE FROM environments WHERE moment = 'after';
        UPDATE environments SET document = json_set(document, '$.processor.model', 'Somebody Else 9000');"
    );
    Connection::open(laboratory.database())
        .and_then(|file| file.execute_batch(&elsewhere))
        .expect("a database of runs");
}

/// The output for the newest run, with the warning that it was resumed on another machine.
fn resumed_elsewhere(laboratory: &Laboratory) -> serde_json::Value {
    let shown = laboratory.json(&["show", "latest"]);
    let said = shown["resumed_elsewhere"].as_array().expect("sentences");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].as_str().expect("a sentence").contains("Somebody Else 9000"), "{said:?}");
    shown
}

/// A signature and a study of scripted cells are no exceptions.
#[test]
fn what_is_forced_of_signatures_and_studies_keeps_the_warning_too() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let pipe = ["pipe", "--precision", "quick", "--sizes", "1,16", "--quiet"];
    let speed = ["speed", "--network", "10 Mb/s", "--profile", "quick", "-t", "200 ms", "--quiet"];
    for (begin, cells) in [(&pipe[..], "message_bytes > 1"), (&speed, "position > 0 OR block > 0")]
    {
        let run = |arguments: &[&str]| laboratory.command(arguments).output().expect("btu runs");
        let begun = run(begin);
        assert!(begun.status.success(), "{}", text(&begun.stderr));
        let whole = laboratory.stored_cells();
        break_off_elsewhere(&laboratory, cells);
        let left = laboratory.stored_cells();
        assert!(left < whole, "{left} of {whole}");
        let resume = [begin[0], "--resume", "latest", "--quiet"];
        assert_eq!(run(&resume).status.code(), Some(3), "{begin:?}");
        assert_eq!(laboratory.stored_cells(), left);
        let forced = run(&[&resume[..], &["--force"]].concat());
        assert!(forced.status.success(), "{}", text(&forced.stderr));
        assert_eq!(laboratory.stored_cells(), whole, "{begin:?}");
        resumed_elsewhere(&laboratory);
    }
    laboratory.assert_down();
}
