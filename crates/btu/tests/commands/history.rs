//! `btu history`, by the program itself.

use std::process::{Command, Output};

fn history(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_btu"))
        .arg("history")
        .args(arguments)
        .output()
        .expect("btu runs")
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let all: Vec<&str> = arguments.iter().chain(&["--json"]).copied().collect();
    serde_json::from_slice(&history(&all).stdout).expect("--json prints JSON")
}

#[test]
fn every_listed_study_can_be_shown() {
    let listed = json(&[]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 5);
    for study in listed {
        let name = study["study"].as_str().unwrap();
        assert!(!study["points"].as_array().unwrap().is_empty(), "{name}");
        let shown = history(&[name]);
        assert!(shown.status.success(), "{name}");
        assert!(String::from_utf8_lossy(&history(&[]).stdout).contains(name), "{name}");
        assert!(!json(&[name])["tables"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn an_unknown_study_is_answered_with_the_known_ones() {
    let refused = history(&["hint95"]);
    assert_eq!(refused.status.code(), Some(2));
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(line.contains("`hint95`") && line.contains("netpipe96"), "{line}");
}
