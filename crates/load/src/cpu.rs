//! The CPU activity: complex arithmetic, then allocate, copy, free (the paper's CPU load, section
//! 4.2).
//!
//! A round is two passes of dependent complex multiply-adds over an array, and then a copy of the
//! results into fresh memory that goes back to the kernel: the first part keeps the floating-point
//! unit busy, the second the memory management. A round takes 100 to 200 us on a machine of today,
//! two thirds of it arithmetic: short enough to calibrate with.

use std::hint::black_box;
use std::ops::{Add, Mul};
use std::sync::atomic::{AtomicBool, Ordering};

use btu_contract::activity::{Cpu, Performance, Performed, Rounds, Tell};
use btu_contract::record::{Host, Outcome};
use rand_pcg::rand_core::Rng;

use crate::account::{self, Account};
use crate::{LoadError, content};

/// Numbers in the array; 16 bytes each, 128 KiB together: more than a first-level cache, less than
/// a second-level, and 32 fresh pages of 4 KiB when they are copied.
const NUMBERS: usize = 8192;

/// Times the array is gone through in a round.
const PASSES: usize = 2;

/// Address space asked for in each block, in numbers (64 MiB).
///
/// The system's allocator keeps small blocks when they are freed, and then later rounds would touch
/// no fresh page. glibc moves its threshold for blocks of their own (`mmap`) up to the size of what
/// is freed, but never beyond 32 MiB (`DEFAULT_MMAP_THRESHOLD_MAX`, mallopt(3)); above it, every
/// block is mapped and unmapped. Only the part that is written takes memory.
const RESERVED: usize = (64 << 20) / size_of::<Complex>();

/// The nice value of a load that gives way: the kernel weighs it 15 where others weigh 1024 (`sched_prio_to_weight`).
const LOWEST: u8 = 19;

/// A complex number of the CPU load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

/// The CPU activity, ready to go.
#[derive(Debug)]
pub(crate) struct CpuLoad {
    rounds: Rounds,
    gives_way: bool,
    numbers: Vec<Complex>,
    turn: Complex,
    push: Complex,
}

impl CpuLoad {
    /// Numbers drawn from `seed`, for so many rounds.
    pub(crate) fn new(seed: u64, Cpu { rounds, gives_way }: Cpu) -> Self {
        let mut random = content::generator(seed);
        let mut unit = || f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0;
        let mut number = || Complex { re: unit(), im: unit() };
        let push = number();
        let numbers = (0..NUMBERS).map(|_| number()).collect();
        // 0.48 (cos 1 + i sin 1)
        Self { rounds, gives_way, numbers, turn: Complex { re: 0.259_345, im: 0.403_906 }, push }
    }

    /// Does one round: arithmetic, then memory.
    fn round(&mut self) {
        (0..PASSES).for_each(|_| self.multiply_add());
        self.copy();
    }

    /// z(i) becomes 0.48 e^i (z(i) + z(i-1)) + push: every step needs the one before, so it cannot
    /// be done in parallel. The factors keep all values bounded by |push| / (1 - 2 * 0.48), and
    /// `push` keeps them away from zero.
    fn multiply_add(&mut self) {
        let (turn, push) = (self.turn, self.push);
        let mut last = self.numbers[NUMBERS - 1];
        for number in &mut self.numbers {
            last = (*number + last) * turn + push;
            *number = last;
        }
        black_box(&mut self.numbers);
    }

    /// Allocates memory, copies it and frees it.
    fn copy(&self) {
        let mut block: Vec<Complex> = Vec::with_capacity(RESERVED);
        block.extend_from_slice(&self.numbers);
        black_box(&block);
    }

