//! nuttcp: one TCP stream with its defaults, `-l` being the message size; rate and time are the
//! receiver's.

use anyhow::{Context, Result};

use super::{Bench, Ends, wait_until_listening};
use crate::case::Case;
use crate::outcome::ToolOutcome;
use crate::pinning;

const PORT: u16 = 5000;

pub(super) fn run(bench: &Bench<'_>, case: Case, ends: &Ends<'_>) -> Result<ToolOutcome> {
    let before = pinning::children_cpu_seconds()?;
    let mut serving = ends.far("nuttcp");
    let server = serving
        .args(["-1", "--nofork"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .context("start the nuttcp server")?;
    wait_until_listening(ends.far_process, "tcp", PORT)?;
    let mut asking = ends.near("nuttcp");
    asking.args([
        "-t",
        "-fparse",
        &format!("-l{}", case.message_bytes()),
        &format!("-T{}", bench.seconds),
        ends.address,
    ]);
    let told = pinning::run(&mut asking)?;
    pinning::said(&serving, &server.wait_with_output()?)?;
    let cpu_seconds = pinning::children_cpu_seconds()? - before;
    let (bytes, seconds) = read(&told)?;
    Ok(ToolOutcome::Stream {
        bytes,
        seconds,
        cpu_seconds,
        message_bytes: case.message_bytes() as f64,
    })
}

/// `megabytes=4123.5 real_seconds=2.00 rate_Mbps=...`; its megabytes are 2^20 bytes.
fn read(told: &str) -> Result<(f64, f64)> {
    let value = |key: &str| {
        let word =
            told.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        word.with_context(|| format!("nuttcp told no {key}: {told}"))?
            .parse::<f64>()
            .context("read what nuttcp told")
    };
    Ok((value("megabytes")? * 1_048_576.0, value("real_seconds")?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn its_parsable_line_is_read() {
        let told = "megabytes=2.0000 real_seconds=2.00 rate_Mbps=8.3886 tx_cpu=97 rx_cpu=41 retrans=0 rtt_ms=0.02\n";
        let (bytes, seconds) = super::read(told).unwrap();
        assert!((bytes - 2_097_152.0).abs() < 1e-6 && (seconds - 2.0).abs() < 1e-9);
        assert!(super::read("nuttcp-t: Error").is_err());
    }
}
