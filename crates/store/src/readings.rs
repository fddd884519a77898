//! The speeds of a run's cells, and where the processors were, without their raw samples.

use btu_suite::cell::Row;
use btu_suite::compare::Reading;
use btu_suite::record::{Apart, CellRecord, MachineCpu};
use btu_suite::verdict::PlacedReading;
use btu_units::Span;
use rusqlite::params;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::packed::Packed;
use crate::run::RunId;
use crate::{Store, StoreError};

/// Valid cells, those of requests only if they are wanted.
const SELECT: &str = "SELECT block, component, message_bytes, load, goodput_bits_per_second, coalesce(packed, record),
    component = '' OR component LIKE 'INTERACTIVE/%'
    FROM cells WHERE run = ?1 AND valid AND (?2 OR component NOT LIKE 'INTERACTIVE/%') ORDER BY block, position, id";

/// The records of valid cells, without those of requests.
const SELECT_RECORDS: &str = "SELECT coalesce(packed, record) FROM cells
    WHERE run = ?1 AND valid AND component NOT LIKE 'INTERACTIVE/%' ORDER BY block, position, id";

/// What is read of a record of any suite for the latency: a cell's, a signature's, or one of several
/// signatures'.
#[derive(Deserialize)]
struct AnyRecord {
    machine: Option<MachineCpu>,
    conditions: Option<Surroundings>,
    point: Option<Box<Self>>,
}

impl AnyRecord {
    fn core_to_core(self) -> Option<Span> {
        let point = self.point.and_then(|point| point.core_to_core());
        let machine = self.machine.or(self.conditions.map(|conditions| conditions.machine));
        point.or_else(|| machine?.processor_readings().core_to_core)
    }
}

/// What is read of a record for its latency. Nearly all the time of reading whole records is that of
/// building their samples.
#[derive(Deserialize)]
struct Surroundings {
    machine: MachineCpu,
}

/// The columns of a cell in the database.
struct Columns {
    block: u32,
    component: String,
    message_bytes: i64,
    load: String,
    goodput_bits_per_second: Option<f64>,
    record: Packed,
    /// The speed of bulk and datagrams is in a column of its own; that of other rows must be
    /// computed.
    is_computed: bool,
}

impl Store {
    /// The readings of a run of the suite `btu`: of each valid cell that has a speed, with what was
    /// read of the processors around it.
    pub fn readings(&self, run: RunId) -> Result<Vec<PlacedReading>, StoreError> {
        self.placed(run, true)
    }

    /// Like `readings`, without request and response, which cost nearly all the time because of their
    /// histograms: enough for a rating.
    pub fn readings_for_rating(&self, run: RunId) -> Result<Vec<PlacedReading>, StoreError> {
        self.placed(run, false)
    }

    fn placed(&self, run: RunId, requests: bool) -> Result<Vec<PlacedReading>, StoreError> {
        let columns = self.all("read the speeds", SELECT, params![run, requests], columns)?;
        let placed = |columns: Columns| -> Result<Option<PlacedReading>, StoreError> {
            let processors =
                self.parse::<Surroundings>(run, &columns.record)?.machine.processor_readings();
            let reading = self.reading(run, columns)?;
            Ok(reading.map(|reading| PlacedReading { reading, processors }))
        };
        columns.into_iter().filter_map(|columns| placed(columns).transpose()).collect()
    }

    /// The latencies between two processors of the machine after the valid cells of a run of any suite,
    /// without requests and responses; none where nothing was read.
    pub fn core_to_core(&self, run: RunId) -> Result<Apart, StoreError> {
        let record = |row: &rusqlite::Row<'_>| row.get(0);
        let records: Vec<Packed> =
            self.all("read the latencies", SELECT_RECORDS, params![run], record)?;
        let latencies =
            records.iter().map(|record| Ok(self.parse::<AnyRecord>(run, record)?.core_to_core()));
        let latencies = latencies.collect::<Result<Vec<_>, StoreError>>()?;
        Ok(Apart::of(latencies.into_iter().flatten()))
    }

    fn reading(&self, run: RunId, columns: Columns) -> Result<Option<Reading>, StoreError> {
        let block = columns.block;
        if columns.is_computed {
            return Ok(Reading::of(&self.parse::<CellRecord>(run, &columns.record)?));
        }
        let Columns { component, message_bytes, load, goodput_bits_per_second, .. } = columns;
        let row = json!({"kind": "network", "component": component, "message_bytes": message_bytes, "load": load});
        let row: Row = serde_json::from_value(row).map_err(|error| self.unreadable(run, &error))?;
        let positive = goodput_bits_per_second.filter(|rate| *rate > 0.0);
        Ok(positive.map(|per_second| Reading { row, block, per_second }))
    }

    fn parse<T: DeserializeOwned>(&self, run: RunId, record: &Packed) -> Result<T, StoreError> {
        let text =
            record.text().map_err(|error| self.damaged_run(run, format!("a cell: {error}")))?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(run, &error))
    }

    fn unreadable(&self, run: RunId, error: &serde_json::Error) -> StoreError {
        self.damaged_run(run, format!("a cell is not what this btu knows ({error})"))
    }
}

fn columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        block: row.get(0)?,
        component: row.get(1)?,
        message_bytes: row.get(2)?,
        load: row.get(3)?,
        goodput_bits_per_second: row.get(4)?,
        record: row.get(5)?,
        is_computed: row.get(6)?,
    })
}
