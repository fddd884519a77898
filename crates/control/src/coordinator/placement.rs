//! Measures cells while the processors of the two sides are as near to each other as they can be.
//!
//! Stations of a raised network exchange data through caches. A hypervisor that moves a virtual
//! processor to another part of the chip, for seconds or minutes, makes some cells half as quick as
//! others. So a cell waits until the processors are near again, and is measured again if they
//! moved meanwhile, as long as all this takes no more than a fixed part of the run, and of what is left
//! of it for each cell.

use std::time::{Duration, Instant};

use btu_suite::record::{Apart, ProcessorReadings};
use btu_testbed::processors::{PairReading, read_pair, wake_each_other};
use btu_units::Span;

use crate::awake::Wakefulness;

/// The time between two readings of a cell that waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Readings before the first cell.
const FIRST_READINGS: u32 = 6;

/// The part of the run's time that may be spent on this: one of so many.
const MOST_OF_BUDGET: u32 = 5;

/// The part of what is left that one cell may use: one of so many. In the shortest profile this is
/// 2.4 s at first; processors that may sleep came together within 2 s (decision 0019).
const MOST_OF_LEFT: u32 = 10;

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
    allowance: Allowance,
    apart: Apart,
    /// The last reading; `None` if it could not be taken.
    last: Option<PairReading>,
    spent: Spent,
}

/// The time that may still be spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Allowance {
    /// By the run.
    left: Duration,
    /// By the current cell.
    of_cell: Duration,
}

impl Allowance {
    fn of(budget: Duration) -> Self {
        Self { left: budget / MOST_OF_BUDGET, of_cell: Duration::ZERO }
    }

    /// A cell that waits in vain leaves the greatest part to later ones.
    fn begin_cell(&mut self) {
        self.of_cell = self.left / MOST_OF_LEFT;
    }

