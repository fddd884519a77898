//! Cells: written with one transaction each, read whole.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use btu_suite::cell::Row;
use btu_suite::pipe::Facts;
use btu_suite::record::CellRecord;
use btu_units::{Bytes, Span};
use rusqlite::{ErrorCode, Rows, params};
use serde::de::DeserializeOwned;

use crate::lock::RunLock;
use crate::packed::{Packed, RECORD, pack};
use crate::plain::cleaned;
use crate::readings::processor_columns;
use crate::run::RunId;
use crate::{Store, StoreError};

/// Records that are in memory as they are stored at a time. A full run has thousands, of some 16 KB
/// each.
const AT_ONCE: usize = 256;

pub(crate) const INSERT: &str =
    "INSERT INTO cells (run, block, position, component, message_bytes, load, valid,
    goodput_bits_per_second, duration_ns, host_duration_ns, record, packed, core_to_core_ns, arithmetic_ns)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '', ?11, ?12, ?13)";

/// The values of a cell with columns of their own. A host activity alone has no component and no
/// message.
pub(crate) struct Columns<'a> {
    pub(crate) component: &'a str,
    pub(crate) message_bytes: i64,
    pub(crate) load: &'a str,
    pub(crate) valid: bool,
    pub(crate) goodput_bits_per_second: Option<f64>,
    pub(crate) duration_ns: Option<i64>,
    pub(crate) host_duration_ns: Option<i64>,
}

/// A cell of another suite than the BTU benchmark's: its key, its columns for searches, and all its
/// data.
#[derive(Debug, Clone)]
pub struct NewCell<'a> {
    /// Its block, from 0.
    pub block: u32,
    /// Its place in the block, from 0.
    pub position: u32,
    /// The name of the component that was measured.
    pub component: &'a str,
    /// The size of the messages.
    pub message: Bytes,
    /// The load. Within a block of a run, each component, message and load occurs once.
    pub load: &'a str,
    /// Whether the cell is valid.
    pub valid: bool,
    /// The rate of the payload that arrived, in bits per second; absent when the cell has none.
    pub goodput_bits_per_second: Option<f64>,
    /// How long it took.
    pub duration: Option<Span>,
    /// The whole cell with its raw samples, as JSON.
    pub record: String,
}

impl<'a> NewCell<'a> {
    /// A cell with these columns; the record is JSON.
    pub fn of((block, position): (u32, u32), facts: &'a Facts, record: String) -> Self {
        let Facts { component, message, load, valid, goodput_bits_per_second, duration } = facts;
        Self {
            block,
            position,
            component,
            message: *message,
            load,
            valid: *valid,
            goodput_bits_per_second: *goodput_bits_per_second,
            duration: Some(*duration),
            record,
        }
    }
}

impl Store {
    /// Stores a cell with all its raw samples; when this returns, it has reached the device.
    pub fn save_cell(&self, lock: &RunLock, cell: &CellRecord) -> Result<(), StoreError> {
        check_finite(cell)?;
        let record = serde_json::to_string(cell).map_err(|error| {
            self.damaged(format!("`{}` cannot be written as JSON ({error})", cell.row))
        })?;
        self.insert(
            lock,
            (cell.block, cell.position),
            &Columns::of(cell),
            &record,
            &cell.row.to_string(),
        )
    }

    /// Stores a cell of another suite, with that suite's record, with the guarantee of
    /// [`Self::save_cell`].
    pub fn save_record(&self, lock: &RunLock, cell: &NewCell<'_>) -> Result<(), StoreError> {
        let columns = Columns {
            component: cell.component,
            message_bytes: i64::try_from(cell.message.count()).unwrap_or(i64::MAX),
            load: cell.load,
            valid: cell.valid,
            goodput_bits_per_second: cell.goodput_bits_per_second,
            duration_ns: cell.duration.map(column),
            host_duration_ns: None,
        };
        let name = format!("{} {}", cell.component, cell.message);
        self.insert(lock, (cell.block, cell.position), &columns, &cell.record, &name)
    }

    fn insert(
        &self,
        lock: &RunLock,
        (block, position): (u32, u32),
        columns: &Columns<'_>,
        record: &str,
        name: &str,
    ) -> Result<(), StoreError> {
        let explain = self.explain("store a cell");
        let record = &*cleaned(record);
        let [core_to_core_ns, arithmetic_ns] = processor_columns(record);
        let transaction = self.connection.unchecked_transaction().map_err(&explain)?;
        let outcome = transaction.prepare_cached(INSERT).map_err(&explain)?.execute(params![
            lock.run(),
            block,
            position,
            columns.component,
            columns.message_bytes,
            columns.load,
            columns.valid,
            columns.goodput_bits_per_second,
            columns.duration_ns,
            columns.host_duration_ns,
            pack(record),
            core_to_core_ns,
            arithmetic_ns
        ]);
        match outcome {
            Ok(_) => {
                let spent = "UPDATE runs SET spent_ns = spent_ns + ?2 WHERE id = ?1";
                let mut update = transaction.prepare_cached(spent).map_err(&explain)?;
                update.execute(params![lock.run(), column(lock.lap())]).map_err(&explain)?;
                drop(update);
                transaction.commit().map_err(explain)
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Err(StoreError::CellExists { run: lock.run(), block, row: name.to_owned() })
            }
            Err(error) => Err(explain(error)),
        }
    }

