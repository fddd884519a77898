//! sockperf: ping-pong against its server with its defaults (blocking sockets, Nagle's algorithm off), full round trip.

use anyhow::{Context, Result};

use super::{Bench, Outcome, wait_until_listening};
use crate::case::Case;
use crate::lab::FAR;
use crate::leash;

const PORT: u16 = 11_111;

pub(super) fn run(bench: &Bench<'_>, case: Case) -> Result<Outcome> {
    let far = bench.lab.far();
    let is_tcp = case == Case::TcpRequest;
    let place = ["-i", FAR, "-p", "11111"];
    let transport: &[&str] = if is_tcp { &["--tcp"] } else { &[] };
    let mut serving = leash::command(Some(far), "sockperf");
    let server = serving
        .arg("server")
        .args(place)
        .args(transport)
        .stdout(std::process::Stdio::null())
        .spawn()
        .context("start the sockperf server")?;
    wait_until_listening(far, if is_tcp { "tcp" } else { "udp" }, PORT)?;
    let mut asking = leash::command(None, "sockperf");
    asking.arg("ping-pong").args(place).args(transport).args(["--full-rtt", "-m"]);
    let told = leash::run(asking.args([&case.message_bytes().to_string(), "-t", &bench.seconds.to_string()]));
    leash::end(server)?;
    read(&told?)
}

/// Lines such as `sockperf: ---> percentile 50.000 =   12.345`.
fn read(told: &str) -> Result<Outcome> {
    let percentile = |wanted: &str| {
        let found = told.lines().find_map(|line| {
            let (share, value) = line.split_once("percentile")?.1.split_once('=')?;
            (share.trim() == wanted).then(|| value.trim().parse::<f64>().ok())?
        });
        found.with_context(|| format!("sockperf told no percentile {wanted}: {told}"))
    };
    Ok(Outcome::Requests { p50_us: percentile("50.000")?, p99_us: percentile("99.000")? })
}

#[cfg(test)]
mod tests {
    use crate::case::Measure;

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
