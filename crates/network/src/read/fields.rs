//! Reading a table key by key: the reader asks for every key by name, so a key that it never asked
//! for is unknown.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use btu_units::plain;

use super::nearest::{listed, suggestion};
use super::problem::{Problems, Spot};
use super::tree::{self, At, Node, Table, Value};

/// Longest text that is read as a quantity or a name.
const LONGEST: usize = 100;

/// A value with the keys that lead to it.
#[derive(Debug, Clone)]
pub struct Item<'a> {
    pub(super) node: &'a Node,
    pub(super) spot: Spot,
    problems: &'a Problems,
}

/// A table that is being read.
#[derive(Debug)]
pub struct Fields<'a> {
    table: &'a Table,
    pub(super) spot: Spot,
    problems: &'a Problems,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// Begins to read `table`.
    pub(super) fn of(table: &'a Table, spot: Spot, problems: &'a Problems) -> Self {
        Self { table, spot, problems, asked: RefCell::default() }
    }

    /// The place of this table in its file or setting, for error messages.
    pub const fn spot(&self) -> &Spot {
        &self.spot
    }

    /// The value under `key`.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        let entry = self.table.get(key)?;
        Some(Item {
            node: &entry.node,
            spot: self.below(key, &entry.node.at),
            problems: self.problems,
        })
    }

    /// The value under `key`, which must be there.
    pub fn need(&self, key: &'static str, example: &str) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            self.problem(format!("`{key}` is missing: write for example `{key} = {example}`"));
        }
        item
    }

    /// The quantity under `key`.
    pub fn quantity<T: FromStr>(&self, key: &'static str) -> Option<T>
    where
        T::Err: Display,
    {
        self.get(key)?.quantity()
    }

    /// The quantity under `key`, within bounds.
    pub fn quantity_in<T>(&self, key: &'static str, bounds: RangeInclusive<T>) -> Option<T>
    where
        T: FromStr + PartialOrd + Display,
        T::Err: Display,
    {
        self.get(key)?.quantity_in(bounds)
    }

    /// The whole number under `key`.
    pub fn whole(&self, key: &'static str, bounds: RangeInclusive<u32>) -> Option<u32> {
        self.get(key)?.whole(bounds)
    }

    /// The truth value under `key`.
    pub fn truth(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.truth()
    }

    /// The members of the table, each as an item: for tables with names as keys.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, Spot, Item<'a>)> {
        self.table.entries.iter().map(|entry| {
            let spot = self.below(&entry.key, &entry.key_at);
            let item = Item { node: &entry.node, spot: spot.clone(), problems: self.problems };
            (entry.key.as_str(), spot, item)
        })
    }

    /// Reports a problem of the table.
    pub fn problem(&self, message: impl Into<String>) {
        self.problems.note(&self.spot, message);
    }

    /// Reports a problem at a place that was reached from the table.
    pub fn problem_at(&self, spot: &Spot, message: impl Into<String>) {
        self.problems.note(spot, message);
    }

    /// Reports every key that the reader did not ask for.
    pub fn finish(self) {
        let asked = self.asked.into_inner();
        for entry in self.table.entries.iter().filter(|entry| !asked.contains(&entry.key.as_str()))
        {
            if self.problems.full() {
                return;
            }
            let spot = Spot {
                at: entry.key_at.clone(),
                path: format!("{}{}", prefix(&self.spot.path), clip(&entry.key)),
            };
            let meant = suggestion(&entry.key, asked.iter().copied());
            let known = listed(asked.iter().copied());
            self.problems
                .note(&spot, format!("there is no such key here{meant}; there are {known}"));
        }
    }

    fn below(&self, key: &str, at: &At) -> Spot {
        Spot { at: at.clone(), path: format!("{}{}", prefix(&self.spot.path), clip(key)) }
    }
}

impl<'a> Item<'a> {
    /// The place of this item in its file or setting, for error messages.
    pub const fn spot(&self) -> &Spot {
        &self.spot
    }

    /// The value as it would be written in a setting.
    pub fn written(&self) -> String {
        match &self.node.value {
            Value::Text(text) => text.clone(),
            other => tree::written(other),
        }
    }

