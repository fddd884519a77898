//! Writes runs from the database to a file.

use std::io::{self, Write};

use btu_contract::experiment::FindStudy;
use btu_units::hexadecimal;
use flate2::Compression;
use flate2::write::GzEncoder;
use rusqlite::{Row, Transaction, TransactionBehavior};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::import::run_fault;
use super::line::{ArchiveLine, CellLine, EndLine, EnvironmentLine, EventLine, HeadLine, RunLine};
use super::readable::Readable;
use super::reader::LONGEST_LINE;
use super::{ARCHIVE_VERSION, ArchiveError};
use crate::packed::Packed;
use crate::plain::{cleaned_lines, hides_controls, shown};
use crate::run::{RunId, State};
use crate::{Store, StoreError};

const RUN: &str =
    "SELECT uuid, study, profile, network, label, state, created, finished, seed, btu_version,
    planned_cells, plan, plan_hash, calibration, spent_ns FROM runs WHERE id = ?1";
const ENVIRONMENTS: &str = "SELECT moment, document FROM environments WHERE run = ?1 ORDER BY id";
const EVENTS: &str = "SELECT at, level, text FROM events WHERE run = ?1 ORDER BY id";
const CELLS: &str =
    "SELECT block, position, component, message_bytes, load, valid, goodput_bits_per_second,
    duration_ns, host_duration_ns, record FROM cells WHERE run = ?1 ORDER BY id";

const OPERATION: &str = "export runs";

impl Store {
    /// Writes `runs` with all their stored data to `file`, a cell at a time; returns the file.
    pub fn export<W: Write>(&self, runs: &[RunId], file: W) -> Result<W, ArchiveError> {
        self.export_as(&AsStored, runs, file)
    }

    /// Writes `runs` to `file` in another form than the stored one, a cell at a time; returns the
    /// file.
    pub fn export_as<W: Write>(
        &self,
        form: &dyn Rewrite,
        runs: &[RunId],
        file: W,
    ) -> Result<W, ArchiveError> {
        // This transaction reads one state of the database, although other processes may write
        // meanwhile.
        let _moment = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(self.explain(OPERATION))?;
        let mut writer =
            Writer { hash: Sha256::new(), gzip: GzEncoder::new(file, Compression::default()) };
        writer
            .line(&ArchiveLine::Archive(HeadLine { version: ARCHIVE_VERSION, runs: runs.len() }))?;
        for &run in runs {
            self.export_run(run, form, &mut writer)?;
        }
        Ok(writer.finish()?)
    }

    fn export_run<W: Write>(
        &self,
        run: RunId,
        form: &dyn Rewrite,
        writer: &mut Writer<W>,
    ) -> Result<(), ArchiveError> {
        let summary = self.summary(run)?;
        if summary.state == State::Running {
            return Err(ArchiveError::Unfinished { run });
        }
        let refused = |why| ArchiveError::Refused { run, why };
        self.each(RUN, run, run_line, |mut line| {
            line.tags.clone_from(&summary.tags);
            summary.state.name().clone_into(&mut line.state);
            // Earlier versions did not ask when they began the run.
            if let Some(what) = run_fault(&line) {
                return Err(ArchiveError::Unexportable { run, what });
            }
            Ok(writer.line(&ArchiveLine::Run(Box::new(form.run(line).map_err(refused)?)))?)
        })?;
        self.each(ENVIRONMENTS, run, environment_line, |line| {
            Ok(writer.line(&ArchiveLine::Environment(form.environment(line).map_err(refused)?))?)
        })?;
        self.each(EVENTS, run, event_line, |line| match form.event(line).map_err(refused)? {
            Some(line) => Ok(writer.line(&ArchiveLine::Event(line))?),
            None => Ok(()),
        })?;
        self.each(CELLS, run, cell_line, |line| {
            Ok(writer.line(&ArchiveLine::Cell(Box::new(form.cell(line).map_err(refused)?)))?)
        })
    }

    /// Does this with the line of each row that a query finds, holding one at a time.
    fn each<T>(
        &self,
        sql: &str,
        run: RunId,
        line: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        mut write: impl FnMut(T) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let explain = |error: rusqlite::Error| -> StoreError {
            match error {
                rusqlite::Error::FromSqlConversionFailure(..) => {
                    self.damaged_run(run, error.to_string())
                }
                other => self.explain(OPERATION)(other),
            }
        };
        let mut select = self.connection.prepare_cached(sql).map_err(explain)?;
        let mut rows = select.query([run]).map_err(explain)?;
        while let Some(row) = rows.next().map_err(explain)? {
            write(line(row).map_err(explain)?)?;
        }
        Ok(())
    }
}

/// A row of `runs`; tags and state are the caller's.
fn run_line(row: &Row<'_>) -> rusqlite::Result<RunLine> {
    let calibration = row.get_ref(13)? != rusqlite::types::ValueRef::Null;
    Ok(RunLine {
        uuid: row.get(0)?,
        study: row.get(1)?,
        profile: row.get(2)?,
        network: row.get(3)?,
        label: row.get(4)?,
        tags: Vec::new(),
        state: row.get(5)?,
        created: row.get(6)?,
        finished: row.get(7)?,
        seed: row.get(8)?,
        btu_version: row.get(9)?,
        planned_cells: row.get(10)?,
        plan: raw(row, 11)?,
        plan_hash: row.get(12)?,
        calibration: calibration.then(|| raw(row, 13)).transpose()?,
        spent_ns: row.get(14)?,
    })
}

