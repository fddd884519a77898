//! Reads the kernel's counts.
//!
//! Source: `linux/gen_stats.h`. A parent counts its child's drops as its own, so each one's own
//! drops are the difference.

use super::attributes::{attributes, find, u32_at, u64_at};
use super::kernel::{Listed, handle, is_ingress};
use super::tree::{DisciplineRole, Tree};

/// The accounts of frames since the impairment was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImpairmentAccounts {
    /// Came in at the interface.
    pub received: u64,
    /// Went on to the interface's owner; duplicates included.
    pub delivered: u64,
    /// Dropped by the propagation: lost on purpose.
    pub lost: u64,
    /// Dropped by the queue: no room, or its discipline decided so.
    pub refused: u64,
    /// Under way: waiting, in transmission, or in propagation.
    pub held: u64,
}

impl ImpairmentAccounts {
    /// Frames made by duplication; the kernel does not count them, so they are computed as the
    /// difference. Negative when frames are missing.
    pub fn duplicated(&self) -> i64 {
        (self.delivered + self.lost + self.refused + self.held).cast_signed()
            - self.received.cast_signed()
    }

    pub(super) fn read(interface: &[Listed], device: &[Listed], base: u16, tree: &Tree) -> Self {
        let count = |place: u16| {
            device.iter().find(|listed| listed.handle == handle(base, place)).map(counters)
        };
        let chain: Vec<_> =
            (0u16..).zip(&tree.chain).map(|(place, _)| count(place).unwrap_or_default()).collect();
        let first = chain.first().copied().unwrap_or_default();
        let received =
            interface.iter().find(|listed| is_ingress(listed)).map(counters).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use btu_network::{Direction, Loss};
    use btu_units::{BitRate, Probability, Span};

    use super::super::attributes::Attributes;
    use super::*;

    fn listed(handle: u32, packets: u32, held: u32, drops: u32) -> Listed {
        let basic = [0, 0, packets, 0].map(u32::to_ne_bytes).concat();
        let queue = [held, 0, drops, 0, 0].map(u32::to_ne_bytes).concat();
        let stats = Attributes::new().with(1, &basic).with(3, &queue);
        Listed { handle, attributes: Attributes::new().with_nested(7, &stats).bytes().to_vec() }
    }

    #[test]
    fn each_discipline_answers_for_its_own_drops() {
        let loss = Loss::Random(Probability::new(0.1).unwrap());
        let line = Direction::new(BitRate::from_megabits_per_second(10), Span::ZERO);
        let tree = Tree::of(&Direction { loss, ..line }, 1).unwrap();
        let device = [
            listed(0x10_0000, 80, 3, 17),
            listed(0x11_0000, 80, 3, 17),
            listed(0x12_0000, 80, 0, 10),
        ];
        let accounts =
            ImpairmentAccounts::read(&[listed(0xffff_0000, 100, 0, 0)], &device, 0x10, &tree);
        assert_eq!(
            accounts,
            ImpairmentAccounts { received: 100, delivered: 80, lost: 10, refused: 7, held: 3 }
        );
        assert_eq!(accounts.duplicated(), 0);
    }
}
