//! Reports the progress of a stream from a separate thread, without a change to the loop that moves
//! data.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use btu_contract::activity::{Tell, Word};
use btu_contract::record::TcpInfo;
use btu_contract::sample::{Answered, Sample};
use btu_units::{Bytes, Span, Time};
use nix::sched::{CloneFlags, unshare};

use crate::clock::now;

/// The counts of a receiving loop, for another thread to read.
#[derive(Default)]
pub(crate) struct Arrived {
    bytes: AtomicU64,
    missing: AtomicU64,
}

impl Arrived {
    /// Stores the payload so far.
    #[inline]
    pub(crate) fn note_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Stores the datagrams that are missing so far.
    #[inline]
    pub(crate) fn note_missing(&self, missing: u64) {
        self.missing.store(missing, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn missing(&self) -> u64 {
        self.missing.load(Ordering::Relaxed)
    }
}

/// The progress data of a stream, or of requests.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) bytes: u64,
    pub(crate) missing: Option<u64>,
    pub(crate) tcp: Option<TcpInfo>,
    pub(crate) requests: Option<Answered>,
}

/// The times of samples, and their receiver.
pub(crate) struct Sampling<'a> {
    pub(crate) every: Option<Span>,
    /// How often to look between two samples, where looks have another use.
    pub(crate) look_every: Option<Span>,
    pub(crate) started: Time,
    pub(crate) tell: Tell<'a>,
}

impl Sampling<'_> {
    /// Runs `work`, and meanwhile sends the result of `look` whenever a sample is due. A sample
    /// that cannot be read or sent is no failure of the work.
    pub(crate) fn during<T>(
        self,
        look: impl Fn() -> io::Result<Seen> + Send + Sync,
        work: impl FnOnce() -> T,
    ) -> T {
        let Self { every, look_every, started, tell } = self;
        let Some(every) = every.filter(|every| *every > Span::ZERO) else { return work() };
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let teller = thread::Builder::new().name("samples".to_owned());
            let teller = teller.spawn_scoped(scope, || {
                tell_all(every, look_every.unwrap_or(every), started, tell, &look, &is_done);
            });
            let result = work();
            is_done.store(true, Ordering::Relaxed);
            if let Ok(teller) = teller {
                teller.thread().unpark();
            }
            result
        })
    }
}

/// Looks, and sends those samples that are due, until the work is done or no receiver listens.
fn tell_all(
    every: Span,
    look_every: Span,
    started: Time,
    tell: Tell<'_>,
    look: &dyn Fn() -> io::Result<Seen>,
    is_done: &AtomicBool,
) {
    // A table of open files of its own: see the worker's `own_files`: a shared table would be
    // slower.
    let _ = unshare(CloneFlags::CLONE_FILES);
    let mut told = 0;
    while wait_for_next(look_every.min(every), started, is_done) {
        let Ok(Seen { bytes, missing, tcp, requests }) = look() else { return };
        let (at, bytes) = (now().since(started), Bytes::new(bytes));
        let due = at.nanoseconds() / every.nanoseconds();
        if std::mem::replace(&mut told, due) == due {
            continue;
        }
        let sample = Sample { at, bytes, missing, tcp, requests };
        if tell(Word::Sample(Box::new(sample))).is_err() {
            return;
        }
    }
}

/// Sleeps until the next sample is due, counted from the start; false when the work is done before.
/// Work that lasts a whole number of intervals ends when a sample is due, which is sent.
fn wait_for_next(every: Span, started: Time, is_done: &AtomicBool) -> bool {
    let gone = now().since(started).nanoseconds();
    let due =
        started + Span::from_nanoseconds((gone / every.nanoseconds() + 1) * every.nanoseconds());
    loop {
        // Checked before the clock: work that is done before a sample is due needs none.
        let is_done = is_done.load(Ordering::Relaxed);
        let left = due.since(now());
        if left == Span::ZERO || is_done {
            return left == Span::ZERO;
        }
        thread::park_timeout(left.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(every: Option<Span>, millis: u64) -> Vec<Sample> {
        let mut told = Vec::new();
        let mut tell = |word: Word| {
            let Word::Sample(sample) = word else { return Err(io::Error::other("no sample")) };
            told.push(*sample);
            Ok(())
        };
        let arrived = Arrived::default();
        let sampling = Sampling { every, look_every: None, started: now(), tell: &mut tell };
        let look = || {
            Ok(Seen { bytes: arrived.bytes(), missing: Some(arrived.missing()), ..Seen::default() })
        };
        let result = sampling.during(look, || {
            arrived.note_bytes(700);
            arrived.note_missing(3);
            thread::sleep(std::time::Duration::from_millis(millis));
            "done"
        });
        assert_eq!(result, "done");
        told
    }

    #[test]
    fn samples_are_told_when_they_are_due_and_not_after_the_end() {
        let every = Span::from_milliseconds(20);
        let began = now();
        let samples = told(Some(every), 110);
        // A sleep may be longer than asked for.
        let most = now().since(began).nanoseconds() / every.nanoseconds();
        assert!((1..=most as usize).contains(&samples.len()), "{samples:?}");
        for sample in &samples {
            assert!(
                sample.at >= every && sample.bytes == Bytes::new(700) && sample.missing == Some(3),
                "{sample:?}"
            );
        }
        assert!(samples.windows(2).all(|pair| pair[0].at < pair[1].at), "{samples:?}");
    }

    #[test]
    fn nothing_is_told_where_nobody_asked_and_work_that_is_short_ends_at_once() {
        assert_eq!(told(None, 5), []);
        let began = now();
        assert_eq!(told(Some(Span::from_seconds(60)), 1), []);
        assert!(now().since(began) < Span::from_seconds(5));
    }
}
