//! Saves changed values: as a network file with the comments of the old one, and as a command line.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use btu_units::shell_word;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::asking::{Basis, Changes};
use super::state::{NO_TRANSFER, Saved, TRANSFER};
use crate::files;

/// Writes the network file with these changes to `path`; it overwrites an existing file only if the
/// user confirmed that.
pub(super) fn save(basis: &Basis, changes: &Changes, path: &Path, over: bool) -> Saved {
    let mut of_file = changes.clone();
    of_file.remove(TRANSFER);
    let text = match changed(&basis.source.text, &basis.settings(&of_file)) {
        Ok(text) => text,
        Err(problem) => return Saved::Failed(problem),
    };
    let opened = if over { files::create(path) } else { File::create_new(path) };
    let written =
        opened.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    match written {
        Ok(()) if changes.contains_key(TRANSFER) => {
            Saved::Done(format!("{}; a transfer is not a part of a file", told(path)))
        }
        Ok(()) => Saved::Done(told(path)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Saved::Exists(path.to_owned()),
        Err(error) => Saved::Failed(format!("writing {}: {error}", path.display())),
    }
}

/// The message about the written file, which is read again: it may name files that are not in its
/// directory.
fn told(path: &Path) -> String {
    let name = path.display().to_string();
    // A whole path is never a name of the library.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let read = files::source(&whole.display().to_string()).map_err(|error| error.to_string());
    match read.and_then(|source| source.read(&[]).map_err(|error| error.to_string())) {
        Ok(_) => format!("written to {name}"),
        Err(problem) => {
            format!(
                "written to {name}, which cannot be read: {}",
                problem.lines().next().unwrap_or_default()
            )
        }
    }
}

/// The file's text with these settings; everything else, comments too, stays as it is.
fn changed(text: &str, settings: &[(String, String)]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error| format!("this is not TOML: {error}"))?;
    for (key, value) in settings {
        let mut way: Vec<&str> = key.split('.').map(str::trim).collect();
        let last = way.pop().unwrap_or_default();
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for part in way {
            let item = table.entry(part).or_insert_with(|| Item::Table(Table::new()));
            table = item
                .as_table_like_mut()
                .ok_or_else(|| format!("{key}: `{part}` is not a table"))?;
        }
        put(table, last, value);
    }
    Ok(document.to_string())
}

/// Puts a value in its place, with the blanks and comments round the old one.
fn put(table: &mut dyn TableLike, key: &str, text: &str) {
    // Like settings: TOML if it is valid TOML, else a text.
    let parsed = text.trim().parse::<Value>().ok().filter(|value| !value.is_datetime());
    let mut value = parsed.unwrap_or_else(|| Value::from(text.trim()));
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// The command line that opens this state.
pub(super) fn command_line(
    name: &str,
    basis: &Basis,
    changes: &Changes,
    transfer: Option<&str>,
) -> String {
    let mut words = vec!["btu model".to_owned(), shell_word(name)];
    let mut of_file = changes.clone();
    of_file.remove(TRANSFER);
    for (key, value) in basis.settings(&of_file) {
        words.push(format!("--set {key}={}", shell_word(&value)));
    }
    if let Some(size) = transfer.filter(|size| *size != NO_TRANSFER) {
        words.push(format!("--transfer {}", shell_word(size)));
    }
    if let Some(flow) = &basis.transfer.flow {
        words.push(format!("--flow {}", shell_word(flow)));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# a laboratory\n[segments.ether] # the cable\nmedium = \"shared-ethernet\"\nrate = \"10 Mb/s\" # old\n\n\
                    # who\n[stations.pc]\nsegment = \"ether\"\ncount = 3\n[links.x]\nloss = { p = \"1 %\", r = \"30 %\" } # b\n";
        let settings = [
            ("segments.ether.rate", "100 Mb/s"),
            ("segments.ether.length", "200 m"),
            ("stations.pc.count", "20"),
            ("links.x.loss.r", "5 %"),
            ("links.x.forth.delay", "1 ms"),
        ];
        let expected = "# a laboratory\n[segments.ether] # the cable\nmedium = \"shared-ethernet\"\nrate = \"100 Mb/s\" # old\n\
                        length = \"200 m\"\n\n# who\n[stations.pc]\nsegment = \"ether\"\ncount = 20\n[links.x]\n\
                        loss = { p = \"1 %\", r = \"5 %\" } # b\n\n[links.x.forth]\ndelay = \"1 ms\"\n";
        assert_eq!(changed(text, &pairs(&settings)).unwrap(), expected);
    }

    /// The written file gives the drawing of the settings, for every value of every network of the
    /// library.
    #[test]
    fn the_file_says_what_the_settings_said() {
        for (name, text) in btu_network::library() {
            let source = files::source(name).unwrap();
            let (_, listed) = source.read_parameters(&[]).unwrap();
            let settings: Vec<_> = listed.into_iter().map(|at| (at.key, at.text)).collect();
            let written = changed(text, &settings).unwrap();
            let drawing = btu_network::Drawing::read(&written, name)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(drawing == source.read(&settings).unwrap(), "{name}");
        }
    }
}
