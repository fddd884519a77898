//! btu's simulator, in a process of its own.

use std::process::ExitCode;

use anyhow::{Context, Result};
use btu_medium::sim::{self, Settings};
use btu_network::Drawing;
use btu_units::Span;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

use super::{SimulatorResult, Size};
use crate::pinning;

/// Runs the hidden part below as a process.
pub(super) fn run(size: Size) -> Result<SimulatorResult> {
    let own = std::env::current_exe().context("find this program")?;
    let arguments =
        [size.stations, size.frame_octets, size.our_milliseconds].map(|number| number.to_string());
    let mut command = pinning::command(None, &own.display().to_string());
    let told = pinning::run(command.arg("simulate").args(arguments))?;
    serde_json::from_str(&told).with_context(|| format!("the simulator told `{told}`"))
}

/// The hidden part: simulates once and prints the cost.
pub(crate) fn simulate(stations: u32, frame_octets: u32, milliseconds: u32) -> Result<ExitCode> {
    let drawing = drawing(stations, frame_octets)?;
    let duration = Span::from_milliseconds(u64::from(milliseconds));
    // No warm-up: ns-3 counts from the start as well.
    let settings = Settings { warm_up: Span::ZERO, ..Settings::lasting(duration) };
    let begin = processor_seconds()?;
    let replication = sim::replicate(&drawing, &settings, 0, |_| {})?;
    let seconds = processor_seconds()? - begin;
    let peak_bytes =
        getrusage(UsageWho::RUSAGE_SELF).context("getrusage")?.max_rss().unsigned_abs() * 1024;
    let accounts = replication.accounts();
    let told = SimulatorResult {
        delivered: accounts.delivered,
        dropped: accounts.dropped,
        seconds,
        peak_bytes: Some(peak_bytes),
    };
    println!("{}", serde_json::to_string(&told)?);
    Ok(ExitCode::SUCCESS)
}

/// The saturated segment; a station that is alone sends to one that only listens.
fn drawing(stations: u32, frame_octets: u32) -> Result<Drawing> {
    let (listener, to) = if stations == 1 {
        ("[stations.listener]\nsegment = \"cable\"\n", "listener")
    } else {
        ("", "next")
    };
    let text = format!(
        "[segments.cable]\nmedium = \"shared-ethernet\"\nrate = \"10 Mb/s\"\nlength = \"914 m\"\n\
         [stations.host]\nsegment = \"cable\"\ncount = {stations}\n{listener}\
         [traffic.load]\nfrom = \"host\"\nto = \"{to}\"\nsize = \"{frame_octets} B\"\nsaturated = true\n"
    );
    Ok(Drawing::read(&text, "saturated.toml")?)
}

fn processor_seconds() -> Result<f64> {
    let time =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).context("read the processor time")?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}
