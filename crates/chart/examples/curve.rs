//! A curve as lines for a terminal and as SVG: `cargo run -p btu-chart --example curve [FILE.svg]`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::{env, fs, io};

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series, svg, terminal};

fn main() -> io::Result<()> {
    // A line of 100 Mb/s with 1 ms of fixed time: throughput against size.
    let sizes = (0..=24).map(|power| 2f64.powi(power));
    let points = sizes
        .map(|bytes| Point::new(bytes, bytes * 8.0 / (1e-3 + bytes * 8.0 / 1e8) / 1e6))
        .collect();
    let panel = Panel {
        x: Axis::logarithmic("size (bytes)"),
        y: Axis::linear("throughput (Mb/s)"),
        height: 300,
        across: Vec::new(),
        series: vec![Series { name: "line".to_owned(), mark: Mark::Line, points }],
    };
    for line in terminal(&panel, 78, 12, |_, text| text.to_owned()) {
        println!("{line}");
    }
    let picture =
        Picture { title: "Throughput".to_owned(), notes: Vec::new(), panels: vec![panel] };
    env::args().nth(1).map_or(Ok(()), |file| fs::write(file, svg(&picture)))
}
