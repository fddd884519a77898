//! Absolute deadlines of a sender with a rate.

use std::thread;
use std::time::{Duration, Instant};

/// When each write is due. A late one does not move those after it.
#[derive(Debug)]
pub(crate) struct Pace {
    start: Instant,
    /// Bits a second; `None`: no write waits.
    rate: Option<u64>,
    burst: u32,
    in_burst: u32,
    bits: u128,
}

impl Pace {
    /// Keeps to `rate` from `start`; so many writes as `burst` says leave together.
    pub(crate) fn new(start: Instant, rate: Option<u64>, burst: u32) -> Self {
        Self { start, rate, burst, in_burst: 0, bits: 0 }
    }

    /// How long the next write has to wait at `now`.
    fn wait(&mut self, now: Instant) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        if self.in_burst > 0 {
            return Duration::ZERO;
        }
        // At most an hour of 10 Tb/s, in nanoseconds: 3.6e25, far from 2^127.
        let due = self.bits * 1_000_000_000 / u128::from(rate);
        let due = self.start + Duration::from_nanos(due as u64);
        due.saturating_duration_since(now)
    }

    /// Waits for the next write, but not long, so that the caller sees the end of the test; returns
    /// whether the write is due.
    pub(crate) fn is_due(&mut self) -> bool {
        let wait = self.wait(Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait.min(TICK));
        }
        wait <= TICK
    }

    /// Accounts for a write of so many bytes.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bits += 8 * bytes as u128;
        self.in_burst = if self.in_burst + 1 >= self.burst { 0 } else { self.in_burst + 1 };
    }
}

/// How long a stream's thread may take to see that its test is over.
pub(crate) const TICK: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_due_at_absolute_times() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(8_000), 1);
        assert_eq!(pace.wait(start), Duration::ZERO);
        pace.sent(1000);
        assert_eq!(pace.wait(start), Duration::from_secs(1));
        pace.sent(1000);
        assert_eq!(pace.wait(start + Duration::from_millis(1500)), Duration::from_millis(500));
    }

    #[test]
    fn a_burst_leaves_together() {
        let start = Instant::now();
        let mut pace = Pace::new(start, Some(8_000), 2);
        pace.sent(1000);
        assert_eq!(pace.wait(start), Duration::ZERO);
        pace.sent(1000);
        assert_eq!(pace.wait(start), Duration::from_secs(2));
    }
}
