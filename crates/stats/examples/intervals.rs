//! Rates of repetitions, their mean with its interval, and a ratio of two means: `cargo run -p
//! btu-stats --example intervals`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_stats::{Estimate, Level, LogSample, geometric_interval, mean_ratio};

fn main() {
    let idle = [941.0, 938.0, 945.0, 940.0, 939.0];
    let loaded = [612.0, 655.0, 598.0, 630.0, 641.0];
    let Some(mean) = geometric_interval(&idle, Level::P95) else { return };
    println!("idle: {} Mb/s", text(mean, 0));
    let ratio = LogSample::of(&loaded)
        .zip(LogSample::of(&idle))
        .and_then(|pair| mean_ratio(&[pair], Level::P95));
    if let Some(ratio) = ratio {
        println!("loaded over idle: {}", text(ratio, 3));
    }
}

fn text(estimate: Estimate, places: usize) -> String {
    let interval = estimate.interval.map_or(String::new(), |ends| {
        format!(" ({:.places$} .. {:.places$})", ends.low, ends.high)
    });
    format!("{:.places$}{interval}", estimate.value)
}
