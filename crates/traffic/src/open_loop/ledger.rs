//! The account of requests in flight: requests = answers + lost + wrong + in flight.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use btu_contract::record::Requested;
use btu_contract::sample::Answered;
use btu_stats::{Histogram, batches};
use btu_units::{Span, Time};

use super::Heard;

/// A request without an answer is lost after this time.
pub(crate) const LOST_AFTER: Span = Span::from_seconds(10);

/// After the last request its answer is waited for three times as long as the longest round trip so
/// far (as irtt does), at least for a second, which no answer of a usual path exceeds by a sudden
/// queue, and at most until it would be lost. Until the first answer no round trip is known.
const WAITS: u64 = 3;
const LEAST_WAIT: Span = Span::from_seconds(1);

/// If so many of the last requests have no answer the path may stand still, as while a radio changes its cell: then answers
/// are waited for until the requests would be lost.
const SILENT: usize = 3;

/// The times of answers since they were last asked for, for another thread to read.
#[derive(Default)]
pub(crate) struct Recent {
    /// Nanoseconds; `None` when no thread reads them.
    times: Option<Mutex<Vec<u64>>>,
}

impl Recent {
    /// Whether a thread reads them.
    pub(crate) fn new(is_read: bool) -> Self {
        Self { times: is_read.then(Mutex::default) }
    }

    fn note(&self, time: Span) {
        if let Some(times) = &self.times {
            times.lock().unwrap_or_else(PoisonError::into_inner).push(time.nanoseconds());
        }
    }

    /// The times since the last call; `None` if no answer came.
    pub(crate) fn take(&self) -> Option<Answered> {
        let times = self.times.as_ref()?;
        let mut times = std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        let median = *times.get(times.len().saturating_sub(1) / 2)?;
        Some(Answered {
            count: times.len() as u64,
            median: Span::from_nanoseconds(median),
            longest: Span::from_nanoseconds(*times.last()?),
        })
    }
}

/// Requests and their answers so far.
pub(crate) struct Ledger<'a> {
    account: Requested,
    /// When each request left, from the number `first` on; `None` for those that are accounted for.
    in_flight: VecDeque<Option<Time>>,
    first: u64,
    /// Times of requests that left before are not part of the distribution.
    counted_from: Time,
    longest: Span,
    given_up: GivenUp,
    /// The numbers of lost requests.
    lost: Vec<u64>,
    recent: &'a Recent,
}

impl<'a> Ledger<'a> {
    /// An empty account; the distribution begins with requests that leave at `counted_from`.
    pub(crate) fn new(counted_from: Time, recent: &'a Recent) -> Self {
        Self {
            account: Requested {
                requests: 0,
                answers: 0,
                lost: 0,
                lost_batches: Vec::new(),
                late: 0,
                wrong: 0,
                round_trip: Histogram::new(),
            },
            in_flight: VecDeque::new(),
            first: 0,
            counted_from,
            longest: Span::ZERO,
            given_up: GivenUp::default(),
            lost: Vec::new(),
            recent,
        }
    }

    /// How many requests there are: the number of the next one.
    pub(crate) fn requests(&self) -> u64 {
        self.account.requests
    }

    /// The next request left at this time, or could not leave: then it is as lost as one that was
    /// dropped on the way.
    pub(crate) fn sent(&mut self, at: Option<Time>) {
        if at.is_none() {
            self.lost.push(self.account.requests);
        }
        self.account.requests += 1;
        self.in_flight.push_back(at);
    }

    /// Takes what arrived at this time.
    pub(crate) fn hear(&mut self, heard: Heard, at: Time) {
        match heard {
            Heard::Answer(number) => self.answered(number, at),
            Heard::Wrong => self.account.wrong += 1,
            Heard::Aside => {}
        }
    }

    fn answered(&mut self, number: u64, at: Time) {
        if number >= self.account.requests {
            // An answer to what was never asked.
            self.account.wrong += 1;
            return;
        }
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let sent = place.and_then(|place| self.in_flight.get_mut(place)?.take());
        let Some(sent) = sent else {
            // It was given up, or this is a copy that the path made, which does not count.
            self.account.late += u64::from(self.given_up.take(number));
            return;
        };
        let time = at.since(sent);
        self.account.answers += 1;
        self.longest = self.longest.max(time);
        self.recent.note(time);
        if sent >= self.counted_from {
            self.account.round_trip.record(time.nanoseconds());
        }
    }

    /// Gives up the requests that left [`LOST_AFTER`] before `now` or earlier.
    pub(crate) fn give_up(&mut self, now: Time) {
        while let Some(oldest) = self.in_flight.front() {
            match oldest {
                Some(sent) if now.since(*sent) < LOST_AFTER => return,
                Some(_) => {
                    self.lost.push(self.first);
                    self.given_up.add(self.first);
                }
                None => {}
            }
            self.in_flight.pop_front();
            self.first += 1;
        }
    }

    /// How long answers are waited for after the last request, which left before `end`; `None` when
    /// all are there.
    pub(crate) fn waits_until(&self, end: Time) -> Option<Time> {
        let unanswered = self.in_flight.iter().rev().take_while(|sent| sent.is_some()).count();
        let wait = match self.longest {
            _ if unanswered >= SILENT => LOST_AFTER,
            Span::ZERO => LOST_AFTER,
            longest => (longest * WAITS).max(LEAST_WAIT).min(LOST_AFTER),
        };
        self.in_flight.iter().any(Option::is_some).then_some(end + wait)
    }

