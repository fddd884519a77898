//! The state of the machine during a measurement.

use std::io;

use btu_contract::record::MachineCpu;
use nix::time::ClockId;

use super::cpu_time;
use crate::clock;

/// The state of the machine at one moment.
#[derive(Debug, Clone)]
pub struct MachineWatch {
    cpu: MachineCpu,
    clocks: Clocks,
}

impl MachineWatch {
    /// Reads the processors and the clocks.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read, or does not begin as the kernel's does, or there is no such
    /// clock.
    pub fn begin() -> io::Result<Self> {
        Ok(Self { cpu: cpu_time::machine_cpu()?, clocks: Clocks::read()? })
    }

    /// The machine's CPU time since then, and whether it slept or its wall clock was stepped.
    ///
    /// # Errors
    /// As of [`Self::begin`].
    pub fn end(&self) -> io::Result<MachineCpu> {
        let now = Self::begin()?;
        Ok(self.clocks.until(&now.clocks, cpu_time::delta(&self.cpu, &now.cpu)))
    }
}

/// The difference of two clocks, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClockDifference {
    by_ns: i128,
    /// Its uncertainty either way.
    within_ns: i128,
}

/// The number of comparisons of two clocks; the reading with the least time between the two counts.
const READINGS: usize = 3;

impl ClockDifference {
    /// `one` less `other`, which is read before and after it.
    fn read(one: ClockId, other: ClockId) -> nix::Result<Self> {
        let mut best: Option<Self> = None;
        for _ in 0..READINGS {
            let [before, between, after] = [other, one, other].map(clock::nanoseconds);
            let (before, between, after) =
                (i128::from(before?), i128::from(between?), i128::from(after?));
            let reading = Self {
                by_ns: between - i128::midpoint(before, after),
                within_ns: (after - before).abs() / 2 + 1,
            };
            best = Some(best.filter(|best| best.within_ns <= reading.within_ns).unwrap_or(reading));
        }
        best.ok_or(nix::Error::EINVAL)
    }

    /// The certain part of their relative movement, forward or back.
    fn moved_ns(self, later: Self) -> u64 {
        let moved = (later.by_ns - self.by_ns).abs() - self.within_ns - later.within_ns;
        u64::try_from(moved.max(0)).unwrap_or(u64::MAX)
    }
}

/// The differences of the machine's clocks. They are slewed alike, so only sleep and steps move
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clocks {
    /// `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`: time asleep since the machine was started.
    asleep: ClockDifference,
    /// `CLOCK_REALTIME` less `CLOCK_BOOTTIME`: when the machine was started, by its wall clock.
    /// Against `CLOCK_MONOTONIC` a sleep would look like a step.
    started: ClockDifference,
}

impl Clocks {
    fn read() -> nix::Result<Self> {
        Ok(Self {
            asleep: ClockDifference::read(ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_MONOTONIC)?,
            started: ClockDifference::read(ClockId::CLOCK_REALTIME, ClockId::CLOCK_BOOTTIME)?,
        })
    }

    /// `cpu` with the changes of the clocks between two readings.
    fn until(&self, later: &Self, cpu: MachineCpu) -> MachineCpu {
        let (slept_ns, stepped_ns) =
            (self.asleep.moved_ns(later.asleep), self.started.moved_ns(later.started));
        MachineCpu { slept_ns, stepped_ns, ..cpu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(asleep_ns: i128, started_ns: i128) -> Clocks {
        let apart = |by_ns| ClockDifference { by_ns, within_ns: 100 };
        Clocks { asleep: apart(asleep_ns), started: apart(started_ns) }
    }

    fn between(before: Clocks, after: Clocks) -> (u64, u64) {
        let found = before.until(&after, MachineCpu { idle_ns: 7, ..MachineCpu::default() });
        assert_eq!(found.idle_ns, 7);
        (found.slept_ns, found.stepped_ns)
    }

    #[test]
    fn sleep_and_steps_are_told_apart() {
        let before = clocks(5_000_000_000, 1_790_000_000_000_000_000);
        assert_eq!(between(before, before), (0, 0));
        let slept = clocks(8_000_000_000, before.started.by_ns);
        assert_eq!(between(before, slept), (3_000_000_000 - 200, 0));
        for step in [60_000_000_000, -60_000_000_000] {
            let stepped = clocks(before.asleep.by_ns, before.started.by_ns + step);
            assert_eq!(between(before, stepped), (0, 60_000_000_000 - 200));
        }
    }

    /// The process lost its processor between two readings of one comparison.
    #[test]
    fn what_a_reading_is_in_warning_by_is_no_movement() {
        let exact = clocks(0, 0);
        let torn = ClockDifference { by_ns: 9_000_000, within_ns: 9_000_000 };
        assert_eq!(between(exact, Clocks { asleep: torn, started: torn }), (0, 0));
    }

    #[test]
    fn a_machine_that_is_awake_did_not_sleep() {
        let watch = MachineWatch::begin().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let seen = watch.end().unwrap();
        assert_eq!((seen.slept(), seen.stepped()), (None, None), "{seen:?}");
        assert!(seen.user_ns + seen.system_ns + seen.idle_ns + seen.steal_ns > 0, "{seen:?}");
    }
}
