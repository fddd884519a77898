//! Records the state of the machine and the network during the measurement of a size.

use anyhow::Context;
use btu_control::environment::MachineWatch;
use btu_suite::pipe::{Conditions, End, PipePlan};
use btu_units::Span;

use super::series::Place;
use super::workers::{WorkerId, Workers};

const UNREAD: &str = "reading /proc/stat and the clocks";

/// The state before a size.
pub(super) struct Watch<'a> {
    number: usize,
    plan: &'a PipePlan,
    machine: MachineWatch,
    /// CPU time of both ends so far, if it is known.
    cpu: [Option<Span>; 2],
}

impl<'a> Watch<'a> {
    /// Reads the state before the turn of pipe `number`, and resets the emulator.
    pub(super) fn begin(
        place: &Place<'_>,
        ends: &Workers,
        number: usize,
        plan: &'a PipePlan,
    ) -> anyhow::Result<Self> {
        place.ground.reset_account(plan)?;
        let cpu = cpu(ends, number);
        Ok(Self { number, plan, machine: MachineWatch::begin().context(UNREAD)?, cpu })
    }

    /// The changes since then.
    pub(super) fn end(self, place: &Place<'_>, ends: &Workers) -> anyhow::Result<Conditions> {
        let machine = self.machine.end().context(UNREAD)?;
        let network = place.ground.account(self.plan)?.map(Box::new);
        let [near, far] = cpu(ends, self.number);
        let used = |before: Option<Span>, after: Option<Span>| Some(after? - before?);
        Ok(Conditions {
            machine,
            near_cpu: used(self.cpu[0], near),
            far_cpu: used(self.cpu[1], far),
            network,
        })
    }
}

fn cpu(ends: &Workers, number: usize) -> [Option<Span>; 2] {
    [End::Near, End::Far].map(|end| ends.cpu(WorkerId::End(number, end)))
}