    /// Gives up all that is still in flight, and closes the account.
    pub(crate) fn close(mut self) -> Requested {
        let in_flight = (self.first..).zip(&self.in_flight);
        self.lost.extend(in_flight.filter_map(|(number, sent)| sent.map(|_| number)));
        self.account.lost = self.lost.len() as u64;
        self.account.lost_batches = batches(self.lost.into_iter(), self.account.requests);
        self.account
    }
}

/// The last 64 requests that were given up.
pub(crate) struct GivenUp {
    numbers: [Option<u64>; 64],
    next: usize,
}

impl Default for GivenUp {
    fn default() -> Self {
        Self { numbers: [None; 64], next: 0 }
    }
}

impl GivenUp {
    /// Notes a number.
    pub(crate) fn add(&mut self, number: u64) {
        self.numbers[self.next] = Some(number);
        self.next = (self.next + 1) % self.numbers.len();
    }

    /// Whether `number` was given up and its answer has not come yet.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        self.numbers
            .iter_mut()
            .any(|given_up| given_up.take_if(|given_up| *given_up == number).is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    /// Five requests 20 ms apart, of which the second never has an answer: each time is that of its
    /// own request, and a slow one counts once.
    #[test]
    fn each_request_has_its_own_time() {
        let recent = Recent::new(true);
        let mut ledger = Ledger::new(at(0), &recent);
        (0..5).for_each(|number| ledger.sent(Some(at(20 * number))));
        for (number, arrives) in [(0, 1900), (2, 1905), (4, 1910), (3, 1915)] {
            ledger.hear(Heard::Answer(number), at(arrives));
        }
        // A copy of an answer, and one to what was never asked.
        ledger.hear(Heard::Answer(2), at(1920));
        ledger.hear(Heard::Answer(5), at(1920));
        let seen = recent.take().expect("answers");
        assert_eq!((seen.count, seen.longest), (4, Span::from_milliseconds(1900)));
        assert_eq!(seen.median, Span::from_milliseconds(1855));
        assert_eq!(recent.take(), None);
        let account = ledger.close();
        assert_eq!((account.requests, account.answers, account.lost), (5, 4, 1));
        assert_eq!((account.late, account.wrong, account.round_trip.count()), (0, 1, 4));
    }

    /// A queue that fills for two seconds is not part of the distribution, but is counted.
    #[test]
    fn what_leaves_before_the_queue_is_full_is_not_in_the_distribution() {
        let recent = Recent::new(false);
        let mut ledger = Ledger::new(at(2000), &recent);
        for number in 0..200 {
            ledger.sent(Some(at(20 * number)));
            ledger.hear(Heard::Answer(number), at(20 * number) + Span::from_milliseconds(37));
        }
        let account = ledger.close();
        assert_eq!((account.answers, account.round_trip.count()), (200, 100));
        assert_eq!(recent.take(), None);
    }

    #[test]
    fn a_request_is_lost_after_ten_seconds_and_its_answer_is_late_then() {
        let recent = Recent::default();
        let mut ledger = Ledger::new(at(0), &recent);
        ledger.sent(Some(at(0)));
        ledger.sent(None);
        ledger.sent(Some(at(1)));
        ledger.give_up(at(9999));
        assert_eq!(ledger.lost, [1]);
        ledger.give_up(at(10_000));
        assert_eq!((ledger.lost.len(), ledger.first), (2, 2));
        ledger.hear(Heard::Answer(0), at(10_001));
        ledger.hear(Heard::Answer(0), at(10_002));
        ledger.hear(Heard::Answer(2), at(10_000));
        let account = ledger.close();
        assert_eq!((account.answers, account.lost, account.late, account.wrong), (1, 2, 1, 0));
    }

    #[test]
    fn the_end_waits_for_three_round_trips_and_for_nothing_that_came() {
        let recent = Recent::default();
        let mut ledger = Ledger::new(at(0), &recent);
        ledger.sent(Some(at(0)));
        assert_eq!(ledger.waits_until(at(5000)), Some(at(15_000)), "nothing is known yet");
        ledger.sent(Some(at(20)));
        ledger.hear(Heard::Answer(0), at(2000));
        assert_eq!(ledger.waits_until(at(5000)), Some(at(11_000)));
        ledger.hear(Heard::Answer(1), at(2020));
        assert_eq!(ledger.waits_until(at(5000)), None);
        (0..SILENT).for_each(|_| ledger.sent(Some(at(4000))));
        assert_eq!(ledger.waits_until(at(5000)), Some(at(15_000)), "the last ones are silent");
        ledger.hear(Heard::Answer(4), at(5500));
        assert_eq!(ledger.waits_until(at(5000)), Some(at(11_000)), "it goes on");
    }

    #[test]
    fn only_the_last_64_are_remembered() {
        let mut given_up = GivenUp::default();
        (0..65).for_each(|number| given_up.add(number));
        assert!(!given_up.take(0));
        assert!(given_up.take(1) && given_up.take(64));
        assert!(!given_up.take(1));
    }

    proptest! {
        /// Whatever arrives in whatever order, the account balances.
        #[test]
        fn the_account_balances(events in prop::collection::vec((0u64..40, 0u64..20_000), 0..200)) {
            let recent = Recent::new(true);
            let mut ledger = Ledger::new(at(0), &recent);
            let mut time = 0;
            for (number, step) in events {
                time += step;
                if number.is_multiple_of(3) {
                    ledger.sent((number != 9).then_some(at(time)));
                }
                ledger.hear(Heard::Answer(number), at(time));
                ledger.give_up(at(time));
            }
            let account = ledger.close();
            prop_assert_eq!(account.requests, account.answers + account.lost);
            prop_assert_eq!(account.lost, account.lost_batches.iter().sum::<u64>());
            prop_assert_eq!(account.round_trip.count(), account.answers);
            prop_assert!(account.late <= account.lost);
        }
    }
}
