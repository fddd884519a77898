//! Measures cells while the processors of the two sides are as near to each other as they can be.
//!
//! Stations of a raised network exchange data through caches. A hypervisor that moves a virtual
//! processor to another part of the chip, for seconds or minutes, makes some cells half as quick as
//! others. So a cell waits until the processors are near again, and is measured again if they
//! moved meanwhile, as long as all this takes no more than a fixed part of the run.

use std::time::{Duration, Instant};

use btu_suite::record::Apart;
use btu_testbed::processors::{core_to_core, wake_each_other};
use btu_units::Span;

use crate::awake::Wakefulness;

/// The time between two readings of a cell that waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Readings before the first cell.
const FIRST_READINGS: u32 = 6;

/// The part of the run's time that may be spent on this: one of so many.
const MOST_OF_BUDGET: u32 = 5;

/// A cell that moved processors have spoiled so often is kept as it is.
const MOST_AGAIN: u32 = 3;

/// The latency between the two sides of a machine, and what was done about it.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// A processor of the station under test, and one of the rest; `None` where they are not
    /// divided.
    pair: Option<[u32; 2]>,
    /// Whether processors are kept from sleeping.
    wakefulness: Wakefulness,
    /// The time that may still be spent.
    left: Duration,
    apart: Apart,
    /// The last reading, if it was far.
    is_far: bool,
    spent: Spent,
}

/// What moved processors have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Spent {
    time: Duration,
    cells_again: u32,
}

impl Placement {
    /// Between these two processors, with their near latency in earlier runs.
    pub(super) fn new(
        pair: Option<[u32; 2]>,
        near: Option<Span>,
        wakefulness: Wakefulness,
    ) -> Self {
        Self { pair, wakefulness, apart: Apart::default().knowing(near), ..Self::default() }
    }

    /// May spend a part of this time from now on. Finds the near latency first: an idle machine's
    /// processors come together within a moment, if they may sleep and have a reason.
    pub(super) async fn begin(&mut self, budget: Span) {
        self.left = Duration::from(budget) / MOST_OF_BUDGET;
        for _ in 0..FIRST_READINGS {
            if self.read().is_none() {
                break;
            }
            self.bring_together().await;
        }
    }

    /// The latency now; `None` if it cannot be told.
    pub(super) fn read(&mut self) -> Option<Span> {
        let latency = core_to_core(self.pair?);
        self.is_far = latency.is_some_and(|latency| self.apart.note(latency));
        latency
    }

    /// Waits until the processors are near each other, or no time may be spent any more.
    pub(super) async fn await_near(&mut self) {
        let began = Instant::now();
        self.read();
        while self.is_far && began.elapsed() < self.left {
            self.bring_together().await;
            self.read();
        }
        // Without a wait, this is only the time of a reading.
        if began.elapsed() > LOOK_EVERY {
            self.spend(began.elapsed());
        }
    }

    /// Whether a cell that took this time has to be measured again: they have moved. A cell with
    /// faults is stored with these, wherever the processors were.
    pub(super) fn spoiled(&mut self, faults: &[String], again: u32, took: Duration) -> bool {
        let may_repeat = faults.is_empty() && again < MOST_AGAIN && took < self.left;
        let is_spoiled = self.is_far && may_repeat;
        if is_spoiled {
            self.spend(took);
            self.spent.cells_again += 1;
        }
        is_spoiled
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

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
        self.spent.time += time;
    }

    /// What was done, in a sentence; `None` if nothing had to be.
    pub(super) fn told(&self) -> Option<String> {
        let Spent { time, cells_again } = self.spent;
        let seconds = time.as_secs_f64();
        (time > Duration::ZERO).then(|| {
            format!(
                "the hypervisor moved the processors apart, {}: cells waited and were measured again for {seconds:.1} s in \
                 all ({cells_again} again)",
                self.apart
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far(left: Duration) -> Placement {
        let mut placement = Placement { left, ..Placement::default() };
        assert!(!placement.apart.note(Span::from_nanoseconds(50)));
        placement.is_far = placement.apart.note(Span::from_nanoseconds(500));
        placement
    }

    #[test]
    fn a_spoiled_cell_is_measured_again_while_there_is_time() {
        let second = Duration::from_secs(1);
        let mut placement = far(3 * second);
        assert!(placement.spoiled(&[], 0, second) && placement.spoiled(&[], 1, second));
        assert!(
            !placement.spoiled(&[], 2, second),
            "what is left must be more than the cell takes"
        );
        let told = placement.told().unwrap();
        assert!(told.contains("for 2.0 s in all (2 again)") && told.contains("500 ns"), "{told}");
        assert!(!far(100 * second).spoiled(&[], MOST_AGAIN, second));
    }

    #[test]
    fn a_cell_with_faults_is_kept() {
        let second = Duration::from_secs(1);
        let faults = ["a worker was killed".to_owned()];
        assert!(!far(100 * second).spoiled(&faults, 0, second));
        assert!(far(100 * second).spoiled(&[], 0, second));
    }

    #[test]
    fn where_processors_are_not_divided_nothing_is_done() {
        let mut placement = Placement::new(None, None, Wakefulness::default());
        assert_eq!((placement.read(), placement.told()), (None, None));
        assert!(!placement.spoiled(&[], 0, Duration::from_secs(1)));
    }
}
