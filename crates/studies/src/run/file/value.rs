//! `value` and `values`: what is measured of a program or an activity.

use btu_network::{Fields, Item};

use super::super::pattern::Pattern;
use super::super::value::{Better, Stream, Value, What};
use super::setup::GroupEntry;

/// The words after `of`.
const WORDS: [(&str, What); 8] = [
    ("elapsed", What::Elapsed),
    ("cpu", What::Cpu),
    ("memory", What::Memory),
    ("switches", What::Switches),
    ("goodput", What::Goodput),
    ("round-trip", What::RoundTrip),
    ("round-trip-p99", What::RoundTripP99),
    ("loss", What::Loss),
];

/// Most values of an entry.
const MOST: usize = 16;

/// The values of an entry: by default the elapsed time.
pub(super) fn read(entry: &GroupEntry<'_, '_>, is_program: bool) -> Vec<Value> {
    let (one, several) = (entry.fields.get("value"), entry.fields.get("values"));
    match (one, several) {
        (Some(one), None) => {
            value(entry.name.to_owned(), entry.name, &one, is_program).into_iter().collect()
        }
        (None, Some(several)) => {
            let Some(fields) = several.fields() else { return Vec::new() };
            if fields.members().nth(MOST).is_some() {
                several.problem(format!("an entry has {MOST} values at most"));
            }
            let named = fields.members().filter_map(|(name, _, item)| {
                value(format!("{}.{name}", entry.name), entry.name, &item, is_program)
            });
            named.collect()
        }
        (Some(_), Some(several)) => {
            several.problem("`value` is one value and `values` are several: write one of them");
            Vec::new()
        }
        (None, None) => {
            vec![of_kind(entry.name.to_owned(), entry.name, What::Elapsed, "s", Better::Lower)]
        }
    }
}

fn of_kind(name: String, of: &str, what: What, unit: &str, better: Better) -> Value {
    Value { name, of: of.to_owned(), what, unit: unit.to_owned(), better }
}

fn value(name: String, of: &str, item: &Item<'_>, is_program: bool) -> Option<Value> {
    if !item.is_table() {
        let word = item.word(&WORDS)?;
        return known(name, of, word, item, is_program);
    }
    let fields = item.fields()?;
    let what = what(item, &fields);
    let unit = fields.get("unit").and_then(|item| item.text().map(str::to_owned));
    let better = fields
        .get("better")
        .and_then(|item| item.word(&[("lower", Better::Lower), ("higher", Better::Higher)]));
    let what = what.filter(|what| allowed(what, item, is_program));
    let usual = what.as_ref().and_then(What::usual);
    if what.is_some() && usual.is_none() {
        fields.need("unit", "\"requests/s\"");
        fields.need("better", "\"higher\"");
    }
    fields.finish();
    let (what, usual) = (what?, usual.map(|(unit, better)| (unit.to_owned(), better)));
    let unit = unit.or_else(|| usual.as_ref().map(|(unit, _)| unit.clone()))?;
    let better = better.or_else(|| usual.map(|(_, better)| better))?;
    Some(Value { name, of: of.to_owned(), what, unit, better })
}

fn known(name: String, of: &str, what: What, item: &Item<'_>, is_program: bool) -> Option<Value> {
    let (unit, better) = what.usual()?;
    allowed(&what, item, is_program).then(|| of_kind(name, of, what, unit, better))
}

fn allowed(what: &What, item: &Item<'_>, is_program: bool) -> bool {
    let is_good = if is_program { what.is_of_programs() } else { what.is_of_activities() };
    if !is_good {
        let whose = if is_program { "a program has" } else { "an activity has" };
        let good = WORDS.iter().filter(|(_, what)| {
            if is_program { what.is_of_programs() } else { what.is_of_activities() }
        });
        let good: Vec<&str> = good.map(|(word, _)| *word).collect();
        item.problem(format!("{whose} no such value; there are `{}`", good.join("`, `")));
    }
    is_good
}

fn what(item: &Item<'_>, fields: &Fields<'_>) -> Option<What> {
    let of = fields.get("of").and_then(|item| item.word(&WORDS));
    let found = fields.get("pattern").and_then(|item| {
        let text = item.prose()?;
        Pattern::new(text).map_err(|why| item.problem(why)).ok()
    });
    let pointer = fields.get("pointer").and_then(|item| {
        let text = item.prose()?;
        let is_one = text.is_empty() || text.starts_with('/');
        if !is_one {
            item.problem(
                "a JSON pointer begins with `/`, as `/end/sum_received/bits_per_second` does",
            );
        }
        is_one.then_some(text)
    });
    let column = fields.get("column").map(|item| item.written());
    let row = fields.get("row").map(|item| item.written());
    let stream = fields
        .get("stream")
        .and_then(|item| item.word(&[("output", Stream::Output), ("errors", Stream::Errors)]));
    let stream = stream.unwrap_or(Stream::Output);
    let named = ["of", "pattern", "pointer", "column"]
        .into_iter()
        .filter(|key| fields.get(key).is_some())
        .count();
    if named != 1 {
        item.problem("one of `of`, `pattern`, `pointer` and `column` says what the value is");
        return None;
    }
    let pattern = found.map(|pattern| What::Pattern { pattern, stream });
    let pointer = pointer.map(|pointer| What::Pointer { pointer, stream });
    let column = column.map(|column| What::Column { column, row, stream });
    of.or(pattern).or(pointer).or(column)
}
