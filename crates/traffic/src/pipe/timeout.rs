//! The timeouts of an end of a UDP pipe: before it repeats, before it checks the other end, and
//! before it gives up.

use std::time::Duration;

use btu_units::Time;

use crate::clock::now;

/// How long the near end waits before it repeats, at first: what Linux's TCP waits at least. An
/// answer that comes after the repetition doubles it.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(200);

/// How long an end waits before it looks whether the other one is still there.
pub(super) const PROBE_WAIT: Duration = Duration::from_millis(500);

/// The longest such wait.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A silence this long means that the peer is gone, if the time of an answer is not known.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Like `TIMEOUT`, where messages as long have been answered: this, and so many times the longest
/// wait for an answer; but never less than so many repetitions take, since each of them may get
/// lost.
const LEAST_TIMEOUT: Duration = Duration::from_millis(2500);
const WAITS: u32 = 4;
const REPETITIONS: u32 = 8;

/// The known answer times of the other end.
#[derive(Default)]
pub(super) struct Answers {
    /// The longest message that has come.
    longest: usize,
    /// The longest wait for one, where it was long enough to be noticed.
    slowest: Duration,
    /// Whether messages of a stream are still on their way, before what is due.
    pub(super) behind_stream: bool,
}

impl Answers {
    #[inline]
    pub(super) fn learn(&mut self, length: usize, silence: &Silence) {
        self.longest = self.longest.max(length);
        self.behind_stream = false;
        if let Some(since) = silence.since {
            self.slowest = self.slowest.max(now().since(since).into());
        }
    }

    /// How long to wait for a message of this length: what a network holds before it, and what it
    /// takes itself, are in the waits so far. `wait` is the time between two repetitions.
    pub(super) fn timeout(&self, length: usize, wait: Duration) -> Duration {
        if length > self.longest || self.behind_stream {
            return TIMEOUT;
        }
        (LEAST_TIMEOUT + self.slowest * WAITS).max(wait * REPETITIONS).min(TIMEOUT)
    }
}

/// How long nothing new has come while a call waited, and when this end repeated last.
#[derive(Default)]
pub(super) struct Silence {
    pub(super) since: Option<Time>,
    pub(super) repeated: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_before_is_waited_for_by_its_own_measure() {
        let mut answers = Answers::default();
        let timeout = |answers: &Answers, length| answers.timeout(length, FIRST_WAIT);
        assert_eq!(timeout(&answers, 1), TIMEOUT, "nothing is known yet");
        answers.learn(1000, &Silence::default());
        assert_eq!(timeout(&answers, 1000), LEAST_TIMEOUT);
        assert_eq!(timeout(&answers, 1001), TIMEOUT, "nobody knows how long this one takes");
        assert_eq!(
            answers.timeout(1000, Duration::from_secs(1)),
            REPETITIONS * Duration::from_secs(1)
        );
        assert_eq!(answers.timeout(1000, LONGEST_WAIT), TIMEOUT);
        let since = Time::from_nanoseconds(now().nanoseconds() - 1_000_000_000);
        answers.learn(2000, &Silence { since: Some(since), repeated: None });
        let long = timeout(&answers, 2000);
        assert!(
            long >= LEAST_TIMEOUT + WAITS * Duration::from_secs(1) && long < TIMEOUT,
            "{long:?}"
        );
        answers.behind_stream = true;
        assert_eq!(timeout(&answers, 1), TIMEOUT, "a stream may fill queues");
        answers.learn(1, &Silence { since: Some(Time::ZERO), repeated: None });
        assert!(timeout(&answers, 1) <= TIMEOUT);
    }
}
