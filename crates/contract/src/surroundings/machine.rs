//! The machine's state over a cell: CPU time, sleep, and steps of its wall clock.

use std::ops::AddAssign;

use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::wire::is_default;

/// CPU time of the whole machine over a cell (`/proc/stat`), all processors together, and whether
/// it slept or its wall clock was stepped meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineCpu {
    /// In user mode, nice included.
    pub user_ns: u64,
    /// The time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The time in hardware interrupts, in nanoseconds.
    pub irq_ns: u64,
    /// In software interrupts: most of packet reception.
    pub softirq_ns: u64,
    /// Taken by the hypervisor for others.
    pub steal_ns: u64,
    /// Doing nothing, waiting for disks included.
    pub idle_ns: u64,
    /// Suspended: the advance of `CLOCK_BOOTTIME` over `CLOCK_MONOTONIC`. Of several machines, the
    /// longest. Absent if it is zero, in absolute readings, and in records of older versions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slept_ns: u64,
    /// The step of the wall clock, forward or back: the advance of `CLOCK_REALTIME` over
    /// `CLOCK_BOOTTIME`. Of several machines, the farthest. Absent as `slept_ns` is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stepped_ns: u64,
    /// The latency between a processor of the machine under test and one of the rest after the
    /// cell: the round trip of a cache line. A hypervisor that moves them changes it. Absent where
    /// the processors are not divided, where it could not be told, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core_ns: Option<u64>,
    /// The time for a fixed piece of arithmetic, the mean of the same two processors before and after the cell:
    /// another thread of the same core (simultaneous multithreading) makes it longer. Absent as `core_to_core_ns` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic_ns: Option<u64>,
}

/// What was read of a processor of the machine under test and one of the rest around a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorReadings {
    /// The latency between them; `None` where it was not measured.
    pub core_to_core: Option<Span>,
    /// The time for a fixed piece of arithmetic; `None` where it was not measured.
    pub arithmetic: Option<Span>,
}

/// Two clocks cannot be read at once. A process that loses its processor between the two reads a
/// difference of a time slice of a few milliseconds; three attempts make that unlikely, but not
/// impossible. NTP's slewing of up to 500 parts per million needs no allowance: the kernel slews
/// the three clocks alike. A shorter sleep or a smaller step changes no result.
const LEAST_DISTURBANCE: Span = Span::from_milliseconds(5);

impl MachineCpu {
    /// The share of all processors' time that was used, that of the hypervisor's others included: 0
    /// to 1; `None` where no time was counted.
    pub fn busy_share(&self) -> Option<f64> {
        let used = self.user_ns + self.system_ns + self.irq_ns + self.softirq_ns + self.steal_ns;
        let whole = used + self.idle_ns;
        (whole > 0).then(|| used as f64 / whole as f64)
    }

    /// The time for which the machine slept; `None` if the readings may differ by as much without
    /// sleep.
    pub fn slept(&self) -> Option<Span> {
        told(self.slept_ns)
    }

    /// The step of the wall clock; `None` if the readings may differ by as much without a step.
    pub fn stepped(&self) -> Option<Span> {
        told(self.stepped_ns)
    }

    /// The same, with what was read of the processors around the cell.
    #[must_use]
    pub fn with(self, readings: ProcessorReadings) -> Self {
        let ProcessorReadings { core_to_core, arithmetic } = readings;
        let [core_to_core_ns, arithmetic_ns] =
            [core_to_core, arithmetic].map(|time| time.map(Span::nanoseconds));
        Self { core_to_core_ns, arithmetic_ns, ..self }
    }

    /// What was read of the processors around the cell.
    pub fn processor_readings(&self) -> ProcessorReadings {
        let [core_to_core, arithmetic] =
            [self.core_to_core_ns, self.arithmetic_ns].map(|time| time.map(Span::from_nanoseconds));
        ProcessorReadings { core_to_core, arithmetic }
    }

    /// Why a measurement meanwhile does not count, in a sentence: workers slept with the machine,
    /// their clocks stopped, and data from others did not arrive.
    pub fn fault(&self) -> Option<String> {
        self.slept().map(|slept| format!("the machine slept {slept} meanwhile"))
    }
}

fn told(nanoseconds: u64) -> Option<Span> {
    Some(Span::from_nanoseconds(nanoseconds)).filter(|span| *span >= LEAST_DISTURBANCE)
}

