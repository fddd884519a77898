//! Warnings of results that say that the machine was not quiet: they are no fault of what is tested.

use serde_json::Value;

/// Their causes in studies, and their kinds in ratings and signatures.
const OF_THE_MACHINE: [&str; 9] = [
    "late frames",
    "stolen processor time",
    "the machine is the limit",
    "wire-late",
    "late-pacing",
    "steal",
    "load-before",
    "over-committed",
    "emulator-late",
];

fn is_of_the_machine(warning: &Value) -> bool {
    let names = [&warning["cause"], &warning["kind"]];
    names.into_iter().filter_map(Value::as_str).any(|name| OF_THE_MACHINE.contains(&name))
}

fn warnings(result: &Value) -> impl Iterator<Item = &Value> {
    result["warnings"].as_array().into_iter().flatten()
}

/// What this result says of the machine on which it was measured; `None` if it was quiet.
pub(crate) fn of_the_machine(result: &Value) -> Option<String> {
    let found = warnings(result).find(|warning| is_of_the_machine(warning))?;
    let name = found["cause"].as_str().or(found["kind"].as_str()).unwrap_or_default();
    Some(format!("{name}: {}", found["observed"].as_str().unwrap_or_default()))
}

/// The warnings of this result that are not about the machine.
pub(crate) fn of_the_measurement(result: &Value) -> Vec<&Value> {
    warnings(result).filter(|warning| !is_of_the_machine(warning)).collect()
}