    /// Every stored cell of a run, in the order of its plan.
    pub fn cells(&self, run: RunId) -> Result<Vec<CellRecord>, StoreError> {
        self.records(run)
    }

    /// Every stored record of a run of any suite, in the order of its plan.
    pub fn records<T: DeserializeOwned + Send>(&self, run: RunId) -> Result<Vec<T>, StoreError> {
        let sql = format!("SELECT {RECORD} FROM cells WHERE run = ?1 ORDER BY block, position, id");
        let explain = self.explain("read the cells");
        let mut select = self.connection.prepare_cached(&sql).map_err(&explain)?;
        let mut rows = select.query([run]).map_err(&explain)?;
        let mut records = Vec::new();
        loop {
            let packed = self.next_packed(run, &mut rows)?;
            if packed.is_empty() {
                return Ok(records);
            }
            records.extend(self.parsed(run, &packed)?);
        }
    }

    /// At most [`AT_ONCE`] further records of a run.
    fn next_packed(&self, run: RunId, rows: &mut Rows<'_>) -> Result<Vec<Packed>, StoreError> {
        let explain = self.explain("read the cells");
        let mut all = Vec::new();
        while all.len() < AT_ONCE
            && let Some(row) = rows.next().map_err(&explain)?
        {
            let record = row.get(0);
            all.push(
                record.map_err(|error| {
                    self.damaged_run(run, format!("a cell is no text ({error})"))
                })?,
            );
        }
        Ok(all)
    }

    /// Nearly all the time of reading goes into parsing: every processor takes a share. Each record
    /// is unpacked by itself, so that they are never all in memory as text.
    fn parsed<T: DeserializeOwned + Send>(
        &self,
        run: RunId,
        packed: &[Packed],
    ) -> Result<Vec<T>, StoreError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let share = packed.len().div_ceil(threads).max(1);
        let parts: Vec<Result<Vec<T>, String>> = thread::scope(|scope| {
            let one = |packed: &Packed| {
                serde_json::from_str(&packed.text()?).map_err(|error| error.to_string())
            };
            let part = move |packed: &[Packed]| packed.iter().map(one).collect();
            let parts: Vec<_> =
                packed.chunks(share).map(|packed| scope.spawn(move || part(packed))).collect();
            parts
                .into_iter()
                .map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let all: Result<Vec<Vec<T>>, String> = parts.into_iter().collect();
        let all = all.map_err(|error| {
            self.damaged_run(run, format!("a cell is not what this btu knows ({error})"))
        })?;
        Ok(all.into_iter().flatten().collect())
    }

    pub(crate) fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what }
    }

    pub(crate) fn damaged_run(&self, run: RunId, what: String) -> StoreError {
        StoreError::DamagedRun { path: self.path.clone(), run, what }
    }
}

impl Columns<'static> {
    pub(crate) fn of(cell: &CellRecord) -> Self {
        let (component, message_bytes, load) = match cell.row {
            Row::Network { component, message, load } => {
                (component.name(), i64::try_from(message.count()).unwrap_or(i64::MAX), load.name())
            }
            Row::Host { load } => ("", 0, load.name()),
        };
        Self {
            component,
            message_bytes,
            load,
            valid: cell.is_valid(),
            goodput_bits_per_second: cell
                .network
                .as_ref()
                .map(|network| network.goodput_bits_per_second),
            duration_ns: cell.network.as_ref().map(|network| column(network.duration)),
            host_duration_ns: cell.host.as_ref().map(|host| column(host.duration)),
        }
    }
}

/// A span as an integer of the database, which has a sign: 292 years at most.
pub(crate) fn column(span: Span) -> i64 {
    i64::try_from(span.nanoseconds()).unwrap_or(i64::MAX)
}

/// JSON has no word for infinity, so such a figure would make the whole cell unreadable.
fn check_finite(cell: &CellRecord) -> Result<(), StoreError> {
    let network = cell.network.iter().flat_map(|network| {
        [("goodput", network.goodput_bits_per_second), ("share of losses", network.loss)]
    });
    let host = cell.host.iter().map(|host| ("share of overlap", host.overlap));
    match network.chain(host).find(|(_, value)| !value.is_finite()) {
        Some((field, value)) => {
            Err(StoreError::NotFinite { row: cell.row.to_string(), field, value })
        }
        None => Ok(()),
    }
}
