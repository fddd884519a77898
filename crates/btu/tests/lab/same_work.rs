//! Runs of one plan on one machine do the same work, as far as it fits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::Laboratory;

const PLAN: [&str; 12] = [
    "rate",
    "--network",
    "50 Mb/s",
    "--component",
    "SEND,RECV",
    "--message",
    "65536",
    "--load",
    "idle,cpu",
    "--time",
    "3 s",
    "--quiet",
];

/// What a baseline of a quick run is to last.
const TARGET_NS: f64 = 100e6;

/// The work of each activity, in bytes or rounds, by its name.
fn work(run: &Value) -> BTreeMap<String, u64> {
    let amounts = &run["run"]["calibration"]["amounts"];
    let of = |part: &str, name: &str, work: &str| {
        let all = amounts[part].as_array().unwrap_or_else(|| panic!("no {part}: {amounts}"));
        let read = |one: &Value| Some((one[name].as_str()?.to_owned(), one[work].as_u64()?));
        all.iter().map(|one| read(one).unwrap_or_else(|| panic!("{one}"))).collect::<Vec<_>>()
    };
    of("volumes", "component", "volume_bytes")
        .into_iter()
        .chain(of("host", "load", "amount"))
        .collect()
}

/// The times of each activity's baselines, in nanoseconds.
fn baselines(laboratory: &Laboratory) -> BTreeMap<String, Vec<f64>> {
    let cells = laboratory.json(&["show", "latest", "--cells"]);
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for cell in cells.as_array().expect("cells") {
        let is_valid = cell["faults"].as_array().is_some_and(Vec::is_empty);
        let row = &cell["row"];
        let (name, time) = match row["kind"].as_str() {
            Some("network") if row["load"] == "idle" => (&row["component"], &cell["network"]),
            Some("host") => (&row["load"], &cell["host"]),
            _ => continue,
        };
        if let (true, Some(time)) = (is_valid, time["duration_ns"].as_f64()) {
            times.entry(name.as_str().expect("a name").to_owned()).or_default().push(time);
        }
    }
    times
}

fn fits(times: &[f64]) -> bool {
    let mean = (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp();
    (0.5..=2.0).contains(&(mean / TARGET_NS))
}

#[test]
fn a_run_does_the_work_of_the_newest_of_its_plan() {
    let Some(laboratory) = Laboratory::open() else { return };
    let first = laboratory.json(&PLAN);
    assert_eq!(work(&first).len(), 3, "{:?}", work(&first));
    assert!(first["run"]["calibration"].get("amounts_of").is_none());
    let fitting: Vec<String> = baselines(&laboratory)
        .into_iter()
        .filter(|(_, times)| fits(times))
        .map(|(name, _)| name)
        .collect();
    assert!(!fitting.is_empty(), "on a line of 50 Mb/s streams last as long as their pilots");

    let second = laboratory.json(&PLAN);
    assert_eq!(second["run"]["calibration"]["amounts_of"], first["run"]["uuid"]);
    assert_eq!(work(&second).len(), 3, "{:?}", work(&second));
    for name in &fitting {
        assert_eq!(work(&second)[name], work(&first)[name], "{name}");
    }
    let all = laboratory.command(&["show", "latest", "--all"]).output().expect("btu runs");
    assert!(String::from_utf8_lossy(&all.stdout).contains("work as in run r1"));

    let anew = laboratory.json(&[&PLAN[..], &["--calibrate"]].concat());
    assert!(anew["run"]["calibration"].get("amounts_of").is_none());
    laboratory.assert_down();
}
