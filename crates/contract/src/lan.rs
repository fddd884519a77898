//! `btu lan`, after Press (1988): a task of one station at a file server, slowed down by background
//! stations there. Pure: time is an argument.

mod account;
mod background;
pub mod dbf;
mod normal;
mod pattern;
mod pauses;
mod program;
mod task;
mod trace;

use btu_stats::Welford;
use btu_units::Time;

pub use account::{FilesServed, SETUP_CLIENT, ServedClient, Share, StationDone, TaskDone};
pub use background::{Background, Schedule};
pub use normal::{NormalPauses, mean_pause_seconds, polar};
pub use pattern::Pattern;
pub use pauses::{PauseStream, Pauses};
pub use program::{StationProgram, StationWork};
pub use task::{BLOCK, Doing, FileSizes, LARGEST_SCALE, Task};
pub use trace::{
    OperationTrace, Replayed, TraceError, TracedFile, TracedOperation, fuzz_operation_trace,
};

/// Times from the end of one transaction to the end of the next.
///
/// CONST.BAS counts the time since its initialisation as the first of them and divides 0 by 0 for
/// its variance; here the first transaction only starts the clock, and there is no variance below
/// two times. The program calls its variance a standard deviation in the text; this has both. Sums
/// of squares cancel in its single precision; these do not.
#[derive(Debug, Clone, Default)]
pub struct Transactions {
    last: Option<Time>,
    seconds: Welford,
}

impl Transactions {
    /// Adds a transaction that has ended.
    pub fn ended(&mut self, now: Time) {
        if let Some(last) = self.last.replace(now) {
            self.seconds.push(now.since(last).seconds());
        }
    }

    /// Transactions that have ended.
    pub fn count(&self) -> u64 {
        self.seconds.count() + u64::from(self.last.is_some())
    }

    /// Times between them, in seconds: number, mean, variance (unbiased), deviation.
    pub const fn seconds(&self) -> &Welford {
        &self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of 1, 2, 4 and 8 s: mean 3.75, variance 9.583333, independent of the time before the
    /// first transaction.
    #[test]
    fn the_vector_of_const_bas() {
        for start in [0, 86_399] {
            let mut transactions = Transactions::default();
            for seconds in [0, 1, 3, 7, 15] {
                transactions.ended(Time::from_nanoseconds((start + seconds) * 1_000_000_000));
            }
            assert_eq!(transactions.count(), 5);
            assert_eq!(transactions.seconds().mean(), Some(3.75));
            let variance = transactions.seconds().variance().unwrap();
            assert!((variance - 9.583_333_333).abs() < 1e-9, "{variance}");
        }
    }

    #[test]
    fn the_first_transaction_has_no_time_and_the_second_no_variance() {
        let mut transactions = Transactions::default();
        assert_eq!((transactions.count(), transactions.seconds().mean()), (0, None));
        transactions.ended(Time::from_nanoseconds(5));
        assert_eq!((transactions.count(), transactions.seconds().mean()), (1, None));
        transactions.ended(Time::from_nanoseconds(7));
        assert_eq!((transactions.count(), transactions.seconds().mean()), (2, Some(2e-9)));
        assert_eq!(transactions.seconds().variance(), None);
    }
}
