//! JSON of others: bounded lists, and errors that name the field.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use btu_units::plain;
use serde::de::{Deserialize, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, de};

/// The most entries of a list: iperf3's of a day with an entry each second has 86,400.
pub(super) const MOST_ENTRIES: usize = 100_000;

/// The most names of a table: that of Flent's largest test has some hundred series.
const MOST_NAMES: usize = 1000;

/// The longest name or message that is kept, in characters.
const LONGEST: usize = 200;

/// A list that ends at [`MOST_ENTRIES`] while it is read, before it fills the memory.
#[derive(Debug, Clone)]
pub(super) struct BoundedList<T>(pub(super) Vec<T>);

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Entries(PhantomData)).map(Self)
    }
}

/// Values by their names, of which [`MOST_NAMES`] are read.
#[derive(Debug, Clone)]
pub(super) struct BoundedMap<T>(pub(super) BTreeMap<String, T>);

impl<T> Default for BoundedMap<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedMap<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Names(PhantomData)).map(Self)
    }
}

struct Entries<T>(PhantomData<T>);

struct Names<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Names<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values with names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        let mut values = BTreeMap::new();
        while let Some((name, value)) = table.next_entry()? {
            if values.len() == MOST_NAMES {
                return Err(A::Error::custom(TooLong("table", MOST_NAMES)));
            }
            values.insert(name, value);
        }
        Ok(values)
    }
}

/// A table in which names may occur twice: it gets each value with its name.
pub(super) trait Table: Default {
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, from: &mut A) -> Result<(), A::Error>;
}

/// Reads such a table.
pub(super) fn table<'de, T: Table, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Keys(PhantomData))
}

struct Keys<T>(PhantomData<T>);

impl<'de, T: Table> Visitor<'de> for Keys<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values with names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<T, A::Error> {
        let mut table = T::default();
        while let Some(key) = from.next_key::<String>()? {
            table.take(&key, &mut from)?;
        }
        Ok(table)
    }
}

/// More entries than are read.
struct TooLong(&'static str, usize);

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NO_FIELD} {} has more than {} entries", self.0, self.1)
    }
}

/// How a message begins that is about no field.
const NO_FIELD: &str = "its longest";

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            if entries.len() == MOST_ENTRIES {
                return Err(A::Error::custom(TooLong("list", MOST_ENTRIES)));
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

/// A document, as far as `T` takes it.
pub(super) fn document<'a, T: de::Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| explain(text, &error))
}

/// What is wrong with a document, in words. The library says the line and column.
fn explain(text: &str, error: &serde_json::Error) -> String {
    let said = shown(&error.to_string());
    let place = place(text, error.line(), error.column());
    // The last digits of a number may be missing, too.
    if error.is_eof() || place >= text.trim_end().len() {
        let line = error.line();
        return format!("its JSON is cut short at line {line}: copy the file again");
    }
    // Where a list is too long, the place is that of the value in it.
    if said.starts_with(NO_FIELD) {
        return said;
    }
    match field_before(text, place) {
        // The library names a missing or doubled field itself.
        Some(field) if !["missing", "duplicate"].iter().any(|one| said.starts_with(one)) => {
            format!("its `{}` cannot be read: {said}", shown(field))
        }
        _ => format!("it cannot be read: {said}"),
    }
}

/// The byte of a line and column; both count from 1.
fn place(text: &str, line: usize, column: usize) -> usize {
    let mut ends = text.match_indices('\n').map(|(place, _)| place + 1);
    let start = line.checked_sub(2).and_then(|before| ends.nth(before));
    start.unwrap_or(0) + column
}

/// The name of the field whose value ends at this byte.
fn field_before(text: &str, place: usize) -> Option<&str> {
    let (before, _) = text.get(..place)?.rsplit_once(':')?;
    let (_, name) = before.trim_end().strip_suffix('"')?.rsplit_once('"')?;
    Some(name)
}

/// A text of another program as it is kept: on one line, and not longer than a line.
pub(super) fn shown(text: &str) -> String {
    let text = plain(text.trim());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 3).chain("...".chars()).collect()
}
