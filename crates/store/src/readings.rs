//! The speeds of a run's cells, without their raw samples: a hundredth of what [`Store::cells`]
//! reads.

use btu_suite::cell::Row;
use btu_suite::compare::Reading;
use btu_suite::record::{Apart, CellRecord};
use btu_units::Span;
use rusqlite::params;
use serde_json::json;

use crate::packed::Packed;
use crate::run::RunId;
use crate::{Store, StoreError};

/// The speed of bulk and datagrams is in a column of its own; that of other rows must be computed.
const SELECT: &str = "SELECT block, component, message_bytes, load, goodput_bits_per_second,
    iif(component = '' OR component LIKE 'INTERACTIVE/%', coalesce(packed, record), NULL)
    FROM cells WHERE run = ?1 AND valid AND (?2 OR component NOT LIKE 'INTERACTIVE/%') ORDER BY block, position, id";

/// Cells of requests have large histograms, and there are enough others.
const WHOLE: &str = "SELECT coalesce(packed, record) FROM cells
    WHERE run = ?1 AND valid AND component NOT LIKE 'INTERACTIVE/%' ORDER BY block, position, id";

/// The columns of a cell in the database.
struct Columns {
    block: u32,
    component: String,
    message_bytes: i64,
    load: String,
    goodput_bits_per_second: Option<f64>,
    record: Option<Packed>,
}

impl Store {
    /// The readings of a run of the suite `btu`: of each valid cell that has a speed.
    pub fn readings(&self, run: RunId) -> Result<Vec<Reading>, StoreError> {
        self.read_speeds(run, true)
    }

    /// Like `readings`, without request and response, which cost nearly all the time because of
    /// their histograms: enough for a rating.
    pub fn readings_for_rating(&self, run: RunId) -> Result<Vec<Reading>, StoreError> {
        self.read_speeds(run, false)
    }

    fn read_speeds(&self, run: RunId, with_requests: bool) -> Result<Vec<Reading>, StoreError> {
        let rows = self.all("read the speeds", SELECT, params![run, with_requests], |row| {
            Ok(Columns {
                block: row.get(0)?,
                component: row.get(1)?,
                message_bytes: row.get(2)?,
                load: row.get(3)?,
                goodput_bits_per_second: row.get(4)?,
                record: row.get(5)?,
            })
        })?;
        rows.into_iter().filter_map(|columns| self.reading(run, columns).transpose()).collect()
    }

    /// The latencies between the two sides of the machine after a run's valid cells, of the suite
    /// `btu`, without those of requests and responses; none where the processors were not divided.
    pub fn core_to_core(&self, run: RunId) -> Result<Apart, StoreError> {
        let records = self.all("read the latencies", WHOLE, params![run], |row| row.get(0))?;
        let latency = |record: Packed| Ok(self.whole(run, &record)?.machine.core_to_core());
        let latencies: Vec<Option<Span>> =
            records.into_iter().map(latency).collect::<Result<_, StoreError>>()?;
        Ok(Apart::of(latencies.into_iter().flatten()))
    }

    fn reading(&self, run: RunId, columns: Columns) -> Result<Option<Reading>, StoreError> {
        let block = columns.block;
        if let Some(record) = columns.record {
            return Ok(Reading::of(&self.whole(run, &record)?));
        }
        let Columns { component, message_bytes, load, goodput_bits_per_second, .. } = columns;
        let row = json!({"kind": "network", "component": component, "message_bytes": message_bytes, "load": load});
        let row: Row = serde_json::from_value(row).map_err(|error| self.unreadable(run, &error))?;
        let positive = goodput_bits_per_second.filter(|rate| *rate > 0.0);
        Ok(positive.map(|per_second| Reading { row, block, per_second }))
    }

    fn whole(&self, run: RunId, record: &Packed) -> Result<CellRecord, StoreError> {
        let text =
            record.text().map_err(|error| self.damaged_run(run, format!("a cell: {error}")))?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(run, &error))
    }

    fn unreadable(&self, run: RunId, error: &serde_json::Error) -> StoreError {
        self.damaged_run(run, format!("a cell is not what this btu knows ({error})"))
    }
}
