//! Reports what a display shows while it draws.

use btu_contract::activity::{Tell, Word};
use btu_contract::app::{Display, View};
use btu_units::{Span, Time};

use crate::clock::now;

/// After this many intervals they grow: an agent keeps all reports of a worker, and its room is
/// limited. A cell of an hour has some 1300 of 2.6 kB each then.
const BEFORE_GROWTH: u64 = 200;

/// The reports of one display.
pub(super) struct Viewer<'a> {
    every: Option<Span>,
    begun: Time,
    next: Time,
    tell: Tell<'a>,
}

impl<'a> Viewer<'a> {
    /// Reports at this interval; nothing without one.
    pub(super) fn new(every: Option<Span>, tell: Tell<'a>) -> Self {
        let begun = now();
        Self { every, begun, next: begun, tell }
    }

    /// Reports what is shown, if it is time.
    pub(super) fn look(&mut self, display: &Display) {
        let Some(every) = self.every else { return };
        let time = now();
        if time < self.next {
            return;
        }
        let at = time.since(self.begun);
        let grown = Span::from_nanoseconds(at.nanoseconds() / BEFORE_GROWTH);
        self.next = time + every.max(grown);
        let view = View::of(display.picture(), at);
        if (self.tell)(Word::View(Box::new(view))).is_err() {
            // No process listens any more; the account has its own way.
            self.every = None;
        }
    }
}
