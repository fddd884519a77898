//! Names runs and deletes them.

use rusqlite::params;

use crate::lock::RunLock;
use crate::plain::{LONGEST_LABEL, is_plain};
use crate::run::RunId;
use crate::{Store, StoreError};

/// The longest tag, in bytes.
const LONGEST_TAG: usize = 100;

impl Store {
    /// Gives `run` a tag; returns whether it is new. A tag has no blanks, commas or control
    /// characters, so that it can be written on a command line.
    pub fn tag(&self, run: RunId, tag: &str) -> Result<bool, StoreError> {
        check_tag(tag)?;
        let insert = "INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)";
        self.change("tag a run", insert, params![run, tag]).map(|rows| rows > 0)
    }

    /// Removes a tag from `run`; returns whether the run had it.
    pub fn untag(&self, run: RunId, tag: &str) -> Result<bool, StoreError> {
        let delete = "DELETE FROM tags WHERE run = ?1 AND tag = ?2";
        self.change("take a tag from a run", delete, params![run, tag]).map(|rows| rows > 0)
    }

    /// The runs that have `tag`, oldest first.
    pub fn tagged(&self, tag: &str) -> Result<Vec<RunId>, StoreError> {
        let sql = "SELECT run FROM tags WHERE tag = ?1 ORDER BY run";
        self.all("look for a tag", sql, [tag], |row| row.get(0).map(RunId::new))
    }

    /// Deletes a run with all its stored data. The caller holds its lock, so no other process is
    /// writing it.
    pub fn delete(&self, lock: RunLock) -> Result<(), StoreError> {
        let rows = self.change("delete a run", "DELETE FROM runs WHERE id = ?1", [lock.run()]);
        drop(lock);
        rows.map(drop)
    }

    /// Changes some rows in a transaction of its own; returns their number.
    fn change(
        &self,
        operation: &'static str,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<usize, StoreError> {
        let changed =
            self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values));
        changed.map_err(self.explain(operation))
    }
}

/// Refuses a text that cannot be written or shown as a tag.
pub fn check_tag(tag: &str) -> Result<(), StoreError> {
    let odd = |c: char| c.is_whitespace() || c == ',';
    if tag.is_empty()
        || tag.len() > LONGEST_TAG
        || tag.starts_with('-')
        // `tag:WORD` stands for the runs that have the tag WORD.
        || tag.starts_with("tag:")
        || tag.contains(odd)
        || !is_plain(tag)
    {
        return Err(StoreError::BadTag { tag: tag.to_owned() });
    }
    Ok(())
}

/// Refuses a text that cannot be shown in one line as a label.
pub fn check_label(label: &str) -> Result<(), StoreError> {
    if label.len() > LONGEST_LABEL || !is_plain(label) {
        return Err(StoreError::BadLabel { label: label.to_owned() });
    }
    Ok(())
}
