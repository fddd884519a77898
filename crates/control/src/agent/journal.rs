//! What a controller has the agent write to its log, however often it calls: a line a second of each kind at most.

use std::sync::{Mutex, PoisonError};

use btu_units::{Span, Time};

use super::policy::Forbidden;
use super::sessions::Asked;
use crate::clock;

/// No more than a line in this time.
const PAUSE: Span = Span::from_seconds(1);

/// The lines about controllers.
#[derive(Debug, Default)]
pub(super) struct Journal {
    reserved: Mutex<Lines>,
    refused: Mutex<Lines>,
}

impl Journal {
    /// A controller has the host.
    pub(super) fn reserved(&self, asked: &Asked) {
        write(&self.reserved, &format!("reserved for run {} of {}", asked.run, asked.controller));
    }

    /// The policy forbids what a controller of this name asked for; it is empty for this machine's own user.
    pub(super) fn refused(&self, controller: &str, forbidden: &Forbidden) {
        let who = if controller.is_empty() { "a controller" } else { controller };
        write(&self.refused, &format!("refused {who}: {forbidden}"));
    }
}

fn write(lines: &Mutex<Lines>, text: &str) {
    // A clock that cannot be read keeps lines back, which is the safe side.
    let now = clock::monotonic().unwrap_or(Time::ZERO);
    let line = lines.lock().unwrap_or_else(PoisonError::into_inner).next(now, text);
    if let Some(line) = line {
        eprintln!("agent: {line}");
    }
}

/// Lines of one kind.
#[derive(Debug, Default)]
struct Lines {
    last: Option<Time>,
    kept_back: u64,
}

impl Lines {
    /// What is to be written now, if anything; what is kept back is counted in the line after it.
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
