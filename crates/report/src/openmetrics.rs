//! A result in the text format of `OpenMetrics` 1.0 (2022), for Prometheus and what reads its files.
//!
//! A number of the result's JSON is a gauge. Its name is its path there, after `btu_` and the study; what rows are told apart by
//! (component, load, phase, size) are its labels, and never what was found: a word of a verdict has a gauge of its own, which ends
//! with `_info` and is 1. Units are base units: seconds, bytes and
//! ratios. An interval is two more gauges, `..._interval_low` and `..._interval_high`. What was not measured is absent, and so is what
//! nothing tells apart: a place in a list is no name of a series.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Words that tell rows apart. Others are results, which change from run to run: a verdict, a reason.
const NAMES: &str = "base cache carrier component direction display factor from host kind label level load name network pattern phase program \
     protocol station storage task result to unit what workload";

/// Words of verdicts.
const FOUND: [&str; 3] = ["word", "title", "finding"];

/// What holds a row's levels: their labels are the row's.
const LEVELS: [&str; 2] = ["cell", "level"];

/// Numbers that tell rows apart, like words.
const LABELS: [&str; 6] =
    ["message_bytes", "size_bytes", "background_thousandths", "stations", "block", "window_bytes"];

/// Lists that are no numbers, or too many: sentences, single samples and seconds, which `btu report --csv` has, and parts by their places.
const LEFT_OUT: [&str; 7] =
    ["warnings", "samples", "trials", "course", "steps", "terms", "slow_pairs"];

/// Endings of names in other units, those in base units, and the factor between them.
const UNITS: [(&str, &str, f64); 6] = [
    ("_bits_per_second", "_bytes_per_second", 1.0 / 8.0),
    ("_ns", "_seconds", 1e-9),
    ("_us", "_seconds", 1e-6),
    ("_ms", "_seconds", 1e-3),
    // Estimates, which have bits per second and seconds in their type.
    ("_goodput", "_goodput_bytes_per_second", 1.0 / 8.0),
    ("_round_trip_median", "_round_trip_median_seconds", 1.0),
];

/// The gauges of one name: labels and value of each.
type Family = Vec<(Vec<(String, String)>, f64)>;

/// The result of a run of `study`, as its JSON has it. `plan` are labels that runs of one plan share, which all gauges have;
/// `run` are those of the run alone, which `btu_run_info` has, so that the next run goes on with the same series. It was finished
/// so many seconds after 1970.
pub fn openmetrics(
    study: &str,
    plan: &[(&str, &str)],
    run: &[(&str, &str)],
    finished: Option<i64>,
    result: &Value,
) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let owned = |labels: &[(&str, &str)]| -> Vec<(String, String)> {
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    families.insert("btu_run_info".to_owned(), vec![(owned(run), 1.0)]);
    let finished = finished.map(|seconds| (Vec::new(), seconds as f64));
    families.insert("btu_run_finished_timestamp_seconds".to_owned(), Vec::from_iter(finished));
    Walk { families: &mut families }.value(&format!("btu_{}", word(study)), &owned(plan), result);
    let mut text = String::new();
    for (name, family) in families {
        let family = distinct(family);
        if family.is_empty() {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} What this path has in btu show --json.");
        let _ = writeln!(text, "# TYPE {name} gauge");
        for (labels, value) in family {
            let labels: Vec<String> = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
                .collect();
            let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
        }
    }
    text + "# EOF\n"
}

struct Walk<'a> {
    families: &'a mut BTreeMap<String, Family>,
}

