//! Workbooks, computed again by an independent spreadsheet engine (ironcalc) and compared with
//! the predictions.

use btu_model::Answer;
use btu_model::predict::{Prediction, Transfer, predict, predict_transfer};
use btu_network::{Drawing, library, library_text};
use btu_report::workbook;
use btu_units::Bytes;
use ironcalc::base::Model;
use ironcalc::base::cell::CellValue;

/// The tolerance, relative to the expected number.
const WITHIN: f64 = 1e-9;

fn drawing(name: &str, settings: &[(&str, &str)]) -> Drawing {
    let text = library_text(name).unwrap_or_else(|| panic!("the library has no {name}"));
    if name.starts_with("lte") {
        let files = |name: &str| btu_network::library_trace(name);
        return btu_network::Reader::new(name).files(&files).read(text).unwrap();
    }
    Drawing::read_with(text, name, settings).unwrap()
}

fn citi(settings: &[(&str, &str)]) -> (Drawing, Prediction) {
    let drawing = drawing("citi-1989-light", settings);
    let transfer = Transfer { size: Bytes::new(100_000_000), ..Transfer::default() };
    let prediction = predict_transfer(&drawing, &transfer).unwrap();
    (drawing, prediction)
}

/// A workbook in the engine.
struct Engine(Model<'static>);

impl Engine {
    fn open(bytes: &[u8]) -> Self {
        let book = ironcalc::import::load_from_xlsx_bytes(bytes, "book", "en", "UTC").unwrap();
        Self(Model::from_workbook(book, "en").unwrap())
    }

    fn names(&self) -> Vec<String> {
        self.0.get_worksheets_properties().into_iter().map(|sheet| sheet.name).collect()
    }

    fn sheet(&self, name: &str) -> u32 {
        let found = self.names().iter().position(|known| known == name);
        found.unwrap_or_else(|| panic!("no sheet {name}")) as u32
    }

    fn cell(&self, sheet: u32, row: i32, column: i32) -> CellValue {
        self.0.get_cell_value_by_index(sheet, row, column).unwrap()
    }

    /// The first row of `sheet` from `from` on that begins with `label`.
    fn row(&self, sheet: u32, label: &str, from: i32) -> i32 {
        let is = |row: &i32| matches!(self.cell(sheet, *row, 1), CellValue::String(text) if text == label);
        (from..6000).find(is).unwrap_or_else(|| panic!("no line {label}"))
    }

    /// The value of the cell in this column of a label's row.
    fn value_at(&self, sheet: &str, label: &str, column: i32) -> CellValue {
        let sheet = self.sheet(sheet);
        self.cell(sheet, self.row(sheet, label, 1), column)
    }

    fn number(&self, sheet: &str, label: &str) -> f64 {
        match self.value_at(sheet, label, 2) {
            CellValue::Number(number) => number,
            other => panic!("{sheet}, {label}: {other:?}"),
        }
    }

    /// Puts a value into a column of a label's row and calculates the workbook again.
    fn set(&mut self, sheet: &str, label: &str, column: i32, value: &str) {
        let sheet = self.sheet(sheet);
        let row = self.row(sheet, label, 1);
        self.0.set_user_input(sheet, row, column, value.to_owned()).unwrap();
        self.0.evaluate();
    }

    /// Every cell, in order.
    fn everything(&self) -> Vec<(String, i32, i32, CellValue)> {
        let mut cells = Vec::new();
        for (number, name) in self.names().into_iter().enumerate() {
            let number = number as u32;
            let dimension = self.0.workbook.worksheet(number).unwrap().dimension();
            for row in 1..=dimension.max_row {
                for column in 1..=dimension.max_column {
                    cells.push((name.clone(), row, column, self.cell(number, row, column)));
                }
            }
        }
        cells
    }
}

fn close(found: f64, expected: f64, within: f64, what: &str) {
    assert!(
        (found - expected).abs() <= within * expected.abs(),
        "{what}: {found} instead of {expected}"
    );
}

/// A cell's number is the answer's, or both have none.
fn is(cell: &CellValue, answer: Answer, what: &str) {
    match (cell, answer.value) {
        (CellValue::Number(found), Some(expected)) => close(*found, expected, WITHIN, what),
        (CellValue::String(word), None) if word == "saturated" => {}
        other => panic!("{what}: {other:?}"),
    }
}

/// The summary's submodels, flows and transfer equal the program's prediction.
fn agrees(engine: &Engine, prediction: &Prediction) {
    let sheet = engine.sheet("Summary");
    let first = engine.row(sheet, "Submodels", 1);
    for segment in &prediction.segments {
        let row = engine.row(sheet, &segment.name, first);
        let what = |part: &str| format!("{}: {} {part}", prediction.network, segment.name);
        is(
            &engine.cell(sheet, row, 2),
            Answer::of(segment.offered_packets_per_second),
            &what("packets"),
        );
        is(&engine.cell(sheet, row, 4), segment.utilisation_data_and_collisions, &what("used"));
        if segment.offered_packets_per_second > 0.0 {
            is(&engine.cell(sheet, row, 6), segment.delay_seconds, &what("delay"));
        }
        if segment.lines.is_empty() && segment.offered_packets_per_second > 0.0 {
            is(&engine.cell(sheet, row, 3), segment.utilisation_data, &what("data"));
            is(&engine.cell(sheet, row, 5), segment.effective_throughput, &what("throughput"));
        }
    }
    for link in prediction.links.iter().filter(|link| link.offered_packets_per_second > 0.0) {
        let row = engine.row(sheet, &link.name, first);
        is(&engine.cell(sheet, row, 4), link.utilisation, &link.name);
        is(&engine.cell(sheet, row, 6), link.delay_seconds, &link.name);
    }
    for bridge in &prediction.bridges {
        let row = engine.row(sheet, &bridge.name, first);
        is(
            &engine.cell(sheet, row, 2),
            Answer::of(bridge.forwarded_packets_per_second),
            &bridge.name,
        );
    }
    let first = engine.row(sheet, "Flows", first);
    for flow in &prediction.flows {
        let row = engine.row(sheet, &flow.name, first);
        is(
            &engine.cell(sheet, row, 3),
            flow.delay_seconds,
            &format!("{}: {}", prediction.network, flow.name),
        );
    }
    if let Some(transfer) = prediction.transfer.as_ref().and_then(|asked| asked.paced.as_ref()) {
        is(
            &engine.value_at("Summary", "Aggregate delay", 2),
            transfer.aggregate_seconds,
            "aggregate",
        );
        is(&engine.value_at("Summary", "Time of the transfer", 2), transfer.seconds, "time");
        close(engine.number("Summary", "Simple delay"), transfer.simple_seconds, WITHIN, "simple");
    }
}

/// The stored values equal those of the engine, cell by cell.
fn stored_is_worked_out(engine: &mut Engine, network: &str) {
    let stored = engine.everything();
    engine.0.evaluate();
    let mut numbers = 0;
    for ((sheet, row, column, before), (.., after)) in stored.iter().zip(engine.everything()) {
        let what = format!("{network}, {sheet}, row {row}, column {column}");
        match (before, &after) {
            (CellValue::Number(before), CellValue::Number(after)) => {
                // Where large numbers cancel, the difference may differ in its last digits.
                assert!(
                    (before - after).abs() <= WITHIN * before.abs() + 1e-15,
                    "{what}: {before}, then {after}"
                );
                numbers += 1;
            }
            _ => assert_eq!(*before, after, "{what}"),
        }
    }
    assert!(numbers > 20, "{network}: {numbers} numbers");
}

/// The study's figures come out, and a changed input gives the prediction of the changed file.
#[test]
fn citi_s_cases_in_a_spreadsheet() {
    let (drawing, light) = citi(&[]);
    let mut engine = Engine::open(&workbook(&drawing, &light).unwrap());
    stored_is_worked_out(&mut engine, "citi");
    agrees(&engine, &light);
    close(
        engine.number("Segment ether", "Delay of a packet"),
        1.066_715_84e-3,
        5e-8,
        "the study's delay",
    );
    close(engine.number("Transfer", "Simple delay"), 1141.55, 5e-6, "the study's simple delay");
    close(engine.number("Transfer", "Aggregate delay"), 73.06, 5e-5, "the study's aggregate delay");
    engine.set("Traffic", "background", 3, "1034");
    let (_, heavy) = citi(&[("traffic.background.packets_per_s", "1034")]);
    agrees(&engine, &heavy);
    close(
        engine.number("Segment ether", "Delay of a packet"),
        17.112e-3,
        3e-5,
        "the study's heavy delay",
    );
    assert_eq!(
        engine.value_at("Transfer", "What limits", 2),
        CellValue::String("network".to_owned())
    );
    engine.set("Traffic", "background", 3, "0");
    close(engine.number("Transfer", "Aggregate delay"), 73.06, 5e-5, "without background");
}

/// A load above the cable's capacity gives a word in every cell, and a lower one removes it.
#[test]
fn saturation_is_said() {
    let (drawing, light) = citi(&[]);
    let mut engine = Engine::open(&workbook(&drawing, &light).unwrap());
    engine.set("Traffic", "background", 3, "1200");
    let (_, over) = citi(&[("traffic.background.packets_per_s", "1200")]);
    let paced = over.transfer.as_ref().and_then(|asked| asked.paced.as_ref());
    assert!(paced.unwrap().aggregate_seconds.is_saturated());
    agrees(&engine, &over);
    engine.set("Traffic", "background", 3, "500");
    agrees(&engine, &citi(&[("traffic.background.packets_per_s", "500")]).1);
    // The stored value is a word, too.
    let mut stored = Engine::open(&workbook(&drawing_over(), &over).unwrap());
    stored_is_worked_out(&mut stored, "citi, saturated");
    agrees(&stored, &over);
}

fn drawing_over() -> Drawing {
    citi(&[("traffic.background.packets_per_s", "1200")]).0
}

/// Other inputs: the rate, the size of frames, the size of the transfer.
#[test]
fn any_input_may_be_changed() {
    let (drawing, light) = citi(&[]);
    let mut engine = Engine::open(&workbook(&drawing, &light).unwrap());
    engine.set("Segment ether", "Rate, R", 2, "5000000");
    engine.set("Traffic", "file", 3, "80");
    agrees(
        &engine,
        &citi(&[("segments.ether.rate", "5 Mb/s"), ("traffic.file.packets_per_s", "80")]).1,
    );
}

/// Every network of the library, a sheet for each submodel.
#[test]
fn every_network_of_the_library() {
    for (name, _) in library().iter().filter(|(name, _)| *name != "campus") {
        let drawing = drawing(name, &[]);
        let prediction = predict(&drawing);
        let mut engine = Engine::open(&workbook(&drawing, &prediction).unwrap());
        stored_is_worked_out(&mut engine, name);
        agrees(&engine, &prediction);
        for segment in &drawing.segments {
            engine.sheet(&format!("Segment {}", segment.name));
        }
    }
}

#[test]
fn the_same_network_gives_the_same_bytes() {
    let (drawing, prediction) = citi(&[]);
    assert_eq!(workbook(&drawing, &prediction).unwrap(), workbook(&drawing, &prediction).unwrap());
}
