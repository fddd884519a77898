//! The medium's conformance bench on kernel netem.

use std::time::Duration;

use btu_conditions::judge;
use btu_medium::conformance::{Arrival, Bench, SHORTEST_FRAME};
use btu_network::{Direction, Rate};
use btu_units::{BitRate, Bytes, Probability, Span, Time};

use crate::driver::{Impaired, ImpairmentAccounts};
use crate::is_set;
use crate::pair::{FAR, Pair, in_fresh_namespace};
use crate::scenarios::Machine;

pub(crate) const SEED: u64 = 1995;
/// The wait after the slowest expected event: after this silence no frame will arrive.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Kernel netem as a bench. Every run has its own namespace, and ends with a check of the accounts.
///
/// The time from one packet socket to the other without netem is measured first, and subtracted.
pub(crate) struct NetemBench {
    bare: Span,
}

impl NetemBench {
    pub(crate) fn new() -> Self {
        let script: Vec<_> =
            (0..200).map(|n| (Span::from_microseconds(500) * n, SHORTEST_FRAME)).collect();
        let arrivals = in_fresh_namespace(|| Pair::new().run(&script, TIMEOUT));
        assert_eq!(arrivals.len(), script.len());
        let bare = median(arrivals.iter().map(delay));
        println!("  the bare way takes {bare}");
        Self { bare }
    }

    /// As [`Bench::run`], with the kernel's counts.
    pub(crate) fn ride(
        &self,
        direction: &Direction,
        script: &[(Span, Bytes)],
    ) -> (Vec<Arrival>, ImpairmentAccounts) {
        let (mut arrivals, accounts) = in_fresh_namespace(|| {
            let pair = Pair::new();
            let mut impaired = Impaired::new(FAR, direction, SEED);
            let arrivals = pair.run(script, timeout(direction));
            (arrivals, impaired.accounts())
        });
        println!("  {accounts:?}");
        assert_eq!(accounts.received, script.len() as u64, "every frame came to the impairment");
        assert_eq!(
            accounts.delivered,
            arrivals.len() as u64,
            "and what left it is in the accounts"
        );
        assert_eq!(accounts.held, 0);
        let duplicates = accounts.duplicated();
        assert!(
            duplicates == 0 || duplicates > 0 && direction.duplicate > Probability::NEVER,
            "{duplicates} too many"
        );
        for arrival in &mut arrivals {
            arrival.sent += self.bare;
        }
        (arrivals, accounts)
    }
}

impl Bench for NetemBench {
    fn run(&mut self, direction: &Direction, script: &[(Span, Bytes)]) -> Vec<Arrival> {
        self.ride(direction, script).0
    }

    /// On a clock that counts instructions only the kernel's own work adds delay: its timer, two
    /// soft interrupts, about 10,000 instructions. On a real clock it is the tolerance of the wire:
    /// 0.2 ms.
    fn tolerance(&self) -> Span {
        Span::from_microseconds(if is_set("--exact-clock") { 20 } else { 200 })
    }

    #[track_caller]
    fn out_of_bounds(&self, message: &str) {
        Machine.out_of_bounds(message);
    }
}

fn timeout(direction: &Direction) -> Duration {
    let full_frame = match direction.rate {
        Rate::Fixed(rate) => {
            Duration::from_secs_f64(8.0 * 1600.0 * 1.25 / rate.bits_per_second() as f64)
        }
        Rate::Trace(_) => Duration::ZERO,
    };
    TIMEOUT + Duration::from(direction.delay) * 2 + full_frame * 10
}

/// From sending to arrival.
pub(crate) fn delay(arrival: &Arrival) -> Span {
    arrival.arrived.since(arrival.sent)
}

pub(crate) fn median(delays: impl Iterator<Item = Span>) -> Span {
    let mut delays: Vec<Span> = delays.collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

/// From the first arrival to the last.
pub(crate) fn duration(arrivals: &[Arrival]) -> Span {
    let (first, last) = (arrivals[0], arrivals[arrivals.len() - 1]);
    last.arrived.since(first.arrived)
}

/// Frames that arrive after a later one (RFC 4737).
pub(crate) fn overtaken(arrivals: &[Arrival]) -> usize {
    let mut next = 0;
    let mut count = 0;
    for arrival in arrivals {
        if arrival.number < next {
            count += 1;
        } else {
            next = arrival.number + 1;
        }
    }
    count
}

/// Within `deviations` of 3.29 (two-sided 99.9 per cent).
pub(crate) fn within(what: &str, seen: f64, expected: f64, deviation: f64) {
    println!("  {what}: {seen:.4}, expected {expected:.4} +- {:.4}", 3.2905 * deviation);
    let error = (seen - expected).abs();
    judge!(Machine, error <= 3.2905 * deviation, "{what}: {seen} instead of {expected}");
}

pub(crate) fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

/// A line of this rate in megabits per second without delay.
pub(crate) fn line(megabits: u64) -> Direction {
    Direction::new(BitRate::from_megabits_per_second(megabits), Span::ZERO)
}

/// Frames of one length at equal distances.
pub(crate) fn steady(frames: u64, apart: Span, length: Bytes) -> Vec<(Span, Bytes)> {
    (0..frames).map(|n| (apart * n, length)).collect()
}

/// The arrivals of frames that were sent after a time from the start.
pub(crate) fn sent_after(
    arrivals: &[Arrival],
    start: Time,
    after: Span,
) -> impl Iterator<Item = &Arrival> {
    arrivals.iter().filter(move |arrival| arrival.sent >= start + after)
}
