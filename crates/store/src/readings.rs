//! The speeds of a run's cells, and what was read of the processors around them, without their raw samples.

use btu_contract::experiment::SpeedColumns;
use btu_contract::record::{MachineCpu, ProcessorReadings};
use btu_units::Span;
use rusqlite::params;
use serde::Deserialize;

use crate::packed::Packed;
use crate::run::RunId;
use crate::{Store, StoreError};

/// Valid cells, without those of requests. A record is read only where columns do not say all.
const SELECT: &str = "SELECT block, component, message_bytes, load, goodput_bits_per_second, CASE WHEN component = '' THEN record END
    FROM cells WHERE run = ?1 AND valid AND component NOT LIKE 'INTERACTIVE/%' ORDER BY block, position, id";

/// The readings around valid cells, without those of requests.
const SELECT_PROCESSORS: &str = "SELECT core_to_core_ns, arithmetic_ns FROM cells
    WHERE run = ?1 AND valid AND component NOT LIKE 'INTERACTIVE/%' ORDER BY block, position, id";

/// What is read of a record of any study for the latency: a cell's, or a message's of a signature.
#[derive(Deserialize)]
struct AnyRecord {
    machine: Option<MachineCpu>,
    seen: Option<Seen>,
}

#[derive(Deserialize)]
struct Seen {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    conditions: Option<Surroundings>,
}

impl AnyRecord {
    fn processors(self) -> ProcessorReadings {
        let conditions = || self.seen?.message?.conditions;
        let machine = self.machine.or_else(|| Some(conditions()?.machine));
        machine.map_or_else(ProcessorReadings::default, |one| one.processor_readings())
    }
}

/// What a record of any study says of the processors, for its columns: 0 for what was not read.
pub(crate) fn processor_columns(record: &str) -> [i64; 2] {
    let read = serde_json::from_str::<AnyRecord>(record).map(AnyRecord::processors);
    let read = read.unwrap_or_default();
    [read.core_to_core, read.arithmetic].map(|time| time.map_or(0, column))
}

/// A span as an integer of the database, which has a sign: 292 years at most.
pub(crate) fn column(span: Span) -> i64 {
    i64::try_from(span.nanoseconds()).unwrap_or(i64::MAX)
}

/// A time of such a column.
fn of_column(nanoseconds: i64) -> Option<Span> {
    u64::try_from(nanoseconds).ok().filter(|time| *time > 0).map(Span::from_nanoseconds)
}

/// What is read of a record for its latency. Nearly all the time of reading whole records is that of
/// building their samples.
#[derive(Deserialize)]
struct Surroundings {
    machine: MachineCpu,
}

impl Store {
    /// The speeds of the valid cells of a run of the study `rate`, without those of requests, which cost nearly all the
    /// time because of their histograms: what `read` makes of each.
    pub fn speeds<T>(
        &self,
        run: RunId,
        read: fn(&SpeedColumns) -> serde_json::Result<Option<T>>,
    ) -> Result<Vec<T>, StoreError> {
        let speed = |(mut columns, record): (SpeedColumns, Option<Packed>)| {
            let text = record.map(|record| record.text()).transpose();
            columns.record =
                text.map_err(|error| self.damaged_run(run, format!("a cell: {error}")))?;
            read(&columns).map_err(|error| {
                self.damaged_run(run, format!("a cell is not what this btu knows ({error})"))
            })
        };
        let cells = self.all("read the speeds", SELECT, params![run], columns)?;
        cells.into_iter().filter_map(|cell| speed(cell).transpose()).collect()
    }

    /// What was read of two processors of the machine around the valid cells of a run of any study,
    /// without requests and responses; none where nothing was read.
    pub fn processors(&self, run: RunId) -> Result<Vec<ProcessorReadings>, StoreError> {
        let columns = |row: &rusqlite::Row<'_>| {
            Ok(ProcessorReadings {
                core_to_core: of_column(row.get(0)?),
                arithmetic: of_column(row.get(1)?),
            })
        };
        self.all("read the processors", SELECT_PROCESSORS, params![run], columns)
    }
}

fn columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<(SpeedColumns, Option<Packed>)> {
    let columns = SpeedColumns {
        block: row.get(0)?,
        component: row.get(1)?,
        message_bytes: row.get(2)?,
        load: row.get(3)?,
        goodput_bits_per_second: row.get(4)?,
        record: None,
    };
    Ok((columns, row.get(5)?))
}

#[cfg(test)]
mod tests {
    use super::processor_columns;

    #[test]
    fn a_record_of_another_form_has_no_readings() {
        let machine = r#"{"user_ns":0,"system_ns":0,"idle_ns":0,"steal_ns":0,"irq_ns":0,"softirq_ns":0,"core_to_core_ns":60}"#;
        for (record, expected) in [
            (format!(r#"{{"machine":{machine}}}"#), [60, 0]),
            (
                format!(r#"{{"seen":{{"message":{{"conditions":{{"machine":{machine}}}}}}}}}"#),
                [60, 0],
            ),
            ("{}".to_owned(), [0, 0]),
            (r#"{"machine":5}"#.to_owned(), [0, 0]),
        ] {
            assert_eq!(processor_columns(&record), expected, "{record}");
        }
    }
}
