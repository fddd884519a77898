//! Estimates the offset between a host's clocks and this machine's.
//!
//! A probe records the controller's clock before and after the host's reading. The host's reading
//! was at the middle of both, plus or minus half of the round trip (Cristian 1989), so of the last
//! eight probes the one with the least round trip counts. Only the start skew and a warning depend
//! on it.

use std::collections::VecDeque;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use btu_contract::record::HostClock;

use crate::clock;
use crate::protocol::RenewReply;

/// The number of probes in use.
const KEPT: usize = 8;

/// The controller's clocks at one moment, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    monotonic: i128,
    wall: i128,
}

impl Moment {
    /// Now; `None` if the system does not report it.
    pub(super) fn now() -> Option<Self> {
        let monotonic = clock::monotonic().ok()?.nanoseconds().into();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos().try_into().ok()?;
        Some(Self { monotonic, wall })
    }
}

/// The last probes of one host.
#[derive(Debug, Clone, Default)]
pub(super) struct Probes {
    last: VecDeque<HostClock>,
    heard: Option<Instant>,
}

impl Probes {
    /// Notes a probe that was sent at `before` and answered at `after`.
    pub(super) fn note(&mut self, before: Moment, reply: &RenewReply, after: Moment) {
        self.heard = Some(Instant::now());
        if self.last.len() >= KEPT {
            self.last.pop_front();
        }
        let middle = |before: i128, after: i128| i128::midpoint(before, after);
        let offset = i128::from(reply.monotonic_ns) - middle(before.monotonic, after.monotonic);
        let wall_offset = i128::from(reply.realtime_ns) - middle(before.wall, after.wall);
        self.last.push_back(HostClock {
            offset_ns: clamp(offset),
            at_ns: u64::try_from(middle(before.monotonic, after.monotonic)).unwrap_or_default(),
            round_trip_ns: u64::try_from(after.monotonic - before.monotonic).unwrap_or_default(),
            wall_offset_ns: clamp(wall_offset),
        });
    }

    /// The time of the host's last answer.
    pub(super) fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// The best probe; `None` before the first.
    pub(super) fn best(&self) -> Option<HostClock> {
        self.last.iter().copied().min_by_key(|probe| probe.round_trip_ns)
    }
}

fn clamp(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanoseconds: i128) -> Moment {
        Moment { monotonic: nanoseconds, wall: nanoseconds + 5_000 }
    }

    fn reply(monotonic_ns: u64) -> RenewReply {
        RenewReply { monotonic_ns, realtime_ns: monotonic_ns }
    }

    #[test]
    fn the_quickest_of_the_last_eight_counts() {
        let mut probes = Probes::default();
        assert_eq!(probes.best(), None);
        probes.note(at(1_000), &reply(101_010), at(1_020));
        for _ in 0..7 {
            probes.note(at(2_000), &reply(102_700), at(3_000));
        }
        let best = probes.best().unwrap();
        assert_eq!(
            (best.offset_ns, best.round_trip_ns, best.wall_offset_ns),
            (100_000, 20, 95_000)
        );
        probes.note(at(2_000), &reply(102_700), at(3_000));
        assert_eq!(probes.best().unwrap().round_trip_ns, 1_000, "the ninth before is forgotten");
    }

    proptest! {
        #[test]
        fn the_error_is_at_most_half_the_round_trip(
            offset in 0u64..1 << 40, out in 0i128..1 << 30, back in 0i128..1 << 30, start in 0i128..1 << 40,
        ) {
            let mut probes = Probes::default();
            let there = u64::try_from(start + out).unwrap() + offset;
            probes.note(at(start), &reply(there), at(start + out + back));
            let best = probes.best().unwrap();
            let error = i128::from(best.offset_ns) - i128::from(offset);
            prop_assert!(error.abs() <= i128::midpoint(out, back) + 1, "{}", error);
        }

        #[test]
        fn whatever_a_host_says_is_taken(monotonic_ns: u64, realtime_ns: u64) {
            let mut probes = Probes::default();
            probes.note(at(0), &RenewReply { monotonic_ns, realtime_ns }, at(1));
            prop_assert!(probes.best().is_some());
        }
    }
}
