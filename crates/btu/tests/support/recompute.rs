//! The numbers of a rating by plain arithmetic on its cells, as `btu show --cells --json` prints them.

use std::collections::BTreeMap;

use serde_json::Value;

/// By the name of a row, its values by block.
type Rows = BTreeMap<String, BTreeMap<u64, f64>>;

const RATED: [&str; 6] = ["SEND", "RECV", "SEND+DL", "SEND_RECV", "2xRECV+DL", "2xSEND+DR"];
const LOADS: [&str; 3] = ["cpu", "disk", "transfer"];

fn name(component: &str, message: u64, load: &str) -> String {
    format!("{component} {message} {load}")
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

/// The values of valid cells of rated rows and of host activities, from one part of a cell.
fn rows(cells: &Value, value: impl Fn(&Value) -> Option<f64>) -> Rows {
    let mut rows = Rows::new();
    for cell in cells.as_array().expect("cells") {
        let row = &cell["row"];
        let load = row["load"].as_str().expect("a load");
        let (component, message) = match row["component"].as_str() {
            Some(component) => (component, row["message_bytes"].as_u64().expect("a size")),
            None => ("host", 0),
        };
        let is_rated = component == "host" || RATED.contains(&component);
        if cell["faults"].as_array().is_some_and(Vec::is_empty)
            && is_rated
            && let Some(value) = value(cell)
        {
            let block = cell["block"].as_u64().expect("a block");
            rows.entry(name(component, message, load)).or_default().insert(block, value);
        }
    }
    rows
}

/// The geometric mean over pairs of the geometric mean over common blocks of loaded over idle.
fn slowdown(times: &Rows, pairs: impl Iterator<Item = (String, String)>) -> Option<f64> {
    let ratio = |(loaded, idle): (String, String)| {
        let (loaded, idle) = (times.get(&loaded)?, times.get(&idle)?);
        geometric_mean(loaded.iter().filter_map(|(block, time)| Some(time / idle.get(block)?)))
    };
    geometric_mean(pairs.filter_map(ratio))
}

/// Checks rating, rows and slowdowns of a result to six digits; returns how many numbers it compared.
pub(crate) fn check(result: &Value, cells: &Value) -> usize {
    let mut compared = 0;
    let mut equal = |what: &str, shown: &Value, expected: Option<f64>| {
        let shown = shown["value"].as_f64();
        let close = match (shown, expected) {
            (Some(shown), Some(expected)) => (shown / expected - 1.0).abs() < 5e-7,
            (None, None) => true,
            _ => false,
        };
        assert!(close, "{what}: {shown:?} is shown, and its cells give {expected:?}");
        compared += usize::from(shown.is_some());
    };
    let goodputs = rows(cells, |cell| {
        cell["network"]["goodput_bits_per_second"].as_f64().filter(|rate| *rate > 0.0)
    });
    let mean = |row: &BTreeMap<u64, f64>| geometric_mean(row.values().copied());
    for row in result["rates"].as_array().expect("rates") {
        let [component, load] = ["component", "load"].map(|key| row[key].as_str().expect("a name"));
        let name = name(component, row["message_bytes"].as_u64().expect("a size"), load);
        equal(&name, &row["goodput_bits_per_second"], goodputs.get(&name).and_then(mean));
    }
    let over = |is_idle: bool| {
        let rated = goodputs
            .iter()
            .filter(|(name, _)| !name.starts_with("host") && name.ends_with(" idle") == is_idle);
        geometric_mean(rated.filter_map(|(_, row)| mean(row)))
    };
    equal("rating", &result["rating"]["btu_bits_per_second"], over(false));
    equal("idle", &result["idle"]["btu_bits_per_second"], over(true));
    let network = rows(cells, |cell| {
        let [time, work] = ["duration_ns", "bytes"].map(|key| cell["network"][key].as_f64());
        Some(time? / work.filter(|work| *work > 0.0)?)
    });
    let host = rows(cells, |cell| {
        let [time, work] = ["duration_ns", "work"].map(|key| cell["host"][key].as_f64());
        Some(time? / work.filter(|work| *work > 0.0)?)
    });
    for by_load in result["penalties"]["by_load"].as_array().expect("slowdowns") {
        let load = by_load["load"].as_str().filter(|load| LOADS.contains(load)).expect("a load");
        let loaded = || {
            let ending = format!(" {load}");
            let names = network.keys().chain(host.keys()).cloned();
            let names: std::collections::BTreeSet<String> =
                names.filter(|name| !name.starts_with("host") && name.ends_with(&ending)).collect();
            names.into_iter()
        };
        let idle = |name: &str| name.replace(&format!(" {load}"), " idle");
        let pairs = loaded().map(|name| (name.clone(), idle(&name)));
        equal(&format!("network {load}"), &by_load["network"], slowdown(&network, pairs));
        let alone = name("host", 0, load);
        let pairs = loaded().map(|name| (name, alone.clone()));
        equal(&format!("host {load}"), &by_load["host"], slowdown(&host, pairs));
    }
    compared
}
