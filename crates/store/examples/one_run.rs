//! A run is written, found again and read: `cargo run -p btu-store --example one_run`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::error::Error;

use btu_contract::experiment::Columns;
use btu_store::{NewRun, State, Store};
use btu_units::{Bytes, Span};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut store = Store::open(directory.path().join("runs.db"))?;
    let plan = json!({ "rows": 1 });
    let run = NewRun {
        study: "rate",
        profile: "quick",
        network: "veth",
        label: Some("an example"),
        tags: &[],
        created: "2026-01-02T03:04:05Z",
        seed: 7,
        btu_version: "0.1.0",
        plan: &plan,
        plan_hash: "0123",
        planned_cells: 1,
    };
    let lock = store.create_run(&run)?;
    let columns = Columns {
        block: 0,
        position: 0,
        component: "SEND".to_owned(),
        message: Bytes::new(1024),
        load: "none",
        valid: true,
        goodput_bits_per_second: Some(941e6),
        duration: Some(Span::from_seconds(1)),
        host_duration: None,
    };
    store.save_record(&lock, &columns, &json!({ "samples": [941e6] }).to_string())?;
    store.finish(&lock, State::Complete, "2026-01-02T03:04:06Z")?;
    for row in store.runs()? {
        let records: Vec<Value> = store.records(row.id)?;
        println!("{} of {}: {} cell, {}", row.study, row.created, records.len(), records[0]);
    }
    Ok(())
}