impl Walk<'_> {
    fn value(&mut self, name: &str, labels: &[(String, String)], value: &Value) {
        match value {
            Value::Number(number) => self.number(name, labels, number.as_f64()),
            Value::Bool(is) => self.number(name, labels, Some(f64::from(u8::from(*is)))),
            Value::Object(fields) if is_estimate(fields) => {
                self.value(name, labels, &fields["value"]);
                for end in ["low", "high"] {
                    let of = fields.get("interval").and_then(|interval| interval.get(end));
                    let bound = based(name);
                    if let Some(number) = of.and_then(Value::as_f64) {
                        let name = format!("{}_interval_{end}", bound.0);
                        self.number(&name, labels, Some(number * bound.1));
                    }
                }
            }
            Value::Object(fields) => self.fields(name, labels, fields),
            Value::Array(list) => {
                for one in list.iter().filter(|one| one.is_object()) {
                    self.value(name, labels, one);
                }
            }
            Value::Null | Value::String(_) => {}
        }
    }

    fn fields(&mut self, name: &str, labels: &[(String, String)], fields: &Map<String, Value>) {
        let mut labels = labels.to_vec();
        for (key, value) in own_labels(fields) {
            labels.retain(|(name, _)| *name != key);
            labels.push((key, value));
        }
        let is_number = |key: &str| {
            !LABELS.contains(&key) && !LEFT_OUT.contains(&key) && !LEVELS.contains(&key)
        };
        for (key, value) in fields.iter().filter(|(key, _)| is_number(key)) {
            let name = format!("{name}_{}", word(key));
            match value {
                Value::String(found) if FOUND.contains(&key.as_str()) => {
                    let labels = [&labels[..], &[(word(key), found.clone())]].concat();
                    self.number(&format!("{name}_info"), &labels, Some(1.0));
                }
                _ => self.value(&name, &labels, value),
            }
        }
    }

    fn number(&mut self, name: &str, labels: &[(String, String)], number: Option<f64>) {
        let (name, factor) = based(name);
        if let Some(number) = number {
            self.families.entry(name).or_default().push((labels.to_vec(), number * factor));
        }
    }
}

/// A value, perhaps with an interval. A row that has a value among others is none.
fn is_estimate(fields: &Map<String, Value>) -> bool {
    fields.contains_key("value") && fields.keys().all(|key| key == "value" || key == "interval")
}

/// What tells a row apart, with what its levels say.
fn own_labels(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    for (key, value) in fields {
        match value {
            Value::Object(levels) if LEVELS.contains(&key.as_str()) => {
                let of_key = |(name, value): (String, String)| {
                    (if name == "name" { word(key) } else { name }, value)
                };
                labels.extend(own_labels(levels).into_iter().map(of_key));
            }
            _ => labels.extend(label(key, value).map(|value| (word(key), value))),
        }
    }
    labels
}

/// A word, or a number that tells rows apart.
fn label(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) if NAMES.split(' ').any(|name| name == key) => Some(text.clone()),
        Value::Number(number) if LABELS.contains(&key) => Some(number.to_string()),
        _ => None,
    }
}

/// A name in base units, and the factor to them.
fn based(name: &str) -> (String, f64) {
    UNITS
        .iter()
        .find_map(|(unit, base, factor)| {
            Some((format!("{}{base}", name.strip_suffix(unit)?), *factor))
        })
        .unwrap_or_else(|| (name.to_owned(), 1.0))
}

/// A part of a name: letters, digits and underscores.
fn word(text: &str) -> String {
    text.chars()
        .map(|one| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '_' })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Leaves out rows that nothing tells apart: no two gauges of a name may have the same labels, and a row's place moves when
