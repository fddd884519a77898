//! `NPtcp` (Debian's `netpipe-tcp`, version 3.7): a signature with its defaults, without
//! perturbation; with the given repetitions, if there are any.

use std::process::Command;

use anyhow::{Context, Result};

use super::{Ends, wait_until_listening};
use crate::outcome::{SizeTime, ToolOutcome};
use crate::{lab, pinning};

const PORT: u16 = 5002;

/// Its megabit has 2^20 bits.
const ITS_MEGABIT: f64 = 1_048_576.0;

pub(super) fn run(
    (least, most): (u64, u64),
    told: Option<u64>,
    ends: &Ends<'_>,
) -> Result<ToolOutcome> {
    let directory = lab::directory("nptcp")?;
    let order = |mut command: Command, file: &str| {
        command.args(["-p", "0", "-l", &least.to_string(), "-u", &most.to_string()]);
        if let Some(repetitions) = told {
            command.args(["-n", &repetitions.to_string()]);
        }
        command.arg("-o").arg(directory.path().join(file)).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        command
    };
    let receiver = order(ends.far("NPtcp"), "far").spawn().context("start NPtcp's receiver")?;
    wait_until_listening(ends.far_process, "tcp", PORT)?;
    pinning::run(order(ends.near("NPtcp"), "near").args(["-h", ends.address]))?;
    pinning::end(receiver)?;
    let told =
        std::fs::read_to_string(directory.path().join("near")).context("read NPtcp's file")?;
    Ok(ToolOutcome::Signature { times: read(&told)? })
}

/// Lines of bytes, Mb/s of 2^20, and seconds with eight digits: the rate gives the time more
/// exactly.
fn read(told: &str) -> Result<Vec<SizeTime>> {
    let time = |line: &str| {
        let mut fields = line.split_whitespace();
        let bytes: u64 = fields.next()?.parse().ok()?;
        let rate: f64 = fields.next()?.parse().ok()?;
        Some(SizeTime { bytes, one_way_seconds: bytes as f64 * 8.0 / (rate * ITS_MEGABIT) })
    };
    told.lines().map(|line| time(line).with_context(|| format!("NPtcp wrote {line:?}"))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_taken_from_rates_of_mebibits() {
        let times =
            super::read("       1 0.733000   0.00001041\n 8388608 30000.500000   0.00213330\n")
                .unwrap();
        assert_eq!((times[0].bytes, times[1].bytes), (1, 8_388_608));
        assert!((times[0].one_way_seconds - 10.408e-6).abs() < 1e-9);
        assert!((times[1].one_way_seconds - 2.1333e-3).abs() < 1e-7);
        assert!(super::read("Send buffer").is_err());
    }
}
