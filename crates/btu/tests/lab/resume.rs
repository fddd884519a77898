//! `btu rate --resume` on another machine than the run was begun on.

use rusqlite::Connection;

use crate::common::Laboratory;
use crate::support::text;

/// With `--force` the rest is measured, and the run keeps the warning.
#[test]
fn what_is_forced_is_measured_and_keeps_the_warning() {
    let Some(laboratory) = Laboratory::open() else { return };
    let row = ["--component", "SEND", "--message", "65536", "--load", "idle", "--quiet"];
    let begun = laboratory.rate(&row);
    assert!(begun.status.success(), "{}", text(&begun.stderr));
    let cells = laboratory.stored_cells();
    // As if it had broken off elsewhere, after its first block.
    let elsewhere = "UPDATE runs SET state = 'interrupted', finished = NULL; DELETE FROM cells WHERE block > 0;
        DELETE FROM environments WHERE moment = 'after';
        UPDATE environments SET document = json_set(document, '$.processor.model', 'Somebody Else 9000');";
    Connection::open(laboratory.database()).and_then(|file| file.execute_batch(elsewhere)).expect("a database of runs");
    let refused = laboratory.rate(&["--resume", "latest", "--quiet"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert_eq!(laboratory.stored_cells(), 1);
    let forced = laboratory.rate(&["--resume", "latest", "--quiet", "--force"]);
    assert!(forced.status.success(), "{}", text(&forced.stderr));
    assert!(laboratory.stored_cells() >= cells.min(3), "{} cells", laboratory.stored_cells());
    let shown = laboratory.json(&["show", "latest"]);
    let said = shown["resumed_elsewhere"].as_array().expect("sentences");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].as_str().expect("a sentence").contains("Somebody Else 9000"), "{said:?}");
    let obstacles = shown["result"]["obstacles"].as_array().expect("obstacles");
    assert!(obstacles.contains(&"resumed-elsewhere".into()), "{obstacles:?}");
    laboratory.assert_down();
}
