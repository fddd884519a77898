//! Database files that others made: what `SQLite` would do with them beyond reading and writing.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::Connection;

use crate::data_file::open_data_file;
use crate::error::StoreError;

/// What a rollback journal ends with that has the name of a super-journal (`aJournalMagic` in
/// `SQLite`'s `pager.c`).
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Something in the schema: its type, its name, and its definition.
pub(crate) type Object = (String, String, Option<String>);

/// Refuses a database whose journal names another file: `SQLite` removes that file when it opens
/// the database. Only transactions over several databases have such journals, and btu makes none.
pub(crate) fn refuse_journal_of_several(path: &Path) -> Result<(), StoreError> {
    // SQLite looks for the journal next to the file that a link leads to.
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push("-journal");
    let journal = real.with_file_name(name);
    match last_octets(&journal) {
        Ok(Some(JOURNAL_MAGIC)) => Err(StoreError::Damaged {
            path: path.to_owned(),
            what: format!(
                "`{}` is of a transaction over several databases, and btu makes none",
                journal.display()
            ),
        }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::from_io(&journal, &error)),
    }
}

fn last_octets(path: &Path) -> std::io::Result<Option<[u8; 8]>> {
    let mut file = open_data_file(path, File::options().read(true))?;
    let mut octets = [0; 8];
    if file.metadata()?.len() < octets.len() as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut octets)?;
    Ok(Some(octets))
}

/// Has `SQLite` believe less of the file: no function with effects in a schema, and pages are
/// checked as they are read.
pub(crate) fn be_careful(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// All that the schema of a database has. What `SQLite` makes for itself has no definition, or its
/// name begins with `sqlite_`.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<BTreeSet<Object>> {
    let mut select = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// What is in a schema and should not be, or is not and should be: a table that is a view, and a
/// trigger, would do work of another's choice.
pub(crate) fn difference(found: &BTreeSet<Object>, ours: &BTreeSet<Object>) -> Option<String> {
    let harmless = |(kind, name, _): &&Object| {
        // A view of the user's own is read by no query of btu.
        kind == "view" || (kind == "table" && name.starts_with("sqlite_stat"))
    };
    let (kind, name, _) = ours
        .difference(found)
        .chain(found.difference(ours).filter(|object| !harmless(object)))
        .next()?;
    Some(format!("its {} {:?} is not the one that btu makes", printable(kind), printable(name)))
}

fn printable(text: &str) -> &str {
    if text.len() <= 64 && !text.chars().any(char::is_control) { text } else { "?" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_journal_that_names_a_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        std::fs::write(&path, "").unwrap();
        let journal = directory.path().join("runs.sqlite-journal");
        refuse_journal_of_several(&path).unwrap();
        for octets in [&b""[..], b"short", &[0; 512], &JOURNAL_MAGIC[..7]] {
            std::fs::write(&journal, octets).unwrap();
            refuse_journal_of_several(&path).unwrap();
        }
        std::fs::write(&journal, [&[0; 512][..], b"/name", &JOURNAL_MAGIC].concat()).unwrap();
        let link = directory.path().join("link.sqlite");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            let refused = refuse_journal_of_several(path).unwrap_err().to_string();
            assert!(refused.contains("runs.sqlite-journal` is of a transaction over"), "{refused}");
        }
    }
}
