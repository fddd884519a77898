//! Finds the differences between two environments of a machine.

use btu_contract::json;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Environment;

/// Settings that change by themselves, and are no reason for a warning.
const RESTLESS: [&str; 6] =
    ["load.", "busy", "cpu_time.", "memory.available_bytes", "kernel.boot", "job."];

/// A setting that differs between two readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path in the document.
    pub name: String,
    /// Its value at the first reading; `None` if it was absent.
    pub first: Option<String>,
    /// Its value at the second.
    pub second: Option<String>,
}

/// Each setting that differs, in the order of their names.
pub fn changes(first: &Environment, second: &Environment) -> Vec<Change> {
    let (first, second) = (settings(first), settings(second));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let change = |name: &String| {
        let (first, second) = (first.get(name).cloned(), second.get(name).cloned());
        (first != second).then(|| Change { name: name.clone(), first, second })
    };
    names.into_iter().filter_map(change).collect()
}

/// One sentence for each changed setting: both halves of the run may not be comparable.
pub fn differences(before: &Environment, after: &Environment) -> Vec<String> {
    changes(before, after).iter().map(sentence).collect()
}

fn sentence(change: &Change) -> String {
    let Change { name, first, second } = change;
    match (first, second) {
        (Some(before), Some(after)) => {
            format!("{name} was `{before}` before the measurements and `{after}` after them")
        }
        (Some(before), None) => {
            format!("{name} was `{before}` before the measurements and gone after them")
        }
        (None, after) => {
            let after = after.as_deref().unwrap_or_default();
            format!("{name} was absent before the measurements and `{after}` after them")
        }
    }
}

/// Every setting by its path in the document, without what changes by itself.
pub fn settings(environment: &Environment) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    // A structure of strings, numbers and maps with text keys always has a JSON form.
    if let Ok(document) = json::to_value(environment) {
        flatten("", &document, &mut settings);
    }
    settings.retain(|path, _| !RESTLESS.iter().any(|restless| path.starts_with(restless)));
    settings
}

/// Lists count as one setting: their members have no names.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, member, into);
            }
        }
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        Value::Array(members) if members.iter().all(Value::is_string) => {
            let words: Vec<&str> = members.iter().filter_map(Value::as_str).collect();
            let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
            into.insert(path.to_owned(), words);
        }
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{LoadAverage, collect};

    fn quiet() -> LoadAverage {
        LoadAverage {
            one_minute: 0.1,
            five_minutes: 0.1,
            fifteen_minutes: 0.1,
            runnable: 1,
            threads: 90,
        }
    }

    #[test]
    fn a_machine_left_alone_shows_none() {
        let before = collect();
        let mut after = before.clone();
        after.load = Some(quiet());
        after.memory.available_bytes = Some(1);
        after.cpu_time = None;
        assert_eq!(differences(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn each_changed_setting_is_named_with_both_values() {
        let mut before = collect();
        before.processor.governors = vec!["powersave".to_owned()];
        before.network.settings.insert("net.ipv4.tcp_sack".to_owned(), "1".to_owned());
        let mut after = before.clone();
        after.processor.governors = vec!["performance".to_owned()];
        after.network.settings.insert("net.ipv4.tcp_sack".to_owned(), "0".to_owned());
        let found = differences(&before, &after);
        assert_eq!(
            found[0],
            "network.settings.net.ipv4.tcp_sack was `1` before the measurements and `0` after them"
        );
        assert!(
            found[1].contains("processor.governors") && found[1].contains("powersave"),
            "{}",
            found[1]
        );
        assert_eq!(found.len(), 2);
    }

    /// A reader does not want to see brackets and quotation marks, and a line ends between words.
    #[test]
    fn lists_are_words() {
        let mut machine = collect();
        machine.processor.governors = Vec::new();
        assert_eq!(settings(&machine)["processor.governors"], "none");
        machine.processor.governors = ["powersave", "performance"].map(str::to_owned).to_vec();
        assert_eq!(settings(&machine)["processor.governors"], "powersave, performance");
    }

    #[test]
    fn what_comes_and_goes_is_named() {
        let mut before = collect();
        before.kernel.clock_source = Some("tsc".to_owned());
        let mut after = before.clone();
        after.kernel.clock_source = None;
        assert_eq!(
            differences(&before, &after),
            ["kernel.clock_source was `tsc` before the measurements and gone after them"]
        );
        assert_eq!(
            differences(&after, &before),
            ["kernel.clock_source was absent before the measurements and `tsc` after them"]
        );
    }
}
