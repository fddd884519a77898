//! Lets a cell wait while the core-to-core latency is long.
//!
//! Stations of a raised network exchange data through caches. A hypervisor that moves a virtual
//! processor to another part of the chip, for seconds or minutes, makes some cells half as quick as
//! others. A cell waits until the latency is short again, while all waits of the run take no more than
//! a tenth of its time. Then it is measured as it comes, and counts: its readings are stored with it.

use std::time::{Duration, Instant};

use btu_contract::record::{Apart, ProcessorReadings};
use btu_testbed::processors::{PairReading, read_pair, wake_each_other};
use btu_units::Span;

use crate::awake::Wakefulness;

/// The time between two readings of a cell that waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Readings before the first cell.
const FIRST_READINGS: u32 = 6;

/// The part of the time since the first cell that waits may take: one of so many. A run whose
/// latency stays long loses a tenth of its cells by it, evenly over its time.
const MOST_OF_TIME: u32 = 10;

/// The latency between the two sides of a machine, and the time that cells waited.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// A processor of the station under test, and one of the rest; `None` where they are not
    /// divided.
    pair: Option<[u32; 2]>,
    /// Whether processors are kept from sleeping.
    wakefulness: Wakefulness,
    apart: Apart,
    /// The last reading; `None` if it could not be taken.
    last: Option<PairReading>,
    /// The start of the first cell.
    began: Option<Instant>,
    waited: Duration,
}

impl Placement {
    /// Between these two processors.
    pub(super) fn new(pair: Option<[u32; 2]>, wakefulness: Wakefulness) -> Self {
        Self { pair, wakefulness, ..Self::default() }
    }

    /// Finds the short latency, before the first cell: an idle machine's processors come together within
    /// a moment, if they may sleep and have a reason.
    pub(super) async fn begin(&mut self) {
        for _ in 0..FIRST_READINGS {
            if self.read().is_none() {
                break;
            }
            self.bring_together().await;
        }
        self.began = Some(Instant::now());
    }

    /// The processors now; `None` if it cannot be told.
    fn read(&mut self) -> Option<PairReading> {
        self.last = read_pair(self.pair?);
        if let Some(reading) = self.last {
            self.apart.note(reading.core_to_core);
        }
        self.last
    }

    /// Whether the last latency was long.
    fn is_long(&self) -> bool {
        self.last.is_some_and(|reading| self.apart.is_far(reading.core_to_core))
    }

    /// The processors around a cell that has just ended: the latency now, and arithmetic on average of now and of the
    /// last reading, before the cell. Others come and go within seconds, so that two readings tell more
    /// than one.
    pub(super) fn after_cell(&mut self) -> ProcessorReadings {
        let before = self.last;
        self.read()
            .map_or_else(ProcessorReadings::default, |after| around(before.unwrap_or(after), after))
    }

    /// Waits until the latency is short, or waits have taken their part of the run's time.
    pub(super) async fn await_near(&mut self) {
        self.read();
        while self.is_long() && self.may_wait(self.began.map_or(Duration::ZERO, |at| at.elapsed()))
        {
            let began = Instant::now();
            self.bring_together().await;
            self.read();
            self.waited += began.elapsed();
        }
    }

    /// Whether waits have time left, so long after the first cell began.
    fn may_wait(&self, since_first: Duration) -> bool {
        self.waited + LOOK_EVERY <= since_first / MOST_OF_TIME
    }

    /// Gives the hypervisor a moment and a reason to bring the processors together.
    async fn bring_together(&mut self) {
        if let Some(pair) = self.pair {
            // A processor that never sleeps is not moved.
            self.wakefulness.pause();
            wake_each_other(pair, LOOK_EVERY);
            self.wakefulness.go_on();
        }
        // Signals and dead processes are seen here.
        tokio::task::yield_now().await;
    }

    /// How long cells waited, in a sentence; `None` if none did.
    pub(super) fn summary(&self) -> Option<String> {
        (self.waited > Duration::ZERO).then(|| {
            format!(
                "cells waited for {:.1} s in all for a short core-to-core latency: {}",
                self.waited.as_secs_f64(),
                self.apart
            )
        })
    }
}

fn around(before: PairReading, after: PairReading) -> ProcessorReadings {
    let [before_ns, after_ns] = [before, after].map(|reading| reading.arithmetic.nanoseconds());
    let arithmetic = Span::from_nanoseconds(u64::midpoint(before_ns, after_ns));
    ProcessorReadings { core_to_core: Some(after.core_to_core), arithmetic: Some(arithmetic) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_take_a_tenth_of_the_time_since_the_first_cell_at_most() {
        let second = Duration::from_secs(1);
        let mut placement = Placement::default();
        assert!(!placement.may_wait(Duration::ZERO), "before the first cell");
        assert!(!placement.may_wait(second / 4) && placement.may_wait(second / 2));
        placement.waited = second;
        assert!(!placement.may_wait(10 * second) && placement.may_wait(11 * second));
        let told = placement.summary().unwrap();
        assert!(told.contains("waited for 1.0 s in all"), "{told}");
    }

    #[test]
    fn arithmetic_is_that_before_and_after_a_cell() {
        let read = |core_to_core: u64, arithmetic: u64| PairReading {
            core_to_core: Span::from_nanoseconds(core_to_core),
            arithmetic: Span::from_nanoseconds(arithmetic),
        };
        let found = around(read(300, 43_000), read(60, 63_000));
        let expected = read(60, 53_000);
        assert_eq!(found.core_to_core, Some(expected.core_to_core));
        assert_eq!(found.arithmetic, Some(expected.arithmetic));
    }

    #[test]
    fn where_processors_are_not_divided_nothing_is_done() {
        let mut placement = Placement::new(None, Wakefulness::default());
        assert_eq!(
            (placement.after_cell(), placement.summary()),
            (ProcessorReadings::default(), None)
        );
    }
}
