//! A background station of a cell: CONST.BAS and NORM.BAS, at a file server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_stats::{Histogram, Welford};
use btu_suite::activity::{FilesStation, Performance};
use btu_suite::lan::{StationDone, StationProgram, Transactions};
use btu_suite::record::{Outcome, Report};
use btu_units::{Span, Time};

use super::{PATIENCE, wait_until, wake_in_time};
use crate::account::{self, Account};
use crate::files::{Files, Open, RemoteFiles};
use crate::nfs::{Client, Handle, MOST_DATA};
use crate::{LoadError, content};

/// How often it is looked whether to stop in a long pause.
const TICK: Span = Span::from_milliseconds(5);

/// Most times that are kept as they are.
const MOST_SAMPLES: usize = 512;

/// A station, ready to go: its file is there.
#[derive(Debug)]
pub(crate) struct Station {
    files: RemoteFiles,
    name: String,
    file: Handle,
    program: StationProgram,
    number: u32,
    seed: u64,
    record: Vec<u8>,
    back: Vec<u8>,
    done: Done,
}

/// What was done so far.
#[derive(Debug, Default)]
struct Done {
    wrong: u64,
    times: Histogram,
    seconds: Welford,
    between: Transactions,
    samples: Samples,
}

impl Station {
    pub(crate) fn prepare(seed: u64, order: &FilesStation) -> Result<Self, LoadError> {
        let mut record = vec![0; (order.record.count() as usize).clamp(8, MOST_DATA)];
        content::fill(seed ^ u64::from(order.number), &mut record);
        let client = Client::connect(order.server, &order.token, order.number, PATIENCE)?;
        let (mut files, name) = (RemoteFiles::new(client), format!("station-{}", order.number));
        let file = files.open(&name, Open::Empty)?;
        files.write_at(&file, 0, &record)?;
        let back = vec![0; record.len()];
        let (program, number, done) = (order.program, order.number, Done::default());
        Ok(Self { files, name, file, program, number, seed, record, back, done })
    }

    /// One transaction after the other until `stop`; the one under way is ended.
    fn work(&mut self, start: Time, stop: &AtomicBool) -> Result<(), LoadError> {
        wake_in_time();
        let mut background = self.program.start(self.seed, self.number, start);
        let mut ended = start;
        for transaction in 0u64.. {
            let due = background.next(ended);
            if !pause(due, stop)? {
                break;
            }
            // In a closed loop a transaction begins when it does; in an open one it was due, and who is late has waited.
            let begun = if self.program.is_closed() { account::now()? } else { due };
            self.record[..8].copy_from_slice(&transaction.to_be_bytes());
            self.transact()?;
            ended = account::now()?;
            self.done.wrong += u64::from(self.record != self.back);
            self.done.took(begun, ended);
        }
        Ok(())
    }

    /// PUT #1,1 and GET #1,1; NORM.BAS opens the file before, and closes it after, which NFS does not know.
    fn transact(&mut self) -> Result<(), LoadError> {
        if self.program != StationProgram::Constant {
            self.file = self.files.open(&self.name, Open::Existing)?;
        }
        self.files.write_at(&self.file, 0, &self.record)?;
        self.files.read_at(&self.file, 0, &mut self.back)?;
        Ok(())
    }
}

/// Waits until `due`; false when it is time to stop.
fn pause(due: Time, stop: &AtomicBool) -> Result<bool, LoadError> {
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
    fn took(&mut self, begun: Time, ended: Time) {
        let time = ended.since(begun);
        self.times.record(time.nanoseconds());
        self.seconds.push(time.seconds());
        self.samples.push(time.nanoseconds());
        self.between.ended(ended);
    }
}

/// Every n-th time, where n is doubled whenever there is no more room: what is kept is spread evenly over all.
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

impl Performance for Station {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn perform(mut self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let account = Account::open()?;
        self.work(account.started(), stop)?;
        let Self { files, done, .. } = *self;
        let operations = files.operations();
        // The server waits for its clients to end.
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
            assert!(kept.len() <= MOST_SAMPLES && kept.len() as u64 >= count.min(MOST_SAMPLES as u64 / 2));
            assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == samples.every), "{count}");
        }
    }
}
