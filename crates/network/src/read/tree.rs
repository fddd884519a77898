//! The file as a tree of values, each with its place.
//!
//! The tree is the parser's own, copied, for two reasons: keys keep the order in which they were
//! written (stations are numbered by it), and a value can come from a setting instead of the file.

use std::ops::Range;

use btu_units::controls;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The place of an item in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// So many octets into the file.
    File(Range<usize>),
    /// In the setting with this number.
    Setting(usize),
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// The kinds of TOML values that a network file needs.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Truth(bool),
    List(Vec<Node>),
    Table(Table),
    /// Dates, and numbers that cannot be represented.
    Other,
}

impl Value {
    /// What it is, with its article.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Whole(_) | Self::Number(_) => "a number",
            Self::Truth(_) => "a truth value",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other => "something else",
        }
    }
}

/// Keys and values in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: At,
    pub(super) node: Node,
}

impl Table {
    /// The value under `key`.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value under `key`, to be changed.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

/// The tree of a parsed file.
pub(super) fn of_file(table: &DeTable<'_>) -> Table {
    copy_table(table, &|span| At::File(span))
}

/// The tree of a setting's value: TOML where the text is a TOML value other than a date or time,
/// else a text, so that users need not quote `10 Mb/s`.
pub(super) fn of_setting(number: usize, text: &str) -> Node {
    let at = |_| At::Setting(number);
    match DeValue::parse(text.trim()) {
        Ok(value) if !value.get_ref().is_datetime() => copy(&value, &at),
        _ => Node { at: At::Setting(number), value: Value::Text(text.to_owned()) },
    }
}

/// A value as TOML has it on one line.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => format!("{number:?}").to_lowercase(),
        Value::Truth(truth) => truth.to_string(),
        Value::List(list) => {
            let members: Vec<String> = list.iter().map(|node| written(&node.value)).collect();
            format!("[{}]", members.join(", "))
        }
        Value::Table(table) => {
            let entries = table
                .entries
                .iter()
                .map(|entry| format!("{} = {}", quoted(&entry.key), written(&entry.node.value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Other => "\"\"".to_owned(),
    }
}

/// A basic string (TOML 1.0, "String").
fn quoted(text: &str) -> String {
    let letter = |letter: char| match letter {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        control if controls(control) => format!("\\u{:04X}", u32::from(control)),
        plain => plain.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}

fn copy(value: &Spanned<DeValue<'_>>, at: &dyn Fn(Range<usize>) -> At) -> Node {
    let copied = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Other, Value::Whole)
        }
        DeValue::Float(number) => number.as_str().parse().map_or(Value::Other, Value::Number),
        DeValue::Boolean(truth) => Value::Truth(*truth),
        DeValue::Datetime(_) => Value::Other,
        DeValue::Array(list) => Value::List(list.iter().map(|entry| copy(entry, at)).collect()),
        DeValue::Table(table) => Value::Table(copy_table(table, at)),
    };
    Node { at: at(value.span()), value: copied }
}

fn copy_table(table: &DeTable<'_>, at: &dyn Fn(Range<usize>) -> At) -> Table {
    let mut rows: Vec<_> = table.iter().collect();
    rows.sort_by_key(|(key, _)| key.span().start);
    let entries = rows.into_iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        key_at: at(key.span()),
        node: copy(value, at),
    });
    Table { entries: entries.collect() }
}
