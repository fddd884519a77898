//! The emulator's own accounts, in addition to those of the network: the counts of its ports, and
//! the lateness of frames.

use btu_contract::record::{ElementAccount, SegmentUse, WireAccount};
use btu_medium::{Account, Meter};
use btu_stats::Histogram;
use btu_units::{Span, Time};

use super::emulated::EmulatedNetwork;

/// The counts of one port since the accounts were reset, in frames.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PortAccounts {
    /// Taken from the kernel and handed to the network.
    pub(super) received: u64,
    /// Handed to the port to be sent.
    pub(super) offered: u64,
    /// Of those, taken by the kernel.
    pub(super) sent: u64,
    /// The port's counters when the accounts were reset.
    pub(super) kernel_drops_before: u64,
    pub(super) misfits_before: u64,
}

/// The lateness of frames.
pub(super) struct Lateness {
    histogram: Histogram,
    bound: Span,
    late: u64,
}

impl Lateness {
    /// Empty accounts; frames later than `bound` will count as late.
    pub(super) fn new(bound: Span) -> Self {
        Self { histogram: Histogram::new(), bound, late: 0 }
    }

    /// Enters frames that were due at these times, in the order in which they left, evenly between
    /// `begin` and `end`.
    pub(super) fn record(&mut self, dues: &[Time], begin: Time, end: Time) {
        let Some(each) = end.since(begin).nanoseconds().checked_div(dues.len() as u64) else {
            return;
        };
        for (place, due) in (1..).zip(dues) {
            let late = begin.since(*due) + Span::from_nanoseconds(each * place);
            self.histogram.record(late.nanoseconds());
            self.late += u64::from(late > self.bound);
        }
    }

    /// Resets the accounts to what is inside now.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.bound);
    }
}

/// A port's accounts as they are shown, with its counters now.
pub(super) struct PortView<'a> {
    pub(super) interface: &'a str,
    pub(super) accounts: PortAccounts,
    pub(super) kernel_drops: u64,
    pub(super) misfits: u64,
}

/// All counts as one account, open for this time.
pub(super) fn account(
    inside: &EmulatedNetwork,
    ports: &[PortView<'_>],
    lateness: &Lateness,
    open: Span,
) -> WireAccount {
    let elements = inside.accounts().map(|(name, account)| element(name, &account));
    WireAccount {
        elements: elements.chain(ports.iter().flat_map(PortView::elements)).collect(),
        port_drops: ports
            .iter()
            .map(|port| port.kernel_drops - port.accounts.kernel_drops_before)
            .sum(),
        lateness: lateness.histogram.clone(),
        late_after: lateness.bound,
        late: lateness.late,
        segments: inside.meters().map(|(name, meter)| segment(name, &meter, open)).collect(),
        ..WireAccount::default()
    }
}

fn element(name: &str, account: &Account) -> ElementAccount {
    ElementAccount {
        name: name.to_owned(),
        received: account.received,
        duplicated: account.duplicated,
        delivered: account.delivered,
        dropped: account.drops().map(|(cause, frames)| (cause.name().to_owned(), frames)).collect(),
        held: account.held,
    }
}

fn segment(name: &str, meter: &Meter, open: Span) -> SegmentUse {
    SegmentUse {
        name: name.to_owned(),
        open,
        data: meter.data,
        overhead: meter.overhead,
        collisions: meter.collisions,
        collision_count: meter.collision_count,
        frames: meter.frames,
        lines: meter.lines,
    }
}

impl PortView<'_> {
    /// A port seen as two elements: one that takes frames in, one that sends them out.
    fn elements(&self) -> [ElementAccount; 2] {
        let misfits = self.misfits - self.accounts.misfits_before;
        let refused = self.accounts.offered - self.accounts.sent;
        [
            self.side("receive", self.accounts.received, ("misfit length", misfits)),
            self.side("send", self.accounts.sent, ("refused by the kernel", refused)),
        ]
    }

    fn side(&self, side: &str, delivered: u64, (cause, dropped): (&str, u64)) -> ElementAccount {
        ElementAccount {
            name: format!("{}/{side}", self.interface),
            received: delivered + dropped,
            duplicated: 0,
            delivered,
            dropped: (dropped > 0).then(|| (cause.to_owned(), dropped)).into_iter().collect(),
            held: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_evenly_over_the_time_that_sending_took() {
        let at = Time::from_nanoseconds;
        let mut lateness = Lateness::new(Span::from_nanoseconds(150));
        lateness.record(&[at(1000), at(1000)], at(1000), at(1200));
        assert_eq!((lateness.histogram.min(), lateness.histogram.max()), (Some(100), Some(200)));
        assert_eq!(lateness.late, 1, "beyond the bound, not on it");
        lateness.reset();
        assert_eq!((lateness.histogram.count(), lateness.late), (0, 0));
    }
}
