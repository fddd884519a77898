//! Commands of README and docs that measure on this machine, begun as they are written there. What needs
//! no time, `commands/documents.rs` runs to its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::console::{Written, commands, is_answer, measures_here};
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

/// How far a number of a page may be from what its command says, as a share: medians of a few
/// repetitions.
const TOLERANCE: f64 = 0.15;

/// Each block with an answer of a command that measures is typed as it stands there: the first line
/// that such a command prints is the page's.
#[test]
#[ignore = "takes some eight minutes: scripts/test --all"]
fn answers_of_the_documents_are_what_their_commands_say() {
    let mut blocks: BTreeMap<String, Vec<Written>> = BTreeMap::new();
    for written in commands().into_iter().filter(|written| written.is_whole) {
        blocks.entry(written.block.clone()).or_default().push(written);
    }
    let is_asked = |one: &Written| {
        one.answer.is_some() && ["run", "speed", "compare"].contains(&one.arguments[0].as_str())
    };
    blocks.retain(|_, commands| commands.iter().any(is_asked));
    assert!(blocks.len() >= 2, "answers of {:?} only", blocks.keys());
    for commands in blocks.into_values() {
        let Some(laboratory) = Laboratory::open_slow_lines() else { return };
        for written in &commands {
            answered(&laboratory, written);
        }
    }
}

fn answered(laboratory: &Laboratory, written: &Written) {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let output = laboratory.command(&words).output().expect("btu starts");
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let line = format!("{}: btu {}", written.place, words.join(" "));
    assert!(output.status.success(), "{line}: {errors}");
    let first = said.lines().next().unwrap_or_default();
    println!("{line}\n  {first}");
    if let Some(page) = &written.answer {
        let is_told = is_answer(page, first, TOLERANCE);
        judge!(laboratory, is_told, "{line}: the page has `{page}`, the command says\n{said}");
    }
    laboratory.assert_down();
}
