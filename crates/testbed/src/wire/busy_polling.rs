//! Busy polling after frames, for as long as nothing else wants a processor.
//!
//! Waking a sleeper costs more than carrying a frame: some microseconds, on virtual machines tens of
//! them. So after a frame the wire goes on reading its ports for a while instead of sleeping. It
//! may run before all other programs, so it looks again and again at how many threads want to run
//! on this machine (`/proc/loadavg`, fourth field), and stops when it is not the only one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread::available_parallelism;

use btu_units::{Span, Time};

/// With frames that come more rarely than this, a wake-up for each is no burden.
const LONGEST: Span = Span::from_milliseconds(1);
/// Between looks at the other threads, while the wire polls.
const LOOK_EVERY: Span = Span::from_microseconds(20);
/// A station that gets a frame runs for some microseconds. What is seen in as many looks one after
/// the other stays longer.
const LOOKS: u32 = 3;
/// Until the next look after other threads were seen so often.
const LOOK_AGAIN_AFTER: Span = Span::from_milliseconds(1);

/// Decides whether to poll on.
#[derive(Debug)]
pub(super) struct BusyPolling {
    /// `None` where the wire never polls on: on a single processor, or without this file.
    threads: Option<File>,
    /// When a frame arrived last.
    latest: Time,
    looked: Time,
    /// How many looks in a row found other threads.
    crowded: u32,
    /// The last turn that found no frame, if the wire polled on after it.
    since: Option<Time>,
    polled: Span,
}

impl BusyPolling {
    pub(super) fn new() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self {
            threads: (processors > 1).then(|| File::open("/proc/loadavg").ok()).flatten(),
            latest: Time::ZERO,
            looked: Time::ZERO,
            crowded: 0,
            since: None,
            polled: Span::ZERO,
        }
    }

    /// Whether to read the ports again at once, after a turn at this time that found frames or did
    /// not.
    pub(super) fn goes_on(&mut self, received: bool, at: Time) -> bool {
        self.polled += self.since.map_or(Span::ZERO, |since| at.since(since));
        if received {
            (self.latest, self.since) = (at, None);
            return true;
        }
        let goes_on = at.since(self.latest) < LONGEST && self.is_alone(at);
        self.since = goes_on.then_some(at);
        goes_on
    }

    /// The time for which it polled and found nothing.
    pub(super) fn polled(&self) -> Span {
        self.polled
    }

    pub(super) fn reset(&mut self) {
        self.polled = Span::ZERO;
    }

    fn is_alone(&mut self, at: Time) -> bool {
        let Some(threads) = &self.threads else { return false };
        let pause = if self.crowded < LOOKS { LOOK_EVERY } else { LOOK_AGAIN_AFTER };
        if at.since(self.looked) >= pause {
            self.looked = at;
            let is_alone = runnable(threads) == Some(1);
            self.crowded = if is_alone { 0 } else { self.crowded.saturating_add(1) };
        }
        self.crowded < LOOKS
    }
}

/// The threads that run or want to run, on all processors, this one among them (proc(5)).
fn runnable(loadavg: &File) -> Option<u32> {
    let mut text = [0; 64];
    let length = loadavg.read_at(&mut text, 0).ok()?;
    let text = str::from_utf8(&text[..length]).ok()?;
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn at(microseconds: u64) -> Time {
        Time::from_nanoseconds(1_000_000_000 + microseconds * 1000)
    }

    fn seeing(loadavg: &str) -> BusyPolling {
        let mut threads = tempfile::tempfile().unwrap();
        threads.write_all(loadavg.as_bytes()).unwrap();
        BusyPolling { threads: Some(threads), ..BusyPolling::new() }
    }

    #[test]
    fn it_polls_on_for_a_while_after_a_frame() {
        let mut polling = seeing("0.00 0.01 0.05 1/123 4567\n");
        assert!(polling.goes_on(true, at(0)));
        assert!(polling.goes_on(false, at(10)) && polling.goes_on(false, at(900)));
        assert_eq!(polling.polled(), Span::from_microseconds(890));
        assert!(!polling.goes_on(false, at(1000)));
        assert!(!polling.goes_on(false, at(5000)), "it slept meanwhile");
        assert_eq!(polling.polled(), Span::from_microseconds(990));
    }

    #[test]
    fn it_gives_way_to_other_threads_and_looks_again_later() {
        let mut polling = seeing("9.00 9.01 9.05 12/1234 4567\n");
        assert!(polling.goes_on(true, at(0)));
        assert!(polling.goes_on(false, at(5)), "one look is not enough");
        assert!(polling.goes_on(false, at(30)));
        assert!(!polling.goes_on(false, at(60)));
        let looked = polling.looked;
        assert!(polling.goes_on(true, at(90)) && !polling.goes_on(false, at(100)));
        assert_eq!(polling.looked, looked);
        assert!(polling.goes_on(true, at(1100)) && !polling.goes_on(false, at(1110)));
        assert_eq!(polling.looked, at(1110));
    }

    #[test]
    fn without_the_kernels_answer_it_sleeps() {
        let mut polling = BusyPolling { threads: None, ..BusyPolling::new() };
        assert!(polling.goes_on(true, at(0)) && !polling.goes_on(false, at(1)));
        let threads = File::open("/proc/loadavg").unwrap();
        assert!(runnable(&threads).unwrap() >= 1);
    }
}
