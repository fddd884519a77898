//! Reads the kernel's counts.
//!
//! Source: `linux/gen_stats.h`. A parent counts its child's drops as its own, so each one's own
//! drops are the difference.

use btu_testbed::netlink::{attributes, find, u32_at, u64_at};

use super::tree::{DisciplineRole, Tree};
use super::{Listed, handle};

const INGRESS_HANDLE: u32 = 0xffff_0000;

/// The accounts of frames since the impairment was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ImpairmentAccounts {
    /// Came in at the interface.
    pub(crate) received: u64,
    /// Went on to the interface's owner; duplicates included.
    pub(crate) delivered: u64,
    /// Dropped by the propagation: lost on purpose.
    pub(crate) lost: u64,
    /// Dropped by the queue: no room, or its discipline decided so.
    pub(crate) refused: u64,
    /// Under way: waiting, in transmission, or in propagation.
    pub(crate) held: u64,
}

impl ImpairmentAccounts {
    /// Frames made by duplication; the kernel does not count them, so they are computed as the
    /// difference. Negative when frames are missing.
    pub(crate) fn duplicated(&self) -> i64 {
        (self.delivered + self.lost + self.refused + self.held).cast_signed()
            - self.received.cast_signed()
    }

    pub(super) fn read(interface: &[Listed], device: &[Listed], tree: &Tree) -> Self {
        let count =
            |place: u16| device.iter().find(|listed| listed.handle == handle(place)).map(counters);
        let chain: Vec<_> =
            (0u16..).zip(&tree.chain).map(|(place, _)| count(place).unwrap_or_default()).collect();
        let first = chain.first().copied().unwrap_or_default();
        let received = interface
            .iter()
            .find(|listed| listed.handle == INGRESS_HANDLE)
            .map(counters)
            .unwrap_or_default();
        let mut accounts = Self {
            received: received.packets,
            delivered: first.packets,
            held: first.held,
            ..Self::default()
        };
        for (place, ((role, _), own)) in tree.chain.iter().zip(&chain).enumerate() {
            let below = chain.get(place + 1).copied().unwrap_or_default();
            let drops = own.drops.saturating_sub(below.drops);
            match role {
                DisciplineRole::Queue => accounts.refused += drops,
                DisciplineRole::Propagation => accounts.lost += drops,
            }
        }
        accounts
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    packets: u64,
    held: u64,
    drops: u64,
}

fn counters(listed: &Listed) -> Counters {
    const TCA_STATS2: u16 = 7;
    const BASIC: u16 = 1;
    const QUEUE: u16 = 3;
    const PACKETS_64: u16 = 8;
    let mut counters = Counters::default();
    for (kind, value) in attributes(find(&listed.attributes, TCA_STATS2).unwrap_or_default()) {
        match kind {
            // struct gnet_stats_basic: bytes, packets. The wide count of packets follows where the
            // narrow one overflows.
            BASIC => counters.packets = counters.packets.max(u32_at(value, 8).unwrap_or(0).into()),
            PACKETS_64 => counters.packets = u64_at(value, 0).unwrap_or(0),
            // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits.
            QUEUE => {
                counters.held = u32_at(value, 0).unwrap_or(0).into();
                counters.drops = u32_at(value, 8).unwrap_or(0).into();
            }
            _ => {}
        }
    }
    counters
}
