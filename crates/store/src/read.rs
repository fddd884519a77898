//! Finds runs and reads their stored data.

use btu_units::Span;
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use crate::plain::{cleaned_lines, shown};
use crate::run::{Event, Level, Moment, RunId, RunRow, RunSummary, State};
use crate::{Store, StoreError};

/// The profile of runs that other hosts' clients made of a server of this user, who did not start them.
pub const SERVED: &str = "iperf3-server";

/// The fewest characters of a uuid that select a run: fewer are probably a typing error.
const UUID_PREFIX_LEAST: usize = 4;

const SUMMARY: &str =
    "SELECT id, uuid, study, profile, network, label, state, created, finished, spent_ns,
    imported, btu_version, planned_cells, answer, answer_of,
    (SELECT count(*) FROM cells WHERE run = runs.id),
    (SELECT count(*) FROM cells WHERE run = runs.id AND valid)
    FROM runs";

impl ToSql for RunId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.number().into())
    }
}

impl Store {
    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let rows = self.all("list the runs", &format!("{SUMMARY} ORDER BY id"), [], raw_summary)?;
        rows.into_iter().map(|raw| self.finish_summary(raw)).collect()
    }

    /// The run that `selector` means: `latest`, a number (`r12` or `12`), or the first characters
    /// of a uuid, at least four, that no other run shares. `latest` is no [`SERVED`] run.
    pub fn find(&self, selector: &str) -> Result<RunId, StoreError> {
        let selector = selector.trim();
        if selector == "latest" {
            let sql = "SELECT max(id) FROM runs WHERE profile <> ?1 HAVING max(id) IS NOT NULL";
            return self.only(sql, [SERVED], selector);
        }
        let number = selector.strip_prefix(['r', 'R']).unwrap_or(selector).parse::<i64>();
        if let Ok(number) = number {
            match self.only("SELECT id FROM runs WHERE id = ?1", [number], selector) {
                Err(StoreError::UnknownRun { .. }) => {}
                found => return found,
            }
        }
        self.find_uuid(selector)
    }

    /// All stored data of the run that `selector` means, except its cells; see [`Store::find`].
    pub fn run(&self, selector: &str) -> Result<RunRow, StoreError> {
        let run = self.find(selector)?;
        let explain = self.explain("read a run");
        let columns = "SELECT seed, plan, plan_hash, calibration FROM runs WHERE id = ?1";
        let (seed, plan, plan_hash, calibration) = self
            .connection
            .query_row(columns, [run], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            })
            .map_err(&explain)?;
        Ok(RunRow {
            summary: self.summary(run)?,
            seed: seed
                .parse()
                .map_err(|_| self.damaged_run(run, format!("its seed is `{seed}`")))?,
            plan: self.json(run, "plan", &plan)?,
            plan_hash,
            calibration: calibration
                .map(|text| self.json(run, "calibration", &text))
                .transpose()?,
            environments: self.environments(run)?,
            events: self.events(run)?,
        })
    }

    /// The data of `run` for a list; it can be read even if the other data cannot.
    pub fn summary(&self, run: RunId) -> Result<RunSummary, StoreError> {
        let raw =
            self.connection.query_row(&format!("{SUMMARY} WHERE id = ?1"), [run], raw_summary);
        self.finish_summary(raw.map_err(self.explain("read a run"))?)
    }

    fn find_uuid(&self, selector: &str) -> Result<RunId, StoreError> {
        let prefix = selector.to_ascii_lowercase();
        let is_uuid = prefix.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if prefix.len() < UUID_PREFIX_LEAST || !is_uuid {
            return Err(self.unknown(selector));
        }
        self.only(
            "SELECT id FROM runs WHERE substr(uuid, 1, length(?1)) = ?1 ORDER BY id",
            [prefix],
            selector,
        )
    }

    fn unknown(&self, selector: &str) -> StoreError {
        let any = "SELECT EXISTS (SELECT 1 FROM runs)";
        match self.connection.query_row(any, [], |row| row.get::<_, bool>(0)) {
            Ok(any) => StoreError::UnknownRun { selector: selector.to_owned(), is_empty: !any },
            Err(error) => self.explain("look for a run")(error),
        }
    }

    /// The one run that a query finds.
    fn only(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        selector: &str,
    ) -> Result<RunId, StoreError> {
        let found = self.all("look for a run", sql, values, |row| row.get(0).map(RunId::new))?;
        match found[..] {
            [] => Err(self.unknown(selector)),
            [run] => Ok(run),
            _ => {
                let candidates =
                    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                Err(StoreError::Ambiguous { selector: selector.to_owned(), candidates })
            }
        }
    }

    fn environments(&self, run: RunId) -> Result<Vec<(Moment, Value)>, StoreError> {
        let sql = "SELECT moment, document FROM environments WHERE run = ?1 ORDER BY id";
        let rows = self.all("read the environments", sql, [run], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        rows.iter()
            .map(|(moment, document)| {
                let moment = self.word(run, Moment::from_name(moment), moment)?;
                Ok((moment, self.json(run, "environment", &cleaned_lines(document))?))
            })
            .collect()
    }

    fn events(&self, run: RunId) -> Result<Vec<Event>, StoreError> {
        let sql = "SELECT at, level, text FROM events WHERE run = ?1 ORDER BY id";
        let rows = self.all("read the events", sql, [run], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        rows.into_iter()
            .map(|(at, level, text)| {
                let level = self.word(run, Level::from_name(&level), &level)?;
                // Earlier versions stored texts as they were.
                Ok(Event { at, level, text: shown(&text) })
            })
            .collect()
    }

    /// Adds the data outside the row: tags, and whether a process still writes the run.
    fn finish_summary(&self, raw: (RunSummary, String)) -> Result<RunSummary, StoreError> {
        let (mut summary, stored) = raw;
        summary.state = self
            .shown_state(summary.id, self.word(summary.id, State::from_name(&stored), &stored)?)?;
        let sql = "SELECT tag FROM tags WHERE run = ?1 ORDER BY tag";
        summary.tags = self.all("read the tags", sql, [summary.id], |row| row.get(0))?;
        Ok(summary)
    }

    /// A run with the stored state `running` while no process holds its lock was interrupted. It
    /// may have ended between the two checks, so its state is read once more.
    fn shown_state(&self, run: RunId, stored: State) -> Result<State, StoreError> {
        if stored != State::Running || self.locks.is_taken(run)? {
            return Ok(stored);
        }
        let again: Option<String> = self
            .connection
            .query_row("SELECT state FROM runs WHERE id = ?1", [run], |row| row.get(0))
            .optional()
            .map_err(self.explain("read a run"))?;
        Ok(match again.as_deref().and_then(State::from_name) {
            Some(state) if state != State::Running => state,
            _ => State::Interrupted,
        })
    }

    pub(crate) fn all<T>(
        &self,
        operation: &'static str,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut select = self.connection.prepare_cached(sql).map_err(self.explain(operation))?;
        select.query_map(values, read).and_then(Iterator::collect).map_err(self.explain(operation))
    }

    fn json(&self, run: RunId, what: &str, text: &str) -> Result<Value, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| self.damaged_run(run, format!("its {what} is no JSON ({error})")))
    }

    fn word<T>(&self, run: RunId, known: Option<T>, name: &str) -> Result<T, StoreError> {
        known.ok_or_else(|| self.damaged_run(run, format!("`{name}` is an unknown word")))
    }
}

/// A summary from its own columns, and its state as stored.
fn raw_summary(row: &Row<'_>) -> rusqlite::Result<(RunSummary, String)> {
    let summary = RunSummary {
        id: RunId::new(row.get("id")?),
        uuid: row.get("uuid")?,
        study: row.get("study")?,
        profile: row.get("profile")?,
        network: row.get("network")?,
        label: row.get("label")?,
        tags: Vec::new(),
        state: State::Running,
        created: row.get("created")?,
        finished: row.get("finished")?,
        btu_version: row.get("btu_version")?,
        planned_cells: row.get("planned_cells")?,
        spent: row
            .get::<_, Option<i64>>("spent_ns")?
            .map(|spent| Span::from_nanoseconds(spent.unsigned_abs())),
        imported: row.get("imported")?,
        cells: row.get(15)?,
        valid_cells: row.get(16)?,
        answer: row.get::<_, Option<String>>("answer")?.zip(row.get("answer_of")?),
    };
    Ok((summary, row.get("state")?))
}