/// another one fails.
fn distinct(family: Family) -> Family {
    let mut times: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
    for (labels, _) in &family {
        *times.entry(labels.clone()).or_default() += 1;
    }
    family.into_iter().filter(|(labels, _)| times.get(labels) == Some(&1)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_number_has_its_path_its_words_and_base_units() {
        let result = json!({
            "title": "btu-rating",
            "btu95": null,
            "rating": { "btu_bits_per_second": { "value": 8e9, "interval": { "low": 7.2e9, "high": 8.8e9 } } },
            "rates": [
                { "component": "SEND", "message_bytes": 100, "goodput_bits_per_second": { "value": 8e8, "interval": null }, "invalid": 0 },
                { "component": "SEND", "message_bytes": 1024, "goodput_bits_per_second": { "value": 16e8 }, "low_confidence": true },
            ],
            "interactive": [{ "component": "INTERACTIVE/UDP", "p50_ns": 1500 }],
            "warnings": [{ "kind": "few", "cells": 3 }],
        });
        let text = openmetrics("rate", &[("network", "veth")], &[("run", "r1")], Some(90), &result);
        let expected = [
            "# TYPE btu_rate_interactive_p50_seconds gauge",
            "btu_rate_interactive_p50_seconds{network=\"veth\",component=\"INTERACTIVE/UDP\"} 0.0000015",
            "# TYPE btu_rate_rates_goodput_bytes_per_second gauge",
            "btu_rate_rates_goodput_bytes_per_second{network=\"veth\",component=\"SEND\",message_bytes=\"100\"} 100000000",
            "btu_rate_rates_goodput_bytes_per_second{network=\"veth\",component=\"SEND\",message_bytes=\"1024\"} 200000000",
            "# TYPE btu_rate_rates_invalid gauge",
            "btu_rate_rates_invalid{network=\"veth\",component=\"SEND\",message_bytes=\"100\"} 0",
            "# TYPE btu_rate_rates_low_confidence gauge",
            "btu_rate_rates_low_confidence{network=\"veth\",component=\"SEND\",message_bytes=\"1024\"} 1",
            "# TYPE btu_rate_rating_btu_bytes_per_second gauge",
            "btu_rate_rating_btu_bytes_per_second{network=\"veth\"} 1000000000",
            "# TYPE btu_rate_rating_btu_bytes_per_second_interval_high gauge",
            "btu_rate_rating_btu_bytes_per_second_interval_high{network=\"veth\"} 1100000000",
            "# TYPE btu_rate_rating_btu_bytes_per_second_interval_low gauge",
            "btu_rate_rating_btu_bytes_per_second_interval_low{network=\"veth\"} 900000000",
            "# TYPE btu_rate_title_info gauge",
            "btu_rate_title_info{network=\"veth\",title=\"btu-rating\"} 1",
            "# TYPE btu_run_finished_timestamp_seconds gauge",
            "btu_run_finished_timestamp_seconds{} 90",
            "# TYPE btu_run_info gauge",
            "btu_run_info{run=\"r1\"} 1",
            "# EOF",
        ];
        let is_help = |line: &&str| line.starts_with("# HELP btu_");
        assert_eq!(text.lines().filter(is_help).count(), 10);
        assert_eq!(text.lines().filter(|line| !is_help(line)).collect::<Vec<_>>(), expected);
    }

    /// Rows of `btu run` have their levels; one that failed leaves the others where they were. A verdict is no label, and what has
    /// no name no series.
    #[test]
    fn a_series_goes_on_whatever_was_found() {
        let row = |wait: &str, value: Option<f64>| {
            let value = value.map(|value| json!({ "value": value, "interval": null }));
            json!({ "cell": { "levels": [0], "name": format!("wait={wait} load=none") }, "value": value, "count": 1, "finding": "slower" })
        };
        let gauges = |word: &str, first: Option<f64>| {
            let values =
                json!([{ "name": "sh", "rows": [row("0.1", first), row("0.3", Some(0.3))] }]);
            let courses = json!([{ "from_seconds": 1 }, { "from_seconds": 2 }]);
            let level = json!([{ "level": { "stations": 2 }, "task": "save", "seconds": 3 }]);
            let all = json!({ "word": word, "values": values, "waits_seconds": 1, "course": courses, "parts": courses, "rows": level });
            openmetrics("run", &[], &[], None, &all)
        };
        let text = gauges("fine", Some(0.1));
        let second = "btu_run_values_rows_value{name=\"sh\",cell=\"wait=0.3 load=none\"} 0.3\n";
        assert!(text.contains(second), "{text}");
        assert!(text.contains("btu_run_word_info{word=\"fine\"} 1\n"), "{text}");
        let finding = "btu_run_values_rows_finding_info{name=\"sh\",cell=\"wait=0.3 load=none\",finding=\"slower\"} 1\n";
        assert!(text.contains(finding), "{text}");
        assert!(text.contains("btu_run_rows_seconds{stations=\"2\",task=\"save\"} 3\n"), "{text}");
        assert!(!text.contains("from_seconds") && !text.contains("row="), "{text}");
        let later = gauges("bloated", None);
        assert!(later.contains(second) && later.contains("btu_run_waits_seconds{} 1\n"), "{later}");
    }

    proptest! {
        /// Whatever texts a result holds: each line is a comment or a gauge, and no gauge is there twice.
        #[test]
        fn each_gauge_is_there_once(words in prop::collection::vec("\\PC{0,8}", 1..5), key in "\\PC{1,6}") {
            let rows: Vec<Value> = words.iter().map(|word| json!({ "name": word, key.clone(): 1.5, "p50_ns": 2 })).collect();
            let text = openmetrics("x", &[], &[], None, &json!({ "rows": rows }));
            let gauges: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            let mut names: Vec<&str> = gauges.iter().map(|line| line.rsplit_once(' ').unwrap().0).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), gauges.len());
            let is_gauge = |line: &&str| line.starts_with("btu_") && line.contains("} ");
            prop_assert!(text.ends_with("# EOF\n") && gauges.iter().all(is_gauge), "{}", text);
        }
    }
}
