//! A result in the text format of `OpenMetrics` 1.0 (2022), for Prometheus and what reads its files.
//!
//! Every number of the result's JSON is a gauge. Its name is its path there, after `btu_` and the study; the words around it
//! (component, load, phase) and the sizes that rows are told apart by are its labels. Units are base units: seconds, bytes and
//! ratios. An interval is two more gauges, `..._interval_low` and `..._interval_high`. What was not measured is absent.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Numbers that tell rows apart, like words.
const LABELS: [&str; 6] =
    ["message_bytes", "size_bytes", "background_thousandths", "stations", "block", "window_bytes"];

/// Lists that are no numbers, or too many: sentences, and single samples, which `btu report --csv` has.
const LEFT_OUT: [&str; 3] = ["warnings", "samples", "trials"];

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
/// `run` are those of the run alone, which `btu_run_info` has, so that the next run goes on with the same series.
pub fn openmetrics(
    study: &str,
    plan: &[(&str, &str)],
    run: &[(&str, &str)],
    result: &Value,
) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let owned = |labels: &[(&str, &str)]| -> Vec<(String, String)> {
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    families.insert("btu_run_info".to_owned(), vec![(owned(run), 1.0)]);
    Walk { families: &mut families }.value(&format!("btu_{}", word(study)), &owned(plan), result);
    let mut text = String::new();
    for (name, family) in families {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# TYPE {name} gauge");
        for (labels, value) in distinct(family) {
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
            Value::Object(fields) if fields.contains_key("value") => {
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
        let own = fields.iter().filter_map(|(key, value)| Some((word(key), label(key, value)?)));
        for (key, value) in own {
            labels.retain(|(name, _)| *name != key);
            labels.push((key, value));
        }
        let is_number = |key: &str| !LABELS.contains(&key) && !LEFT_OUT.contains(&key);
        for (key, value) in fields.iter().filter(|(key, _)| is_number(key)) {
            self.value(&format!("{name}_{}", word(key)), &labels, value);
        }
    }

    fn number(&mut self, name: &str, labels: &[(String, String)], number: Option<f64>) {
        let (name, factor) = based(name);
        if let Some(number) = number {
            self.families.entry(name).or_default().push((labels.to_vec(), number * factor));
        }
    }
}

/// A word, or a number that tells rows apart.
fn label(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
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

/// Gives rows with the same labels their place in the list as one more: no two gauges of a name may have the same.
fn distinct(family: Family) -> Family {
    let mut times: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
    for (labels, _) in &family {
        *times.entry(labels.clone()).or_default() += 1;
    }
    let mut place = 0;
    let each = family.into_iter().map(|(mut labels, value)| {
        if times.get(&labels).is_some_and(|times| *times > 1) {
            labels.push(("row".to_owned(), place.to_string()));
            place += 1;
        }
        (labels, value)
    });
    each.collect()
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
        let text = openmetrics("rate", &[("network", "veth")], &[("run", "r1")], &result);
        let expected = [
            "# TYPE btu_rate_interactive_p50_seconds gauge",
            "btu_rate_interactive_p50_seconds{network=\"veth\",title=\"btu-rating\",component=\"INTERACTIVE/UDP\"} 0.0000015",
            "# TYPE btu_rate_rates_goodput_bytes_per_second gauge",
            "btu_rate_rates_goodput_bytes_per_second{network=\"veth\",title=\"btu-rating\",component=\"SEND\",message_bytes=\"100\"} 100000000",
            "btu_rate_rates_goodput_bytes_per_second{network=\"veth\",title=\"btu-rating\",component=\"SEND\",message_bytes=\"1024\"} 200000000",
            "# TYPE btu_rate_rates_invalid gauge",
            "btu_rate_rates_invalid{network=\"veth\",title=\"btu-rating\",component=\"SEND\",message_bytes=\"100\"} 0",
            "# TYPE btu_rate_rates_low_confidence gauge",
            "btu_rate_rates_low_confidence{network=\"veth\",title=\"btu-rating\",component=\"SEND\",message_bytes=\"1024\"} 1",
            "# TYPE btu_rate_rating_btu_bytes_per_second gauge",
            "btu_rate_rating_btu_bytes_per_second{network=\"veth\",title=\"btu-rating\"} 1000000000",
            "# TYPE btu_rate_rating_btu_bytes_per_second_interval_high gauge",
            "btu_rate_rating_btu_bytes_per_second_interval_high{network=\"veth\",title=\"btu-rating\"} 1100000000",
            "# TYPE btu_rate_rating_btu_bytes_per_second_interval_low gauge",
            "btu_rate_rating_btu_bytes_per_second_interval_low{network=\"veth\",title=\"btu-rating\"} 900000000",
            "# TYPE btu_run_info gauge",
            "btu_run_info{run=\"r1\"} 1",
            "# EOF",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    proptest! {
        /// Whatever texts a result holds: each line is a comment or a gauge, and no gauge is there twice.
        #[test]
        fn each_gauge_is_there_once(words in prop::collection::vec("\\PC{0,8}", 1..5), key in "\\PC{1,6}") {
            let rows: Vec<Value> = words.iter().map(|word| json!({ "name": word, key.clone(): 1.5, "p50_ns": 2 })).collect();
            let text = openmetrics("x", &[], &[], &json!({ "rows": rows }));
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