    /// The value as a text.
    pub fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) if text.len() <= LONGEST => Some(text),
            Value::Text(_) => self.none(format!("this is longer than {LONGEST} characters")),
            other => {
                self.none(format!("this is {}; a text is wanted, in quotation marks", other.what()))
            }
        }
    }

    /// The value as a text of any length.
    pub fn prose(&self) -> Option<String> {
        match &self.node.value {
            Value::Text(text) => Some(text.clone()),
            other => {
                self.none(format!("this is {}; a text is wanted, in quotation marks", other.what()))
            }
        }
    }

    /// The value as a quantity: a text, because a quantity has a unit.
    pub fn quantity<T: FromStr>(&self) -> Option<T>
    where
        T::Err: Display,
    {
        let text = self.quantity_text()?;
        let explain = |error: T::Err| {
            let message = error.to_string();
            let meant = if message.contains("b/s") { meant(&text) } else { String::new() };
            self.problem(message + &meant);
        };
        text.parse().map_err(explain).ok()
    }

    /// The value as it is written, a bare number too: the reader of quantities then names the
    /// units.
    pub(super) fn quantity_text(&self) -> Option<String> {
        match &self.node.value {
            Value::Whole(number) => Some(number.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => self.text().map(str::to_owned),
        }
    }

    /// The value as a quantity within bounds.
    pub fn quantity_in<T>(&self, bounds: RangeInclusive<T>) -> Option<T>
    where
        T: FromStr + PartialOrd + Display,
        T::Err: Display,
    {
        let value = self.quantity()?;
        if bounds.contains(&value) {
            return Some(value);
        }
        self.none(format!(
            "{value} is not possible here: from {} to {} is",
            bounds.start(),
            bounds.end()
        ))
    }

    /// The value as a whole number.
    pub fn whole(&self, bounds: RangeInclusive<u32>) -> Option<u32> {
        let Value::Whole(number) = self.node.value else {
            return self
                .none(format!("this is {}; a whole number is wanted", self.node.value.what()));
        };
        let fits = u32::try_from(number).ok().filter(|number| bounds.contains(number));
        fits.or_else(|| {
            self.none(format!(
                "{number} is not possible here: from {} to {} is",
                bounds.start(),
                bounds.end()
            ))
        })
    }

    /// The value as a number, whole or not.
    pub fn number(&self, bounds: RangeInclusive<f64>) -> Option<f64> {
        let number = match self.node.value {
            Value::Whole(number) => number as f64,
            Value::Number(number) => number,
            _ => {
                return self.none(format!(
                    "this is {}; a number is wanted, without a unit",
                    self.node.value.what()
                ));
            }
        };
        if bounds.contains(&number) {
            return Some(number);
        }
        self.none(format!(
            "{number} is not possible here: from {} to {} is",
            bounds.start(),
            bounds.end()
        ))
    }

    /// The value as a truth value.
    pub fn truth(&self) -> Option<bool> {
        match self.node.value {
            Value::Truth(truth) => Some(truth),
            ref other => {
                self.none(format!("this is {}; `true` or `false` is wanted", other.what()))
            }
        }
    }

    /// The value as one of these words, with its meaning.
    pub fn word<T: Clone>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| value.clone());
        found.or_else(|| self.unknown(text, words.iter().map(|(word, _)| *word)))
    }

    /// Reports an unknown word.
    pub fn unknown<'k, T>(
        &self,
        text: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Option<T> {
        let meant = suggestion(text, known.clone());
        self.none(format!("`{}` is not known here{meant}; there are {}", clip(text), listed(known)))
    }

    /// The members of the list, or the value itself if it is not a list.
    pub fn each(&self) -> Vec<Item<'a>> {
        let Value::List(list) = &self.node.value else { return vec![self.clone()] };
        let item = |(place, node): (usize, &'a Node)| Item {
            node,
            spot: Spot { at: node.at.clone(), path: format!("{}[{place}]", self.spot.path) },
            problems: self.problems,
        };
        list.iter().enumerate().map(item).collect()
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// The value as a table.
    pub fn fields(&self) -> Option<Fields<'a>> {
        match &self.node.value {
            Value::Table(table) => Some(Fields::of(table, self.spot.clone(), self.problems)),
            other => self.none(format!("this is {}; a table is wanted", other.what())),
        }
    }

    /// Adds `message` as a problem at the place of this item.
    pub fn problem(&self, message: impl Into<String>) {
        self.problems.note(&self.spot, message);
    }

    fn none<T>(&self, message: String) -> Option<T> {
        self.problem(message);
        None
    }
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}.") }
}

/// A text short enough for a message.
pub(super) fn clip(text: &str) -> String {
    const SHOWN: usize = 70;
    let text = plain(text);
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// `, did you mean ...?` for a rate in the words of tc, or nothing.
fn meant(text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix("/s").unwrap_or(&text);
    let Some((number, prefix)) =
        text.strip_suffix("bit").and_then(|text| text.split_at_checked(text.len().checked_sub(1)?))
    else {
        return String::new();
    };
    match prefix {
        "k" => format!(" (did you mean `{} kb/s`?)", number.trim()),
        "m" | "g" => {
            format!(" (did you mean `{} {}b/s`?)", number.trim(), prefix.to_ascii_uppercase())
        }
        _ => String::new(),
    }
}
