//! sockperf: ping-pong against its server with its defaults (blocking sockets, Nagle's algorithm
//! off), full round trip.

use anyhow::{Context, Result};

use super::{Bench, Ends, wait_until_listening};
use crate::case::Case;
use crate::outcome::{SizeTime, ToolOutcome};
use crate::{pinning, signature};

const PORT: u16 = 11_111;

pub(super) fn run(bench: &Bench<'_>, case: Case, ends: &Ends<'_>) -> Result<ToolOutcome> {
    let is_tcp = case == Case::TcpRequest;
    let place = ["-i", ends.address, "-p", "11111"];
    let transport: &[&str] = if is_tcp { &["--tcp"] } else { &[] };
    let mut serving = ends.far("sockperf");
    let server = serving
        .arg("server")
        .args(place)
        .args(transport)
        .stdout(std::process::Stdio::null())
        .spawn()
        .context("start the sockperf server")?;
    wait_until_listening(ends.far_process, if is_tcp { "tcp" } else { "udp" }, PORT)?;
    let mut asking = ends.near("sockperf");
    asking.arg("ping-pong").args(place).args(transport).args(["--full-rtt", "-m"]);
    let told = pinning::run(asking.args([
        &case.message_bytes().to_string(),
        "-t",
        &bench.seconds.to_string(),
    ]));
    pinning::end(server)?;
    read(&told?)
}

/// Half the round trip, the best of three runs' means.
pub(super) fn latency(ends: &Ends<'_>) -> Result<ToolOutcome> {
    let place = ["--tcp", "-i", ends.address, "-p", "11111"];
    let mut serving = ends.far("sockperf");
    serving.arg("server").args(place).stdout(std::process::Stdio::null());
    let server = serving.spawn().context("start the sockperf server")?;
    wait_until_listening(ends.far_process, "tcp", PORT)?;
    let ask = || {
        let mut asking = ends.near("sockperf");
        asking.arg("ping-pong").args(place).args(["-t", "1", "-m", &signature::SMALL.to_string()]);
        half(&pinning::run(&mut asking)?)
    };
    let halves = (0..signature::TRIALS).map(|_| ask()).collect::<Result<Vec<_>>>();
    pinning::end(server)?;
    let one_way_seconds = halves?.into_iter().fold(f64::INFINITY, f64::min);
    Ok(ToolOutcome::Signature {
        times: vec![SizeTime { bytes: signature::SMALL, one_way_seconds }],
    })
}

/// `sockperf: Summary: Latency is 8.123 usec`, which is half the mean round trip.
fn half(told: &str) -> Result<f64> {
    let words = told.lines().find_map(|line| line.split_once("Latency is"));
    let word = words.and_then(|(_, rest)| rest.split_whitespace().next());
    let number = word.with_context(|| format!("sockperf told no latency: {told}"))?;
    Ok(number.parse::<f64>().context("read what sockperf told")? / 1e6)
}

/// Lines such as `sockperf: ---> percentile 50.000 =   12.345`.
fn read(told: &str) -> Result<ToolOutcome> {
    let percentile = |wanted: &str| {
        let found = told.lines().find_map(|line| {
            let (share, value) = line.split_once("percentile")?.1.split_once('=')?;
            (share.trim() == wanted).then(|| value.trim().parse::<f64>().ok())?
        });
        found.with_context(|| format!("sockperf told no percentile {wanted}: {told}"))
    };
    Ok(ToolOutcome::Requests { p50_us: percentile("50.000")?, p99_us: percentile("99.000")? })
}

#[cfg(test)]
mod tests {
    use crate::case::Measure;

    #[test]
    fn half_a_round_trip_is_read_from_its_summary() {
        let told = "sockperf: ====> avg-latency=8.131 (std-dev=1.2)\n\u{1b}[2;35msockperf: Summary: Latency is 8.131 usec\u{1b}[0m\n";
        assert!((super::half(told).unwrap() - 8.131e-6).abs() < 1e-12);
        assert!(super::half("sockperf: No messages were received").is_err());
    }

    #[test]
    fn percentiles_are_read_from_its_text() {
        let told = "sockperf: ---> <MAX> observation =   92.1\nsockperf: ---> percentile 99.900 =   45.000\n\
                    sockperf: ---> percentile 99.000 =   15.600\nsockperf: ---> percentile 50.000 =   12.700\n";
        let outcome = super::read(told).unwrap();
        assert!((outcome.measure(Measure::P50Microseconds) - 12.7).abs() < 1e-9);
        assert!((outcome.measure(Measure::P99Microseconds) - 15.6).abs() < 1e-9);
        assert!(outcome.measure(Measure::MegabitsPerSecond).is_nan());
        assert!(super::read("sockperf: No messages were received").is_err());
    }
}
