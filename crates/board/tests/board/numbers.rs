//! Every number of an upload, changed in turn by who can make all digests anew.

use std::io::{Cursor, Read, Write};

use btu_contract::experiment::{Experiment, any};
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_publication::sha256;
use btu_store::{NewRun, State, Store};
use btu_studies::rate::{CellRecord, Component, Context, Plan, Profile, Row, Verdict, judge};
use btu_units::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Number, Value};

use crate::support::made;

/// A plan with every component, with and without a load.
fn plan() -> Plan {
    Plan {
        messages: vec![Bytes::new(1250)],
        loads: vec![Load::Idle, Load::Cpu],
        ..Plan::whole(7, Profile::quick(), Network::Veth)
    }
}

/// The lines of the archive of a run with this cell alone.
fn lines(plan: &Plan, row: Row) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path().join("runs.sqlite")).expect("a database");
    let document = btu_contract::json::to_value(&plan).expect("JSON");
    let new = NewRun {
        study: btu_studies::rate::STUDY,
        profile: &plan.profile.name,
        network: "veth",
        label: None,
        tags: &[],
        created: "2026-11-21T04:31:08Z",
        seed: plan.seed,
        btu_version: "0.1.0",
        plan: &document,
        plan_hash: &plan.hash(),
        planned_cells: 20,
    };
    let lock = store.create_run(&new).expect("a run");
    store.save_calibration(&lock, &made::calibration(plan)).expect("stored");
    store.save(&lock, plan, &made::cell(plan, row, 0, 640e6)).expect("stored");
    store.finish(&lock, State::Interrupted, "2026-11-21T04:32:08Z").expect("stored");
    let archive = store.export(&[lock.run()], Vec::new()).expect("an archive");
    let mut text = String::new();
    GzDecoder::new(archive.as_slice()).read_to_string(&mut text).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.pop();
    lines
}

/// Lines as an archive, with the digest that belongs to them.
fn sealed(lines: &[String]) -> Vec<u8> {
    let body: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let end = format!("{{\"end\":{{\"sha256\":\"{}\"}}}}\n", sha256(body.as_bytes()));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all((body + &end).as_bytes()).expect("written");
    gzip.finish().expect("written")
}

/// The places of all numbers of a document.
fn numbers(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(members) => {
            let members = members.iter().enumerate();
            members.for_each(|(index, member)| numbers(&format!("{at}/{index}"), member, found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| numbers(&format!("{at}/{name}"), field, found));
        }
        _ => {}
    }
}

/// The same number with one other bit, twice, and ten times.
fn changed(number: &Number) -> Vec<Number> {
    let all = if let Some(whole) = number.as_u64() {
        let times = |factor: u64| whole.checked_mul(factor).map(Number::from);
        [Some((whole ^ 1).into()), times(2), times(10)]
    } else {
        let real = number.as_f64().expect("a number");
        let other_bit = f64::from_bits(real.to_bits() ^ 1);
        [other_bit, 2.0 * real, 10.0 * real].map(Number::from_f64)
    };
    all.into_iter().flatten().filter(|other| other != number).collect()
}

/// What boards and rankings show of a run's speed.
fn shown(verdict: &Verdict) -> String {
    let Verdict { rating, idle, per_load, per_size, penalties, .. } = verdict;
    let counted = (verdict.valid_cells, verdict.invalid_cells);
    let rates = verdict.rates.iter().map(|row| {
        (row.component, row.message, row.load, row.goodput_bits_per_second, row.repetitions)
    });
    let rates: Vec<_> = rates.collect();
    format!("{rating:?} {idle:?} {per_load:?} {per_size:?} {penalties:?} {counted:?} {rates:?}")
}

/// What is shown of an archive; `None` if it is refused.
fn imported(lines: &[String], plan: &Plan) -> Option<String> {
    let mut store = Store::open(tempfile::tempdir().expect("new").path().join("x")).expect("new");
    let imported = store
        .import(Cursor::new(sealed(lines)), |study| (study == "rate").then(any::<Plan>))
        .ok()?;
    let cells: Vec<CellRecord> = store.records(imported[0].run).expect("cells");
    Some(shown(&judge(&cells, &Context::complete(plan.clone(), 2))))
}

#[test]
fn a_number_of_an_upload_that_was_changed_is_refused_or_changes_nothing_that_is_shown() {
    let plan = plan();
    let (mut tried, mut refused) = (0, 0);
    for (count, row) in plan.rows().into_iter().enumerate() {
        let lines = lines(&plan, row);
        let honest = imported(&lines, &plan).expect("an honest run");
        let is_changed = |line: &String| {
            line.starts_with("{\"cell\"") || count == 0 && line.starts_with("{\"run\"")
        };
        for (place, line) in lines.iter().enumerate().filter(|(_, line)| is_changed(line)) {
            let document: Value = serde_json::from_str(line).expect("JSON");
            let mut found = Vec::new();
            numbers("", &document, &mut found);
            for pointer in found {
                let Some(Value::Number(number)) = document.pointer(&pointer) else { continue };
                for other in changed(number) {
                    let mut forged = document.clone();
                    *forged.pointer_mut(&pointer).expect("it is there") = other.clone().into();
                    let mut lines = lines.clone();
                    lines[place] = forged.to_string();
                    tried += 1;
                    match imported(&lines, &plan) {
                        None => refused += 1,
                        Some(now) => {
                            assert_eq!(now, honest, "{row}: {pointer}: {number} -> {other}");
                        }
                    }
                }
            }
        }
    }
    eprintln!("{tried} numbers changed, {refused} refused");
    // All rows but that of the load alone have two activities or more with ten counts that must agree.
    assert!(refused > plan.rows().len() * 20 && tried > refused, "{refused} of {tried}");
    assert!(plan.components.contains(&Component::Udp));
}
