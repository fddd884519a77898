//! Waits for a quiet machine, so that other programs affect no tool more than another.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

/// The length of one observation of the machine, and the largest number of them.
const WATCH: Duration = Duration::from_millis(250);
const TIMEOUT: u32 = 40;

/// Quiet is less than a tenth of the processors' time.
const QUIET: f64 = 0.1;

/// Ticks of all processors together (proc(5), `/proc/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    all: u64,
}

/// Returns once the machine is quiet, after ten seconds in any case, or at once when `impatient`;
/// returns the share of its time that other programs used.
pub(crate) fn wait(impatient: bool) -> Result<f64> {
    let mut busy = 1.0;
    for _ in 0..if impatient { 1 } else { TIMEOUT } {
        let before = ticks()?;
        sleep(WATCH);
        busy = share(before, ticks()?);
        if busy < QUIET {
            break;
        }
    }
    Ok(busy)
}

fn ticks() -> Result<Ticks> {
    let text = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    parse(&text).context("/proc/stat does not begin as proc(5) says")
}

/// The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guests
/// are in user already.
fn parse(text: &str) -> Option<Ticks> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let fields: Vec<u64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(Ticks { idle: fields.get(3)? + fields.get(4)?, all: fields.iter().sum() })
}

fn share(before: Ticks, after: Ticks) -> f64 {
    let all = after.all.saturating_sub(before.all).max(1) as f64;
    1.0 - after.idle.saturating_sub(before.idle) as f64 / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_others_is_what_is_not_idle() {
        let before = parse("cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2\n").unwrap();
        assert_eq!(before, Ticks { idle: 850, all: 1000 });
        let after = parse("cpu  120 0 60 860 60 0 0 0 7 0").unwrap();
        assert!((share(before, after) - 0.3).abs() < 1e-9);
        assert_eq!(parse("intr 5"), None);
        assert_eq!(parse("cpu  1 x"), None);
    }
}
