//! Decides when a background station begins its next transaction.

use btu_units::{Span, Time};

use super::PauseStream;

/// The load that one background station makes.
#[derive(Debug, Clone)]
pub enum Background {
    /// CONST.BAS: the next transaction begins when the last one ends.
    Constant,
    /// NORM.BAS, and other distributions: a pause between transactions.
    Paced {
        /// The pauses of the station.
        pauses: PauseStream,
        /// The event after which a pause begins.
        schedule: Schedule,
    },
}

/// The event after which a pause begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// The end of the last transaction, as in NORM.BAS: a slow server thins its own load.
    Closed,
    /// The time at which the last transaction was due: the load stays as requested, even if the
    /// server is slow.
    Open {
        /// When the last transaction was due; at first, when the station started.
        due: Time,
    },
}

impl Background {
    /// When the next transaction is due, the last one having ended at `ended` (at first: when the
    /// station started). In an open schedule that may be in the past: the station is late, and
    /// begins at once.
    pub fn next(&mut self, ended: Time) -> Time {
        match self {
            Self::Constant => ended,
            Self::Paced { pauses, schedule } => schedule.next(ended, pauses.draw()),
        }
    }
}

impl Schedule {
    fn next(&mut self, ended: Time, pause: Span) -> Time {
        match self {
            Self::Closed => ended + pause,
            Self::Open { due } => {
                *due += pause;
                *due
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_medium::Stream;

    use super::*;
    use crate::lan::Pauses;

    const SECOND: u64 = 1_000_000_000;

    fn normal(deviation: Span, schedule: Schedule) -> Background {
        let pauses = Pauses::Normal { mean: Span::from_seconds(1), deviation };
        Background::Paced { pauses: pauses.stream(Stream::new(1, "station-1")), schedule }
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanoseconds(seconds * SECOND)
    }

    /// A server that takes 3 s: the closed loop begins every 4 s, the open one every second.
    #[test]
    fn a_slow_server_thins_the_closed_loop_only() {
        let mut closed = normal(Span::ZERO, Schedule::Closed);
        let mut open = normal(Span::ZERO, Schedule::Open { due: at(0) });
        let (mut closed_end, mut open_end) = (at(0), at(0));
        for transaction in 1..=5 {
            let begin = closed.next(closed_end);
            assert_eq!(begin, at(4 * transaction - 3));
            closed_end = begin + Span::from_seconds(3);
            let due = open.next(open_end);
            assert_eq!(due, at(transaction));
            open_end = due.max(open_end) + Span::from_seconds(3);
        }
    }

    #[test]
    fn constant_load_knows_no_pause() {
        assert_eq!(Background::Constant.next(at(9)), at(9));
    }

    #[test]
    fn no_transaction_begins_before_the_last_one_ended_in_a_closed_loop() {
        let mut closed = normal(Span::from_seconds(3), Schedule::Closed);
        let mut ended = at(0);
        for _ in 0..1000 {
            let begin = closed.next(ended);
            assert!(begin >= ended);
            ended = begin + Span::from_milliseconds(20);
        }
    }
}
