//! Cells: written with one transaction each, read whole.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use btu_contract::experiment::{Columns, Experiment};
use rusqlite::{ErrorCode, Rows, params};
use serde::de::DeserializeOwned;

use crate::lock::RunLock;
use crate::packed::{Packed, pack};
use crate::plain::cleaned;
use crate::readings::{column, processor_columns};
use crate::run::RunId;
use crate::{Store, StoreError};

/// Records that are in memory as they are stored at a time. A full run has thousands, of some 16 KB
/// each.
const AT_ONCE: usize = 256;

pub(crate) const INSERT: &str =
    "INSERT INTO cells (run, block, position, component, message_bytes, load, valid,
    goodput_bits_per_second, duration_ns, host_duration_ns, record, core_to_core_ns, arithmetic_ns)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

impl Store {
    /// Stores a cell of a run of this plan, with the guarantee of [`Self::save_record`].
    pub fn save<E: Experiment>(
        &self,
        lock: &RunLock,
        plan: &E,
        record: &E::Record,
    ) -> Result<(), StoreError> {
        let unfit = |why: String| self.damaged(format!("a cell cannot be stored: {why}"));
        let columns = plan.columns(record).map_err(unfit)?;
        let text = serde_json::to_string(record).map_err(|error| unfit(error.to_string()))?;
        self.save_record(lock, &columns, &text)
    }

    /// Stores a cell: its columns, and its record with all raw samples as JSON. When this returns, it
    /// has reached the device.
    pub fn save_record(
        &self,
        lock: &RunLock,
        columns: &Columns,
        record: &str,
    ) -> Result<(), StoreError> {
        // JSON has no word for infinity, so such a figure would make the whole cell unreadable.
        if let Some(value) = columns.goodput_bits_per_second.filter(|value| !value.is_finite()) {
            let row = columns.component.clone();
            return Err(StoreError::NotFinite { row, field: "goodput", value });
        }
        let explain = self.explain("store a cell");
        let record = &*cleaned(record);
        let [core_to_core_ns, arithmetic_ns] = processor_columns(record);
        let transaction = self.connection.unchecked_transaction().map_err(&explain)?;
        let outcome = transaction.prepare_cached(INSERT).map_err(&explain)?.execute(params![
            lock.run(),
            columns.block,
            columns.position,
            columns.component,
            i64::try_from(columns.message.count()).unwrap_or(i64::MAX),
            columns.load,
            columns.valid,
            columns.goodput_bits_per_second,
            columns.duration.map(column),
            columns.host_duration.map(column),
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
                let Columns { block, component, message, load, .. } = columns;
                let row = format!("{component} {message} {load}");
                Err(StoreError::CellExists { run: lock.run(), block: *block, row })
            }
            Err(error) => Err(explain(error)),
        }
    }

    /// Every stored record of a run of any study, in the order of its plan.
    pub fn records<T: DeserializeOwned + Send>(&self, run: RunId) -> Result<Vec<T>, StoreError> {
        let sql = "SELECT record FROM cells WHERE run = ?1 ORDER BY block, position, id";
        let explain = self.explain("read the cells");
        let mut select = self.connection.prepare_cached(sql).map_err(&explain)?;
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
                    self.damaged_run(run, format!("a cell is not text ({error})"))
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
