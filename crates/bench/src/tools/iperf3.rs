//! iperf3: one TCP stream with its defaults, `-l` being the message size; rate and time are the
//! server's.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, Ends, wait_until_listening};
use crate::case::Case;
use crate::outcome::ToolOutcome;
use crate::pinning;

const PORT: u16 = 5201;

#[derive(Deserialize)]
struct Account {
    end: Iperf3End,
}

#[derive(Deserialize)]
struct Iperf3End {
    sum_received: Received,
}

#[derive(Deserialize)]
struct Received {
    bytes: f64,
    seconds: f64,
}

pub(super) fn run(bench: &Bench<'_>, case: Case, ends: &Ends<'_>) -> Result<ToolOutcome> {
    let before = pinning::children_cpu_seconds()?;
    let mut serving = ends.far("iperf3");
    serving.args(["--server", "--one-off"]).stdout(std::process::Stdio::piped());
    let server = serving.spawn().context("start the iperf3 server")?;
    wait_until_listening(ends.far_process, "tcp", PORT)?;
    let mut asking = ends.near("iperf3");
    asking.args([
        "--client",
        ends.address,
        "--json",
        "--length",
        &case.message_bytes().to_string(),
    ]);
    let told = pinning::run(asking.args(["--time", &bench.seconds.to_string()]))?;
    pinning::said(&serving, &server.wait_with_output()?)?;
    let cpu_seconds = pinning::children_cpu_seconds()? - before;
    let Received { bytes, seconds } = read(&told)?;
    Ok(ToolOutcome::Stream {
        bytes,
        seconds,
        cpu_seconds,
        message_bytes: case.message_bytes() as f64,
    })
}

fn read(told: &str) -> Result<Received> {
    let account: Account = serde_json::from_str(told).context("read what iperf3 told")?;
    Ok(account.end.sum_received)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_receivers_numbers_are_taken() {
        let told = r#"{"start":{}, "end":{"sum_sent":{"bytes":9,"seconds":9},
            "sum_received":{"start":0,"end":2.04,"seconds":2.04,"bytes":4000,"bits_per_second":15686.2}}}"#;
        let received = super::read(told).unwrap();
        assert!((received.bytes - 4000.0).abs() < 1e-9 && (received.seconds - 2.04).abs() < 1e-9);
        assert!(super::read(r#"{"error":"unable to connect"}"#).is_err());
    }
}
