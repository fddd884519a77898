//! Settings: values put into the tree before it is read.

use super::fields::clip;
use super::nearest::{listed, suggestion};
use super::problem::{Problems, Spot};
use super::tree::{self, At, Entry, Node, Table, Value};

/// Puts the setting with this number into `table`.
pub(super) fn apply(table: &mut Table, number: usize, key: &str, value: &str, problems: &Problems) {
    let spot = Spot { at: At::Setting(number), path: clip(key) };
    let parts: Vec<&str> = key.split('.').map(str::trim).collect();
    let Some((last, way)) =
        parts.split_last().filter(|_| parts.iter().all(|part| !part.is_empty()))
    else {
        return problems.note(
            &spot,
            "this is not a key: keys are joined with dots, `traffic.background.load`",
        );
    };
    match below(table, way, number) {
        Ok(table) => put(table, last, tree::of_setting(number, value), number),
        Err(problem) => problems.note(&spot, problem),
    }
}

/// The table that `way` leads to. Tables inside of a group, such as a link's `forth`, are made
/// where they are missing; groups are not, because a new one can only be a mistake.
fn below<'a>(
    mut table: &'a mut Table,
    way: &[&str],
    number: usize,
) -> Result<&'a mut Table, String> {
    for (depth, key) in way.iter().enumerate() {
        if table.get(key).is_none() {
            if depth < 2 {
                return Err(missing(table, key));
            }
            put(
                table,
                key,
                Node { at: At::Setting(number), value: Value::Table(Table::default()) },
                number,
            );
        }
        let entry = table.get_mut(key).ok_or_else(|| format!("there is no `{}`", clip(key)))?;
        let what = entry.node.value.what();
        let Value::Table(next) = &mut entry.node.value else {
            return Err(format!("`{}` is {what}, so nothing is below it", clip(key)));
        };
        table = next;
    }
    Ok(table)
}

fn missing(table: &Table, key: &str) -> String {
    let known = || table.entries.iter().map(|entry| entry.key.as_str());
    format!(
        "there is no `{}`{}; there are {}",
        clip(key),
        suggestion(key, known()),
        listed(known())
    )
}

fn put(table: &mut Table, key: &str, node: Node, number: usize) {
    match table.get_mut(key) {
        Some(entry) => entry.node = node,
        None => {
            table.entries.push(Entry { key: key.to_owned(), key_at: At::Setting(number), node });
        }
    }
}
