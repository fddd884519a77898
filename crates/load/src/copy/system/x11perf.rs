//! The system's x11perf(1): one test, at the X server of another host.

use std::net::SocketAddr;
use std::process::Stdio;

use btu_contract::activity::Token;
use btu_traffic::Limit;

use super::from_pipe::read_until;
use super::process::RunningProgram;
use super::xserver::cookie;
use super::{X11PERF, ending_with_us};
use crate::LoadError;
use crate::account::now;

/// Each test is repeated for a second at least, once.
const EXTENT: [&str; 4] = ["-time", "1", "-repeat", "1"];

/// More than it says of one test.
const MOST: usize = 64 * 1024;

/// Units of the test in a second.
pub(crate) fn x11perf(
    to: SocketAddr,
    token: &Token,
    test: &[&str],
    limit: &Limit<'_>,
) -> Result<f64, LoadError> {
    let cookie = cookie(token)?;
    let display = format!("{}:{}", bracketed(to), to.port().saturating_sub(6000));
    let mut command = ending_with_us(X11PERF)?;
    command.env_clear().env("XAUTHORITY", cookie.path()).args(["-display", &display]);
    command.args(test).args(EXTENT).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = RunningProgram::start(X11PERF, command, |_| false)?;
    let may_go_on = || Ok(limit.check(now()?, "wait for x11perf", to)?);
    let said = match process.pipes() {
        Some((mut output, _input)) => read_until(&mut output, MOST, |_| false, may_go_on)?,
        None => Vec::new(),
    };
    let ended = process.finish(None, may_go_on)?;
    rate(&String::from_utf8_lossy(&said)).ok_or_else(|| LoadError::Program {
        program: X11PERF,
        problem: format!("no rate came of {} at {display}: {}", test.join(" "), ended.explained()),
    })
}

fn bracketed(to: SocketAddr) -> String {
    match to {
        SocketAddr::V4(to) => to.ip().to_string(),
        SocketAddr::V6(to) => format!("[{}]", to.ip()),
    }
}

/// Of the line of a test: `   30000 reps @   0.0029 msec (342000.0/sec): 10x10 rectangle`.
fn rate(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains(" reps @ "))?;
    let (_, behind) = line.split_once('(')?;
    let (rate, _) = behind.split_once("/sec)")?;
    rate.trim().parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_test_is_read() {
        let line = "   7500 reps @   0.6689 msec (  1500.0/sec): X protocol NoOperation\n";
        assert_eq!(rate(&format!("x11perf - X11 performance program\n\n{line}")), Some(1500.0));
        for text in ["", "7 reps @ nothing", "0 reps @ 1 msec (0.0/sec): x", "(5/sec)"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
