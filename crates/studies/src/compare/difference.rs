//! The differences of two stored structures, each by the name of its key with both values as people
//! write them.

use std::collections::BTreeSet;

use btu_units::{BitRate, Span};
use serde_json::Value;

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The keys that lead to it, in words.
    pub(super) name: String,
    pub(super) base: String,
    pub(super) other: String,
}

/// Columns of a value; more of a text than this would hide the sentence around it.
const MOST_OF_A_VALUE: usize = 40;

/// Every value that differs below the key `name`.
pub(super) fn leaves(name: &str, base: Option<&Value>, other: Option<&Value>) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(&words(name), name, [base, other], &mut found);
    found
}

/// `way` are the keys so far in words, `key` is the last of them.
fn collect(way: &str, key: &str, values: [Option<&Value>; 2], found: &mut Vec<Leaf>) {
    match values {
        [base, other] if base == other => {}
        [Some(Value::Object(base)), Some(Value::Object(other))] => {
            let keys: BTreeSet<&String> = base.keys().chain(other.keys()).collect();
            for key in keys {
                let way = format!("{way} {}", words(key));
                collect(&way, key, [base.get(key), other.get(key)], found);
            }
        }
        [Some(Value::Array(base)), Some(Value::Array(other))]
            if base.len() == other.len() && base.iter().chain(other).all(Value::is_object) =>
        {
            for (place, pair) in base.iter().zip(other).enumerate() {
                let way = format!("{way} {}", place + 1);
                collect(&way, key, [Some(pair.0), Some(pair.1)], found);
            }
        }
        [Some(Value::String(base)), Some(Value::String(other))]
            if is_long(base) || is_long(other) =>
        {
            let [base, other] = first_difference(base, other);
            found.push(Leaf { name: way.to_owned(), base, other });
        }
        values => {
            let [mut base, mut other] = values.map(|value| written(key, value));
            if base == other {
                // Words are rounded; if that hides the difference, the exact figures are shown.
                [base, other] =
                    values.map(|value| value.map_or_else(String::new, Value::to_string));
            }
            found.push(Leaf { name: way.to_owned(), base, other });
        }
    }
}

/// A key as words, without its unit.
fn words(key: &str) -> String {
    let name = ["_ns", "_bits_per_second", "_bytes"]
        .iter()
        .find_map(|unit| key.strip_suffix(unit))
        .unwrap_or(key);
    name.replace('_', " ")
}

/// A value as people write it.
fn written(key: &str, value: Option<&Value>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    match (value, value.as_u64()) {
        (Value::Null, _) => "none".to_owned(),
        (Value::Bool(is_so), _) => if *is_so { "yes" } else { "no" }.to_owned(),
        (Value::String(text), _) => cut(text),
        (_, Some(number)) if key.ends_with("_ns") => Span::from_nanoseconds(number).to_string(),
        (_, Some(number)) if key.ends_with("_bits_per_second") => {
            BitRate::from_bits_per_second(number).to_string()
        }
        (Value::Array(all), _) if all.iter().any(|one| one.is_object() || one.is_array()) => {
            format!("{} of them", all.len())
        }
        (Value::Array(all), _) if all.is_empty() => "none".to_owned(),
        (Value::Array(all), _) => {
            cut(&all.iter().map(|one| written(key, Some(one))).collect::<Vec<_>>().join(" "))
        }
        (Value::Object(fields), _) => {
            let field = |(key, value): (&String, &Value)| {
                format!("{} {}", words(key), written(key, Some(value)))
            };
            cut(&fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        (Value::Number(number), _) => number.to_string(),
    }
}

/// Whether a text is a file rather than a name.
fn is_long(text: &str) -> bool {
    text.contains('\n')
}

/// The first lines in which two files differ.
fn first_difference(base: &str, other: &str) -> [String; 2] {
    let lines = |text: &str| text.lines().map(|line| cut(line.trim())).collect::<Vec<_>>();
    let [base, other] = [base, other].map(lines);
    let place = base.iter().zip(&other).position(|(base, other)| base != other);
    let place = place.unwrap_or(base.len().min(other.len()));
    [base, other].map(|lines| {
        lines.get(place).map_or_else(|| "its end".to_owned(), |line| format!("`{line}`"))
    })
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MOST_OF_A_VALUE {
        return text.to_owned();
    }
    text.chars().take(MOST_OF_A_VALUE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(base: &Value, other: &Value) -> Vec<String> {
        let all = leaves("profile", Some(base), Some(other));
        all.iter().map(|leaf| format!("{}: {} / {}", leaf.name, leaf.base, leaf.other)).collect()
    }

    /// Only what differs is named, with its unit, and nothing looks like JSON.
    #[test]
    fn each_value_is_named_with_its_unit() {
        let base = json!({"name": "quick", "budget_ns": 140_000_000_000u64, "until": null,
            "rates": [1, 2], "rows": [{"lead_ns": 1000}, {"lead_ns": 5}], "is_paced": true,
            "line_bits_per_second": 10_000_000, "programs": [{"a": 1}]});
        let other = json!({"name": "quick", "budget_ns": 60_000_000_000u64, "until": 0.05,
            "rates": [1, 3], "rows": [{"lead_ns": 2000}, {"lead_ns": 5}], "is_paced": false,
            "line_bits_per_second": 9_500_000, "programs": []});
        let found = said(&base, &other);
        assert_eq!(
            found,
            [
                "profile budget: 140 s / 60 s",
                "profile is paced: yes / no",
                "profile line: 10 Mb/s / 9.5 Mb/s",
                "profile programs: 1 of them / none",
                "profile rates: 1 2 / 1 3",
                "profile rows 1 lead: 1 us / 2 us",
                "profile until: none / 0.05",
            ]
        );
        assert_eq!(said(&base, &base), Vec::<String>::new());
    }

    #[test]
    fn a_file_is_named_by_the_first_line_that_differs() {
        let file = |rate: &str| json!({"text": format!("[links.a]\nrate = \"{rate}\"\n")});
        assert_eq!(
            said(&file("1 Mb/s"), &file("2 Mb/s")),
            ["profile text: `rate = \"1 Mb/s\"` / `rate = \"2 Mb/s\"`"]
        );
        let longer = json!({"text": "[links.a]\n"});
        assert_eq!(said(&file("1 Mb/s"), &longer), ["profile text: `rate = \"1 Mb/s\"` / its end"]);
    }
}
