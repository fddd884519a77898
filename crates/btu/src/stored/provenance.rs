//! Checks that all cells of a run are from the same machine, because cells of two machines are no
//! result of either.

use std::fmt;

use btu_contract::json;
use btu_contract::machine::Traits;
use btu_control::environment::Environment;
use btu_store::{Level, Moment, RunRow};
use serde_json::Value;

/// The traits of an environment's machine.
pub(crate) fn traits(environment: &Environment) -> Traits {
    let processor = &environment.processor;
    Traits {
        processor: processor.model.clone(),
        cpus: processor.online,
        memory_bytes: environment.memory.total_bytes,
        virtual_machine: processor.virtual_machine,
        product: processor.product.clone(),
        host: environment.host.clone(),
    }
}

/// The beginning of a sentence about a change. A run that was resumed in spite of it stores the
/// sentence as a warning.
const RESUMED: &str = "resumed elsewhere: ";

/// A property that must be equal for all cells of a run, but was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    what: &'static str,
    first: String,
    later: String,
}

impl Difference {
    pub(crate) fn new(
        what: &'static str,
        first: impl Into<String>,
        later: impl Into<String>,
    ) -> Self {
        Self { what, first: first.into(), later: later.into() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} at its start, {} on resuming", self.what, self.first, self.later)
    }
}

/// The sentence that a run stores when it was resumed in spite of these; `name` is the host's name
/// if it is not this machine.
pub(crate) fn warning(name: Option<&str>, differences: &[Difference]) -> String {
    let host = name.map_or_else(String::new, |name| format!("{name}: "));
    change(&format!("{host}{}", list(differences)))
}

/// The sentence of a change about which no more is said than this.
pub(crate) fn change(said: &str) -> String {
    format!("{RESUMED}{said}")
}

/// `machine: ...; kernel: ...`.
pub(crate) fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The differences between the machine of a run's start and that of a later session: the machine
/// itself, its kernel, the version of btu.
pub(crate) fn differences(first: &Environment, later: &Environment) -> Vec<Difference> {
    let mut found = Vec::new();
    if !is_same_machine(first, later) {
        found.push(Difference::new("machine", machine(first), machine(later)));
    }
    let release = |environment: &Environment| {
        environment.kernel.release.clone().unwrap_or_else(|| UNKNOWN.to_owned())
    };
    if first.kernel.release != later.kernel.release {
        found.push(Difference::new("kernel", release(first), release(later)));
    }
    if first.btu_version != later.btu_version {
        found.push(Difference::new("btu", &first.btu_version, &later.btu_version));
    }
    found
}

const UNKNOWN: &str = "unknown";

/// Hosts' own identities distinguish machines only if both are recorded: older versions did not.
fn is_same_machine(first: &Environment, later: &Environment) -> bool {
    let both = first.host.is_some() && later.host.is_some();
    let key = |environment| {
        let traits = traits(environment);
        Traits { host: traits.host.filter(|_| both), ..traits }.key()
    };
    key(first) == key(later)
}

fn machine(environment: &Environment) -> String {
    let processor = &environment.processor;
    let model = processor.model.as_deref().unwrap_or("unknown processor");
    format!("{} x {model} ({})", processor.online, traits(environment).key())
}

/// The stored environment of a machine before the first session; `name` is the host's name if it is
/// not the controller.
pub(crate) enum Start {
    /// It was never recorded.
    Unseen,
    /// This version cannot read the stored one.
    Unreadable,
    /// The recorded environment.
    Seen(Box<Environment>),
}

/// The environment of the machine `name` at the run's start.
pub(crate) fn start(row: &RunRow, name: Option<&str>) -> Start {
    let Some(document) = looks(row, name).next() else { return Start::Unseen };
    json::from_value(document).map_or(Start::Unreadable, Start::Seen)
}

/// The stored environments of one machine before each session.
fn looks<'a>(row: &'a RunRow, name: Option<&'a str>) -> impl Iterator<Item = &'a Value> {
    let before = row.environments.iter().filter(|(moment, _)| *moment == Moment::Before);
    before.map(|(_, document)| document).filter(move |document| document["name"].as_str() == name)
}

/// Every change of machine, kernel or version of btu between the sessions of a run, a sentence
/// each: from the stored environments, and from the warnings of forced resumptions.
pub(crate) fn changes(row: &RunRow) -> Vec<String> {
    let mut names: Vec<Option<&str>> = Vec::new();
    for (_, document) in &row.environments {
        let name = document["name"].as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let seen = names.into_iter().flat_map(|name| of_one(row, name));
    let noted =
        row.events.iter().filter(|event| event.level == Level::Warning && is_change(&event.text));
    let mut sentences: Vec<String> = Vec::new();
    for sentence in seen.chain(noted.map(|event| event.text.clone())) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// Like `changes`, with the run's name before each, for comparisons of several runs.
pub(crate) fn named_changes(row: &RunRow) -> Vec<String> {
    changes(row).into_iter().map(|change| format!("{} was {change}", row.summary.id)).collect()
}

/// Whether a stored warning is one of [`changes`].
pub(crate) fn is_change(text: &str) -> bool {
    text.starts_with(RESUMED)
}

fn of_one(row: &RunRow, name: Option<&str>) -> Vec<String> {
    let Start::Seen(first) = start(row, name) else { return Vec::new() };
    let later = looks(row, name).skip(1).filter_map(|document| json::from_value(document).ok());
    let differences = later.map(|later: Environment| differences(&first, &later));
    differences.filter(|found| !found.is_empty()).map(|found| warning(name, &found)).collect()
}

#[cfg(test)]
mod tests {
    use btu_control::environment::collect;

    use super::*;

    #[test]
    fn a_machine_is_the_same_after_a_minute_and_after_an_upgrade_that_records_more() {
        let first = collect();
        let mut later = first.clone();
        later.load = None;
        later.memory.available_bytes = Some(1);
        assert_eq!(differences(&first, &later), []);
        later.host = None;
        assert_eq!(differences(&later, &first), []);
    }

    #[test]
    fn each_change_is_named_with_both_values() {
        let first = Environment { host: Some("1".to_owned()), ..collect() };
        let mut later = Environment { btu_version: "9.9.9".to_owned(), ..first.clone() };
        later.kernel.release = Some("2.0.0".to_owned());
        later.processor.model = Some("Somebody Else 9000".to_owned());
        let said = list(&differences(&first, &later));
        for word in
            ["machine: ", "Somebody Else 9000", "kernel: ", ", 2.0.0 on resuming", "btu: ", "9.9.9"]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
        let other_host = Environment { host: Some("2".to_owned()), ..first.clone() };
        assert_eq!(differences(&first, &other_host).len(), 1, "two machines of one make");
    }
}
