//! Measures the cost of storing a cell: `cargo run --release -p btu-store --example cell_cost
//! [DIRECTORY] [CELLS]`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

#[path = "../tests/store/sample.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod sample;

use std::time::Instant;

use btu_stats::Histogram;
use sample::StoreCells;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let parent = arguments.next().unwrap_or_else(|| ".".to_owned());
    let cells = arguments.next().map_or(500, |count| count.parse().expect("the number of cells"));
    let directory = tempfile::tempdir_in(parent).expect("a scratch directory");
    let mut store = sample::open(&directory.path().join("runs.sqlite"));
    let lock = sample::create(&mut store);
    let mut cost = Histogram::new();
    for block in 0..cells {
        let cell = sample::cell(block, 0, sample::row());
        let start = Instant::now();
        store.save_cell(&lock, &cell).expect("a stored cell");
        cost.record(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    let size = serde_json::to_string(&sample::cell(0, 0, sample::row())).expect("JSON").len();
    let ms = |quantile| cost.quantile(quantile).unwrap_or(0) as f64 / 1e6;
    println!(
        "{cells} cells of {size} bytes: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms",
        ms(0.5),
        ms(0.99),
        ms(1.0)
    );
}