impl AddAssign for MachineCpu {
    /// Two machines together. A host may report any numbers, so sums saturate.
    fn add_assign(&mut self, other: Self) {
        let Self {
            user_ns,
            system_ns,
            irq_ns,
            softirq_ns,
            steal_ns,
            idle_ns,
            slept_ns,
            stepped_ns,
            core_to_core_ns,
            arithmetic_ns,
        } = other;
        self.user_ns = self.user_ns.saturating_add(user_ns);
        self.system_ns = self.system_ns.saturating_add(system_ns);
        self.irq_ns = self.irq_ns.saturating_add(irq_ns);
        self.softirq_ns = self.softirq_ns.saturating_add(softirq_ns);
        self.steal_ns = self.steal_ns.saturating_add(steal_ns);
        self.idle_ns = self.idle_ns.saturating_add(idle_ns);
        self.slept_ns = self.slept_ns.max(slept_ns);
        self.stepped_ns = self.stepped_ns.max(stepped_ns);
        self.core_to_core_ns = self.core_to_core_ns.max(core_to_core_ns);
        self.arithmetic_ns = self.arithmetic_ns.max(arithmetic_ns);
    }
}

/// Shares of all processors' time: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Used, software interrupts among it.
    pub busy: f64,
    /// In software interrupts.
    pub softirq: f64,
    /// Taken by the hypervisor for others.
    pub steal: f64,
}

impl Shares {
    /// A larger share of stolen time deserves a warning: one per cent of the machine is about as large as
    /// the differences that a user wants to detect.
    pub const MOST_STEAL: f64 = 0.01;

    /// Over all of `machines` together; `None` when no time was counted.
    pub fn of<'a>(machines: impl Iterator<Item = &'a MachineCpu>) -> Option<Self> {
        let mut sum = MachineCpu::default();
        machines.for_each(|machine| sum += *machine);
        let busy = sum.user_ns + sum.system_ns + sum.irq_ns + sum.softirq_ns;
        let whole = (busy + sum.steal_ns + sum.idle_ns) as f64;
        let share = |part: u64| part as f64 / whole;
        (whole > 0.0).then(|| Self {
            busy: share(busy),
            softirq: share(sum.softirq_ns),
            steal: share(sum.steal_ns),
        })
    }
}

/// Steps of wall clocks during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSteps {
    /// The number of cells concerned.
    pub cells: u64,
    /// The farthest, in ns, forward or back.
    pub worst_ns: u64,
}

impl ClockSteps {
    /// Steps in any of these cells; `None` if there are none.
    pub fn of<'a>(machines: impl Iterator<Item = &'a MachineCpu>) -> Option<Self> {
        machines.filter_map(MachineCpu::stepped).fold(None, |steps: Option<Self>, step| {
            let before = steps.unwrap_or(Self { cells: 0, worst_ns: 0 });
            Some(Self {
                cells: before.cells + 1,
                worst_ns: before.worst_ns.max(step.nanoseconds()),
            })
        })
    }

    /// The advice.
    pub const ADVICE: &'static str = "let NTP slew the clock, and set it before a run; nothing measured depends on it, but \
                                      logs and stored times do";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(slept_ns: u64, stepped_ns: u64) -> MachineCpu {
        MachineCpu { slept_ns, stepped_ns, ..MachineCpu::default() }
    }

    #[test]
    fn what_readings_may_differ_by_is_neither_sleep_nor_step() {
        let torn = machine(4_999_999, 4_999_999);
        assert_eq!((torn.fault(), torn.stepped()), (None, None));
        let disturbed = machine(3_000_000_000, 5_000_000);
        assert_eq!(disturbed.fault().as_deref(), Some("the machine slept 3 s meanwhile"));
        assert_eq!(disturbed.stepped(), Some(Span::from_milliseconds(5)));
    }

    #[test]
    fn steps_are_counted_and_the_farthest_is_told() {
        let steps =
            ClockSteps::of([machine(0, 7_000_000), machine(0, 0), machine(0, 9_000_000)].iter());
        assert_eq!(steps, Some(ClockSteps { cells: 2, worst_ns: 9_000_000 }));
        assert_eq!(ClockSteps::of([machine(9_000_000_000, 0)].iter()), None);
    }

    /// The sleep of hosts at one time is not added.
    #[test]
    fn of_several_machines_the_longest_sleep_counts() {
        let mut machines = machine(3_000_000_000, 1);
        machines += machine(2_000_000_000, 8_000_000);
        assert_eq!(machines, machine(3_000_000_000, 8_000_000));
    }

    #[test]
    fn records_of_versions_that_did_not_look_are_read() {
        let text =
            r#"{"user_ns":1,"system_ns":2,"irq_ns":3,"softirq_ns":4,"steal_ns":5,"idle_ns":6}"#;
        let read: MachineCpu = serde_json::from_str(text).unwrap();
        assert_eq!((read.slept(), read.stepped()), (None, None));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let disturbed = machine(3_000_000_000, 8_000_000);
        let again: MachineCpu =
            serde_json::from_str(&serde_json::to_string(&disturbed).unwrap()).unwrap();
        assert_eq!(again, disturbed);
    }
}
