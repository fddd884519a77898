//! Commands of README and docs that measure on this machine, begun as they are written there. What needs
//! no time, `commands/documents.rs` runs to its end.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::console::{Written, commands, measures_here};
use crate::support::{send, text, write_recordings};

/// The longest first cell: 630 requests one after the other, at 200 ms of round trip, take 126 s;
/// twice that is allowed.
const FIRST_CELL: Duration = Duration::from_secs(260);

/// The number of stored runs, and the cells of the newest.
fn stored(laboratory: &Laboratory) -> (usize, u64) {
    if !laboratory.database().exists() {
        return (0, 0);
    }
    let output = laboratory.command(&["runs", "--json"]).output().expect("btu runs");
    let runs: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let runs = runs.as_array().cloned().unwrap_or_default();
    let cells = runs.last().and_then(|run| run["cells"].as_u64()).unwrap_or(0);
    (runs.len(), cells)
}

/// Begins a command, and ends it by Ctrl-C after its first cell; an error is what it said instead.
fn begun(laboratory: &Laboratory, written: &Written) -> Result<(), String> {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let line = format!("{}: btu {}", written.place, words.join(" "));
    let (before, _) = stored(laboratory);
    let mut command = laboratory.command(&words);
    let mut child = command.current_dir(laboratory.directory.path()).spawn().expect("btu starts");
    let start = Instant::now();
    let is_over = loop {
        let (runs, cells) = stored(laboratory);
        if runs > before && cells > 0 {
            break false;
        }
        if child.try_wait().expect("a child can be asked").is_some() {
            break true;
        }
        if start.elapsed() > FIRST_CELL {
            break false;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let has_cells = stored(laboratory).0 > before && stored(laboratory).1 > 0;
    if !is_over {
        send(child.id().cast_signed(), Signal::SIGINT);
    }
    let output = finish(child);
    laboratory.assert_down();
    println!("{line}: {:.1} s", start.elapsed().as_secs_f64());
    let code = output.status.code();
    if has_cells && matches!(code, Some(0 | 130)) {
        return Ok(());
    }
    Err(format!("{line}: exit code {code:?}, cells: {has_cells}\n{}", text(&output.stderr)))
}

#[test]
#[ignore = "takes some five minutes: scripts/test --all"]
fn measuring_commands_of_the_documents_begin_as_they_stand_there() {
    let Some(laboratory) = Laboratory::open() else { return };
    write_recordings(laboratory.directory.path());
    let measuring: Vec<Written> = commands().into_iter().filter(measures_here).collect();
    assert!(measuring.len() >= 40, "{} measuring commands", measuring.len());
    let failed: Vec<String> =
        measuring.iter().filter_map(|written| begun(&laboratory, written).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
