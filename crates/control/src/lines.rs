//! Log lines that other hosts can cause at any rate. At most one line of each kind is written each
//! second; the others are counted.

use std::sync::{Mutex, PoisonError};

use btu_testbed::note;
use btu_units::{Span, Time};

use crate::clock;

/// No more than a line in this time.
const PAUSE: Span = Span::from_seconds(1);

/// Writes a line of `who` to standard error, now or counted in a later one.
pub(crate) fn write(lines: &Mutex<Lines>, who: &str, text: &str) {
    // An unreadable clock suppresses lines, which is the safe choice.
    let now = clock::monotonic().unwrap_or(Time::ZERO);
    let line = lines.lock().unwrap_or_else(PoisonError::into_inner).next(now, text);
    if let Some(line) = line {
        note!("{who}: {line}");
    }
}

/// Lines of one kind.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    last: Option<Time>,
    kept_back: u64,
}

impl Lines {
    /// The line to write now, if any; suppressed lines are counted in the next one.
    fn next(&mut self, now: Time, text: &str) -> Option<String> {
        if self.last.is_some_and(|last| now.since(last) < PAUSE) {
            self.kept_back += 1;
            return None;
        }
        self.last = Some(now);
        Some(match std::mem::take(&mut self.kept_back) {
            0 => text.to_owned(),
            more => format!("{text} (and {more} before it)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_a_second_and_all_are_counted() {
        let mut lines = Lines::default();
        let mut at = |ms: u64, text: &str| lines.next(Time::from_nanoseconds(ms * 1_000_000), text);
        assert_eq!(at(5, "one").as_deref(), Some("one"));
        for ms in 6..1_005 {
            assert_eq!(at(ms, "more"), None);
        }
        assert_eq!(at(1_005, "last").as_deref(), Some("last (and 999 before it)"));
        assert_eq!(at(2_005, "quiet").as_deref(), Some("quiet"));
    }
}
