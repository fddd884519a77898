//! The first of several failures: one end may fail only because the other one is gone.

use std::time::Duration;

use btu_contract::activity::{KILLED, Word};
use tokio::time::Instant;

use super::super::error::ControllerError;
use super::super::stage::{Standing, WorkerEvent, WorkerId};

/// The time for a report that one worker was killed when another has failed.
const REPORT_LIMIT: Duration = Duration::from_millis(300);

/// A worker that failed by itself, or sent an invalid message.
struct Failure {
    who: WorkerId,
    what: String,
    was_killed: bool,
}

impl Failure {
    /// The failure in a worker's message; a lost agent has its own error.
    fn of((who, said): WorkerEvent) -> Result<Self, ControllerError> {
        let (what, was_killed) = match said? {
            Some(Word::Failed { message }) => match message.strip_prefix(KILLED) {
                Some(how) => (format!(" was killed by{how}"), true),
                None => (format!(": {message}"), false),
            },
            Some(word) => (format!(" sent an unexpected message: {word:?}"), false),
            None => (" ended".to_owned(), false),
        };
        Ok(Self { who, what, was_killed })
    }

    fn ends_the_run(self, is_cut_off: bool) -> ControllerError {
        let Self { who, what, was_killed } = self;
        let others = if was_killed && is_cut_off { ", so the other was ended, too" } else { "" };
        ControllerError::Worker { what: format!("{who}{what}{others}"), is_cut_off }
    }
}

/// The first of all reported errors: a worker here that was killed, the end of the part on another
/// machine, or else this one. `is_reserved` says that the far ends are on another machine.
pub(super) async fn cause(
    event: WorkerEvent,
    standing: &mut Standing,
    is_reserved: bool,
) -> ControllerError {
    let is_there = |one: &Failure| is_reserved && one.who.is_far() && !one.what.ends_with(" ended");
    let is_killed = |one: &Failure| one.was_killed && !(is_reserved && one.who.is_far());
    let mut all = match Failure::of(event) {
        Ok(first) => vec![first],
        Err(lost) => return lost,
    };
    let until = Instant::now() + REPORT_LIMIT;
    while !all.iter().any(is_killed)
        && let Some(event) = standing.next(until.saturating_duration_since(Instant::now())).await
    {
        match Failure::of(event) {
            Ok(another) => all.push(another),
            // The end there was reported before the connection broke.
            Err(_) if all.iter().any(is_there) => break,
            Err(lost) => return lost,
        }
    }
    let from_outside = all.iter().position(is_killed).or_else(|| all.iter().position(is_there));
    all.swap_remove(from_outside.unwrap_or(0)).ends_the_run(from_outside.is_some())
}

/// The error when a worker that listens did not name its address.
pub(super) fn no_address(who: WorkerId) -> ControllerError {
    let what = format!("{who} did not report its address");
    ControllerError::Worker { what, is_cut_off: false }
}

#[cfg(test)]
mod tests {
    use btu_contract::pipe::End;

    use super::*;

    const NEAR: WorkerId = WorkerId::End(0, End::Near);
    const FAR: WorkerId = WorkerId::End(0, End::Far);

    fn failed(who: WorkerId, message: &str) -> WorkerEvent {
        (who, Ok(Some(Word::Failed { message: message.to_owned() })))
    }

    fn lost() -> WorkerEvent {
        let (who, message) = ("host alpha".to_owned(), "connection reset".to_owned());
        let lost = ControllerError::Lost { who, operation: "listening to a worker", message };
        (FAR, Err(lost))
    }

    /// The error when these messages arrive, and whether the run was cut off.
    fn found(events: Vec<WorkerEvent>, is_reserved: bool) -> (String, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut standing = Standing::telling(events);
            let first = standing.next(REPORT_LIMIT).await.unwrap();
            let error = cause(first, &mut standing, is_reserved).await;
            (error.to_string(), error.is_cut_off())
        })
    }

    #[test]
    fn the_worker_that_was_killed_counts_more_than_the_one_that_misses_it() {
        let reset = failed(NEAR, "measure TCP: connection reset");
        let killed = failed(FAR, "it died: killed by signal 9");
        let said = "the far end was killed by signal 9, so the other was ended, too".to_owned();
        assert_eq!(found(vec![reset, killed], false), (said, true));
        let alone = failed(NEAR, "measure TCP: connection reset");
        let said = "the near end: measure TCP: connection reset".to_owned();
        assert_eq!(found(vec![alone], false), (said, false));
    }

    #[test]
    fn what_ended_on_another_machine_counts_before_the_lost_connection() {
        let reset = failed(NEAR, "measure TCP: connection reset");
        let ended = failed(FAR, "killed: its controller was not heard any more");
        let said = "the far end: killed: its controller was not heard any more".to_owned();
        assert_eq!(found(vec![reset, ended, lost()], true), (said, true));
        let reset = failed(NEAR, "measure TCP: connection reset");
        let said = "host alpha: listening to a worker: connection reset".to_owned();
        assert_eq!(found(vec![reset, lost()], true), (said, true));
    }

    #[test]
    fn an_end_without_an_account_is_a_failure_and_one_with_it_is_none() {
        assert_eq!(found(vec![(NEAR, Ok(None))], false), ("the near end ended".to_owned(), false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut standing = Standing::telling(vec![(FAR, Ok(Some(done()))), (FAR, Ok(None))]);
            assert!(standing.next(REPORT_LIMIT).await.is_none());
        });
    }

    fn done() -> Word {
        let (started, finished) = (btu_units::Time::default(), btu_units::Time::default());
        let outcome = btu_contract::record::Outcome::Piped { left_out: 0, notes: Vec::new() };
        let cpu = btu_contract::record::CpuTime::default();
        Word::Done(Box::new(btu_contract::record::Report { started, finished, cpu, outcome }))
    }
}
