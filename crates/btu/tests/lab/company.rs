//! Two commands that measure on one machine at the same time.

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{send, text};

/// The warnings that were stored during a run.
fn noted(laboratory: &Laboratory, run: &str) -> String {
    let found = laboratory.json(&["show", run]);
    let events = found["run"]["events"].as_array().cloned().unwrap_or_default();
    let warnings = events.iter().filter(|event| event["level"] == "warning");
    let texts = warnings.filter_map(|event: &Value| event["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// B13: a run that goes on has the warning, although the other began later and ended sooner. The
/// runs of other tests would take their places among the three that a warning names.
#[test]
fn b13_two_runs_at_the_same_time_are_both_warned_of_the_other() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let row = ["--component", "SEND", "--message", "65536", "--load", "idle,cpu"];
    let rate = laboratory.begin(&row, 1);
    let trial = ["--local", "--transport", "pipe", "--sizes", "1", "--precision", "quick"];
    let mut pipe = laboratory.command(&[&["pipe"], &trial[..]].concat());
    let pipe = pipe.spawn().expect("btu starts");
    let (rating, signature) = (rate.id(), pipe.id());
    let output = finish(pipe);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(!said.contains("at the same time"), "the result says it, and once: {said}");
    send(rating.cast_signed(), Signal::SIGINT);
    finish(rate);
    for (run, other) in [
        ("r1", format!("btu pipe (process {signature})")),
        ("r2", format!("btu rate (process {rating})")),
    ] {
        let noted = noted(&laboratory, run);
        assert!(noted.contains("measured on this machine at the same time"), "{run}: {noted}");
        // A warning names three: commands that others run at the time take the place of this one.
        judge!(laboratory, noted.contains(&other), "{run}: {noted}");
    }
    laboratory.assert_down();
}