fn environment_line(row: &Row<'_>) -> rusqlite::Result<EnvironmentLine> {
    let document = json(1, cleaned_lines(&row.get::<_, String>(1)?))?;
    Ok(EnvironmentLine { moment: row.get(0)?, document })
}

fn event_line(row: &Row<'_>) -> rusqlite::Result<EventLine> {
    let text = shown(&row.get::<_, String>(2)?);
    Ok(EventLine { at: row.get(0)?, level: row.get(1)?, text })
}

fn cell_line(row: &Row<'_>) -> rusqlite::Result<CellLine> {
    Ok(CellLine {
        block: row.get(0)?,
        position: row.get(1)?,
        component: row.get(2)?,
        message_bytes: row.get(3)?,
        load: row.get(4)?,
        valid: row.get(5)?,
        goodput_bits_per_second: row.get(6)?,
        duration_ns: row.get(7)?,
        host_duration_ns: row.get(8)?,
        record: record(row, 9)?,
    })
}

/// A cell's record.
fn record(row: &Row<'_>, column: usize) -> rusqlite::Result<Box<RawValue>> {
    let packed: Packed = row.get(column)?;
    let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, error)
    };
    let text = packed.text().map_err(|error| unreadable(error.into()))?;
    RawValue::from_string(text).map_err(|error| unreadable(error.into()))
}

/// A column of JSON, unchanged.
fn raw(row: &Row<'_>, column: usize) -> rusqlite::Result<Box<RawValue>> {
    json(column, row.get(column)?)
}

fn json(column: usize, text: String) -> rusqlite::Result<Box<RawValue>> {
    RawValue::from_string(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

/// Lines, compressed, with their hash.
struct Writer<W: Write> {
    hash: Sha256,
    gzip: GzEncoder<W>,
}

impl<W: Write> Writer<W> {
    fn line(&mut self, line: &ArchiveLine) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        if text.len() as u64 >= LONGEST_LINE || hides_controls(&text) {
            return Err(io::Error::other(format!(
                "a line of {} bytes would not be imported again",
                text.len()
            )));
        }
        self.text(text.as_bytes())
    }

    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.hash.update(text);
        self.gzip.write_all(text)
    }

    fn finish(mut self) -> io::Result<W> {
        let sha256 = hexadecimal(&self.hash.finalize_reset());
        self.line(&ArchiveLine::End(EndLine { sha256 }))?;
        self.gzip.finish()
    }
}

/// For fuzzers, which cannot produce valid compression, checksums or plan names: these lines as an
/// archive of this number of runs, in which every readable plan has its correct name.
#[doc(hidden)]
pub fn fuzz_sealed(lines: &str, runs: usize, find_study: FindStudy) -> io::Result<Vec<u8>> {
    let mut writer =
        Writer { hash: Sha256::new(), gzip: GzEncoder::new(Vec::new(), Compression::fast()) };
    writer.line(&ArchiveLine::Archive(HeadLine { version: ARCHIVE_VERSION, runs }))?;
    for line in lines.lines() {
        let line = resealed(line, find_study).unwrap_or_else(|| line.to_owned());
        writer.text(format!("{line}\n").as_bytes())?;
    }
    writer.finish()
}

/// A run's line with the correct name of its plan; `None` for every other line.
fn resealed(line: &str, find_study: FindStudy) -> Option<String> {
    let Ok(ArchiveLine::Run(mut run)) = serde_json::from_str(line) else { return None };
    run.plan_hash = Readable::name_of(&run.study, run.plan.get(), find_study)?;
    serde_json::to_string(&ArchiveLine::Run(run)).ok()
}

/// A form of runs in an archive: what becomes of each line. Without a word about it, a line is
/// written as it is stored. An error is what a user reads after `run r12`: why that run has no such
/// form.
pub trait Rewrite {
    /// The line of the run itself.
    ///
    /// # Errors
    /// The run has no such form.
    fn run(&self, line: RunLine) -> Result<RunLine, String> {
        Ok(line)
    }

    /// The machine at one moment.
    ///
    /// # Errors
    /// The run has no such form.
    fn environment(&self, line: EnvironmentLine) -> Result<EnvironmentLine, String> {
        Ok(line)
    }

    /// An event; `None` leaves it out.
    ///
    /// # Errors
    /// The run has no such form.
    fn event(&self, line: EventLine) -> Result<Option<EventLine>, String> {
        Ok(Some(line))
    }

    /// A cell.
    ///
    /// # Errors
    /// The run has no such form.
    fn cell(&self, line: CellLine) -> Result<CellLine, String> {
        Ok(line)
    }
}

/// Every line as it is stored.
pub struct AsStored;

impl Rewrite for AsStored {}
