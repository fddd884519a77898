//! A background station of a cell: CONST.BAS, NORM.BAS and operations of current servers, at a file
//! server or on a share.

use std::sync::atomic::{AtomicBool, Ordering};

use btu_contract::activity::{FilesStation, Performance, Performed, Tell};
use btu_contract::lan::{StationDone, StationProgram, StationWork, Transactions};
use btu_contract::record::Outcome;
use btu_stats::{Histogram, Welford};
use btu_units::{Span, Time};

use super::pattern::PatternWork;
use super::place::{Placed, files_at};
use super::replay::Replay;
use super::{wait_until, wake_in_time};
use crate::LoadError;
use crate::account::{self, Account};
use crate::files::Files;
use crate::nfs::MOST_DATA;

/// The interval of checks for `stop` in a long pause.
const TICK: Span = Span::from_milliseconds(5);

/// The largest number of times that are kept.
const MOST_SAMPLES: usize = 512;

/// A station, ready to go: its files are there.
#[derive(Debug)]
struct PreparedStation<F: Files> {
    files: F,
    part: StationActivity<F>,
    number: u32,
    seed: u64,
    done: Done,
}

/// The program of a station.
#[derive(Debug)]
enum StationActivity<F: Files> {
    Transactions { work: PatternWork, program: StationProgram, file: Option<F::File> },
    Replay(Replay<F>),
}

/// The results so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) wrong: u64,
    times: Histogram,
    seconds: Welford,
    between: Transactions,
    samples: Samples,
}

/// Makes the station's files.
pub(crate) fn prepare(seed: u64, order: &FilesStation) -> Result<Box<dyn Performance>, LoadError> {
    Ok(match files_at(&order.place, &order.token, order.number)? {
        Placed::Remote(files) => Box::new(PreparedStation::prepare(files, seed, order)?),
        Placed::Local(files) => Box::new(PreparedStation::prepare(files, seed, order)?),
        Placed::Share(files) => Box::new(PreparedStation::prepare(files, seed, order)?),
    })
}

impl<F: Files> PreparedStation<F> {
    fn prepare(mut files: F, seed: u64, order: &FilesStation) -> Result<Self, LoadError> {
        let (number, name) = (order.number, format!("station-{}", order.number));
        let own_seed = seed ^ u64::from(number);
        let part = match &order.work {
            StationWork::Transactions { pattern, program, record } => {
                let record = (record.count() as usize).min(MOST_DATA);
                let work = PatternWork::new(*pattern, &name, record, own_seed);
                let file = work.lay_out(&mut files)?;
                StationActivity::Transactions { work, program: *program, file }
            }
            StationWork::Replay { trace } => {
                StationActivity::Replay(Replay::prepare(&mut files, &name, trace, own_seed)?)
            }
        };
        Ok(Self { files, part, number, seed, done: Done::default() })
    }

    fn work(&mut self, start: Time, stop: &AtomicBool) -> Result<(), LoadError> {
        wake_in_time();
        let Self { files, part, number, seed, done } = self;
        match part {
            StationActivity::Transactions { work, program, file } => {
                let mut background = program.start(*seed, *number, start);
                let mut ended = start;
                // Performs transactions one after the other until `stop`; the current one is
                // completed.
                loop {
                    let due = background.next(ended);
                    if !pause(due, stop)? {
                        return Ok(());
                    }
                    // In a closed loop a transaction begins when it does; in an open one it begins
                    // at its due time, so lateness counts as waiting.
                    let begun = if program.is_closed() { account::now()? } else { due };
                    let is_right = work.transact(files, file, program.opens())?;
                    ended = account::now()?;
                    done.wrong += u64::from(!is_right);
                    done.took(begun, ended);
                }
            }
            StationActivity::Replay(replay) => replay.work(files, start, stop, done),
        }
    }
}

/// Waits until `due`; false when it is time to stop.
pub(super) fn pause(due: Time, stop: &AtomicBool) -> Result<bool, LoadError> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let now = account::now()?;
        if now >= due {
            return Ok(true);
        }
        wait_until(due.min(now + TICK))?;
    }
}

impl Done {
    pub(super) fn took(&mut self, begun: Time, ended: Time) {
        let time = ended.since(begun);
        self.times.record(time.nanoseconds());
        self.seconds.push(time.seconds());
        self.samples.push(time.nanoseconds());
        self.between.ended(ended);
    }
}

/// Every n-th time, where n is doubled whenever there is no more room: the kept times are spread
/// evenly over all.
#[derive(Debug)]
struct Samples {
    kept: Vec<u64>,
    seen: u64,
    every: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::with_capacity(MOST_SAMPLES), seen: 0, every: 1 }
    }
}

impl Samples {
    fn push(&mut self, sample: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == MOST_SAMPLES {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.kept.push(sample);
            }
        }
        self.seen += 1;
    }
}

impl<F: Files + Send> Performance for PreparedStation<F> {
    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        self.work(account.started(), stop)?;
        let Self { files, part, done, .. } = *self;
        let operations = files.operations();
        // Open files go before what they are in, and a server waits for its clients to end.
        drop(part);
        drop(files);
        let closed = account.close()?;
        Ok(closed.report(Outcome::StationDone(StationDone {
            transactions: done.seconds.count(),
            operations,
            wrong: done.wrong,
            times: done.times,
            mean_seconds: done.seconds.mean(),
            deviation_seconds: done.seconds.deviation(),
            cycle_seconds: done.between.seconds().mean(),
            samples_ns: done.samples.kept,
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_evenly_whatever_their_number() {
        for count in [0, 5, 512, 513, 5000, 100_000] {
            let mut samples = Samples::default();
            (0..count).for_each(|sample| samples.push(sample));
            let kept = &samples.kept;
            assert!(
                kept.len() <= MOST_SAMPLES
                    && kept.len() as u64 >= count.min(MOST_SAMPLES as u64 / 2)
            );
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == samples.every), "{count}");
        }
    }
}