    fn has(&self, time: Duration) -> bool {
        time < self.of_cell
    }

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
        self.of_cell = self.of_cell.saturating_sub(time);
    }
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
        self.allowance = Allowance::of(budget.into());
        for _ in 0..FIRST_READINGS {
            if self.read().is_none() {
                break;
            }
            self.bring_together().await;
        }
    }

    /// The processors now; `None` if it cannot be told.
    fn read(&mut self) -> Option<PairReading> {
        self.last = read_pair(self.pair?);
        if let Some(reading) = self.last {
            self.apart.note(reading.core_to_core);
        }
        self.last
    }

    /// Whether the last reading was far.
    fn is_far(&self) -> bool {
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

    /// The latency of near processors in earlier runs.
    pub(super) fn known(&self) -> Option<Span> {
        self.apart.known()
    }

    /// A new cell has a share of the time.
    pub(super) fn begin_cell(&mut self) {
        self.allowance.begin_cell();
    }

    /// Waits until the processors are near each other, or this cell may spend no more time.
    pub(super) async fn await_near(&mut self) {
        let began = Instant::now();
        self.read();
        while self.is_far() && self.allowance.has(began.elapsed()) {
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
        let may_repeat = faults.is_empty() && again < MOST_AGAIN && self.allowance.has(took);
        let is_spoiled = self.is_far() && may_repeat;
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
        self.allowance.spend(time);
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

fn around(before: PairReading, after: PairReading) -> ProcessorReadings {
    let [before_ns, after_ns] = [before, after].map(|reading| reading.arithmetic.nanoseconds());
    let arithmetic = Span::from_nanoseconds(u64::midpoint(before_ns, after_ns));
    ProcessorReadings { core_to_core: Some(after.core_to_core), arithmetic: Some(arithmetic) }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    fn far(of_cell: Duration) -> Placement {
        let allowance = Allowance { left: of_cell * MOST_OF_LEFT, of_cell };
        let mut placement = Placement { allowance, ..Placement::default() };
        assert!(!placement.apart.note(Span::from_nanoseconds(50)));
        let core_to_core = Span::from_nanoseconds(500);
        assert!(placement.apart.note(core_to_core));
        placement.last = Some(PairReading { core_to_core, arithmetic: Span::ZERO });
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
    fn a_cell_uses_a_tenth_of_what_is_left_at_most() {
        let second = Duration::from_secs(1);
        let mut allowance = Allowance::of(500 * second);
        assert!(!allowance.has(Duration::ZERO), "before the first cell");
        allowance.begin_cell();
        assert!(allowance.has(9 * second) && !allowance.has(10 * second));
        allowance.spend(4 * second);
        assert!(allowance.has(5 * second) && !allowance.has(6 * second));
        allowance.begin_cell();
        assert!(allowance.has(Duration::from_millis(9_599)) && !allowance.has(10 * second));
        allowance.spend(200 * second);
        allowance.begin_cell();
        assert_eq!(allowance, Allowance::default());
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
    fn a_cell_with_faults_is_kept() {
        let second = Duration::from_secs(1);
        let faults = ["a worker was killed".to_owned()];
        assert!(!far(100 * second).spoiled(&faults, 0, second));
        assert!(far(100 * second).spoiled(&[], 0, second));
    }

    #[test]
    fn where_processors_are_not_divided_nothing_is_done() {
        let mut placement = Placement::new(None, None, Wakefulness::default());
        assert_eq!(
            (placement.after_cell(), placement.told()),
            (ProcessorReadings::default(), None)
        );
        assert!(!placement.spoiled(&[], 0, Duration::from_secs(1)));
    }

    /// A hypervisor by the measurements of decision 0019. Processors become far after 10 s on average. Then
    /// they either come together after 0.1 s of waiting on average, and never without, or (stuck) stay
    /// apart for 20 s on average, whatever is done.
    struct Hypervisor {
        random: Pcg64,
        stuck: f64,
        /// In seconds.
        now: f64,
        changes: f64,
        is_far: bool,
        is_stuck: bool,
    }

    impl Hypervisor {
        fn new(stuck: f64, seed: u64) -> Self {
            let random = Pcg64::seed_from_u64(seed);
            let mut new =
                Self { random, stuck, now: 0.0, changes: 0.0, is_far: true, is_stuck: false };
            new.come_together();
            new
        }

        fn exponential(&mut self, mean: f64) -> f64 {
            -mean * (1.0 - self.random.random::<f64>()).ln()
        }

        fn come_together(&mut self) {
            self.is_far = false;
            self.changes = self.now + self.exponential(10.0);
        }

        fn pass(&mut self, time: Duration, waits: bool) {
            self.now += time.as_secs_f64();
            if self.is_far && !self.is_stuck && waits {
                let stays = (-time.as_secs_f64() / 0.1).exp();
                if !self.random.random_bool(stays) {
                    self.come_together();
                }
            }
            while self.changes <= self.now {
                if self.is_far {
                    self.come_together();
                } else {
                    self.is_far = true;
                    self.is_stuck = self.random.random_bool(self.stuck);
                    let stays = if self.is_stuck { self.exponential(20.0) } else { f64::INFINITY };
                    self.changes = self.now + stays;
                }
            }
        }
    }

    /// Measures a quick run of 360 cells of 0.27 s; returns the far ones, and the time that was spent.
    /// `begin_cell` gives each cell its share.
    fn quick_run(machine: &mut Hypervisor, begin_cell: fn(&mut Allowance)) -> (u32, Duration) {
        let (cell, whole) = (Duration::from_millis(270), Allowance::of(Duration::from_mins(2)));
        let (mut allowance, mut far) = (whole, 0);
        for _ in 0..360 {
            begin_cell(&mut allowance);
            for again in 0.. {
                let mut waited = Duration::ZERO;
                while machine.is_far && allowance.has(waited) {
                    machine.pass(LOOK_EVERY, true);
                    waited += LOOK_EVERY;
                }
                allowance.spend(waited);
                machine.pass(cell, false);
                if !(machine.is_far && again < MOST_AGAIN && allowance.has(cell)) {
                    break;
                }
                allowance.spend(cell);
            }
            far += u32::from(machine.is_far);
        }
        (far, whole.left.saturating_sub(allowance.left))
    }

    /// The mean share of far cells over 500 runs, each cell with its share of the time, and without.
    fn far_shares(stuck: f64, seed: u64) -> [f64; 2] {
        let whole: fn(&mut Allowance) = |allowance| allowance.of_cell = allowance.left;
        let found = [Allowance::begin_cell, whole].map(|begin_cell| {
            let mut machine = Hypervisor::new(stuck, seed);
            let mut sum = (0, Duration::ZERO);
            for _ in 0..500 {
                let (far, spent) = quick_run(&mut machine, begin_cell);
                sum = (sum.0 + far, sum.1 + spent);
            }
            (f64::from(sum.0) / (500.0 * 360.0), sum.1.as_secs_f64() / 500.0)
        });
        let [(with, with_s), (without, without_s)] = found;
        println!(
            "{stuck} stuck, seed {seed:#x}: {:.1} % far, {with_s:.1} s; without a share of a cell {:.1} %, {without_s:.1} s",
            100.0 * with,
            100.0 * without
        );
        [with, without]
    }

    #[test]
    fn a_share_for_each_cell_leaves_time_for_later_ones() {
        for (stuck, seed) in [(0.0, 0x0a01), (0.2, 0x0a02), (0.5, 0x0a03), (1.0, 0x0a04)] {
            let [with, without] = far_shares(stuck, seed);
            assert!(with <= without + 0.01, "{stuck}: {with} {without}");
        }
    }
}