    /// Performs the requested rounds, or rounds until `stop` or the end of a requested time;
    /// returns their number.
    fn work(&mut self, account: &Account, stop: &AtomicBool) -> Result<u64, LoadError> {
        match self.rounds {
            Rounds::Count(count) => {
                (0..count).for_each(|_| self.round());
                Ok(count)
            }
            Rounds::For(time) => {
                let end = account.started() + time;
                let mut count = 0;
                while account::now()? < end && !stop.load(Ordering::Relaxed) {
                    self.round();
                    count += 1;
                }
                Ok(count)
            }
        }
    }
}

impl Performance for CpuLoad {
    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        if self.gives_way {
            let refused = |source| LoadError::Kernel { operation: "lower the priority", source };
            btu_traffic::give_way(LOWEST).map_err(refused)?;
        }
        let work = self.work(&account, stop)?;
        let closed = account.close()?;
        let method = format!(
            "per round {} dependent complex multiply-adds, then {} KiB into fresh pages",
            PASSES * NUMBERS,
            NUMBERS * size_of::<Complex>() / 1024
        );
        Ok(closed.report(Outcome::Host(Host { work, method })))
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Span;
    use nix::sys::resource::{UsageWho, getrusage};

    use super::*;

    /// All results folded into one word, bit by bit.
    fn checksum(cpu_load: &CpuLoad) -> u64 {
        cpu_load.numbers.iter().fold(0, |sum: u64, number| {
            sum.rotate_left(5) ^ number.re.to_bits() ^ number.im.to_bits().rotate_left(32)
        })
    }

    fn after(seed: u64, rounds: u64) -> CpuLoad {
        let mut cpu_load = CpuLoad::new(seed, Cpu::of(Rounds::Count(rounds)));
        (0..rounds).for_each(|_| cpu_load.round());
        cpu_load
    }

    #[test]
    fn equal_seeds_and_counts_give_equal_results() {
        assert_eq!(checksum(&after(7, 20)), checksum(&after(7, 20)));
        assert_ne!(checksum(&after(7, 20)), checksum(&after(8, 20)));
        assert_ne!(checksum(&after(7, 20)), checksum(&after(7, 21)));
    }

    #[test]
    fn values_stay_bounded_and_normal() {
        let cpu_load = after(3, 500);
        let bound = cpu_load.push.re.hypot(cpu_load.push.im) / (1.0 - 2.0 * 0.48) + 1e-9;
        for number in &cpu_load.numbers {
            assert!(number.re.hypot(number.im) <= bound && number.re.is_normal(), "{number:?}");
        }
    }

    #[test]
    fn every_round_touches_fresh_pages() {
        let faults = || getrusage(UsageWho::RUSAGE_THREAD).expect("usage").minor_page_faults();
        let mut cpu_load = after(1, 10);
        let before = faults();
        (0..100).for_each(|_| cpu_load.round());
        // 32 faults a round with 4 KiB pages; huge pages can make it one. A kept block would make
        // it none.
        assert!(faults() - before >= 100, "{} faults in 100 rounds", faults() - before);
    }

    #[test]
    fn counts_and_times_are_kept() {
        let never = AtomicBool::new(false);
        let report =
            Box::new(CpuLoad::new(1, Cpu::of(Rounds::Count(37)))).perform(&never).expect("rounds");
        assert!(
            matches!(report.outcome, Outcome::Host(Host { work: 37, .. })),
            "{:?}",
            report.outcome
        );

        let stopped = AtomicBool::new(true);
        let report = Box::new(CpuLoad::new(1, Cpu::of(Rounds::For(Span::from_seconds(60)))))
            .perform(&stopped)
            .expect("no rounds");
        assert!(
            matches!(report.outcome, Outcome::Host(Host { work: 0, .. })),
            "{:?}",
            report.outcome
        );

        let time = Span::from_milliseconds(50);
        let report =
            Box::new(CpuLoad::new(1, Cpu::of(Rounds::For(time)))).perform(&never).expect("rounds");
        assert!(report.duration() >= time, "{}", report.duration());
        assert!(
            matches!(report.outcome, Outcome::Host(Host { work: 1.., .. })),
            "{:?}",
            report.outcome
        );
    }
}
