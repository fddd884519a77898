//! `btu iperf3 --server`: lets clients of iperf3 measure to this host.

mod kept;

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use btu_iperf3::{Event, Limits, PORT, Report, Server, Settings};
use btu_store::Store;
use btu_testbed::note;
use nix::sys::signalfd::SignalFd;

use crate::cli::{Common, Iperf3};
use crate::commands::agent::address_or_loopback;
use crate::exit::Refusal;
use crate::start::ending_signals;
use crate::stored;
use crate::terminal;

/// The interval of looks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// Results that wait to be printed.
const WAITING: usize = 256;

/// Serves until a signal ends it, or one test with `--one-off`.
pub(crate) fn run(options: &Iperf3, common: &Common) -> anyhow::Result<()> {
    let most_time = Duration::from_nanos(options.most_time.nanoseconds());
    if most_time < Duration::from_secs(1) {
        let why = "--most-time: tests take whole seconds, so allow at least 1 s";
        return Err(Refusal::Usage(why.to_owned()).into());
    }
    let listen = address_or_loopback(options.listen.as_deref(), PORT)?;
    let settings = Settings {
        exclusive: options.exclusive,
        one_off: options.one_off,
        json: common.json,
        limits: Limits { most_time, ..Limits::STANDARD },
        ..Settings::at(listen)
    };
    let store = if options.no_store { None } else { Some(stored::open(common)?) };
    let signals = ending_signals()?;
    let (tell, events) = sync_channel(WAITING);
    // The receiver is gone only when the server ends.
    let server = Server::open(settings, move |event| drop(tell.send(event)))
        .map_err(|error| Refusal::Machine(error.to_string()))?;
    let place = format!("iperf3: listening on {}", server.address());
    if common.json {
        note!("{place}");
    } else {
        terminal::print(&format!("{place}\n"))?;
    }
    let mut results = Results { json: common.json, store, kept: 0 };
    let result = follow(&server, &signals, &events, &mut results);
    server.stop();
    // Tests that the end broke off are printed, too.
    result.and_then(|()| events.try_iter().try_for_each(|event| results.take(event)))
}

/// Prints what the server tells, until it has to end.
fn follow(
    server: &Server,
    signals: &SignalFd,
    events: &Receiver<Event>,
    results: &mut Results,
) -> anyhow::Result<()> {
    let mut failures = Failures::new();
    while !server.has_ended() && signals.read_signal()?.is_none() {
        match events.recv_timeout(INTERVAL) {
            Ok(event @ Event::Finished(_)) => results.take(event)?,
            Ok(event) if failures.may_print() => results.take(event)?,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

/// Where results go.
struct Results {
    json: bool,
    store: Option<Store>,
    kept: u32,
}

/// The most tests that a server keeps: its clients must not fill a disk.
const MOST_KEPT: u32 = 10_000;

impl Results {
    fn take(&mut self, event: Event) -> anyhow::Result<()> {
        let report = match event {
            Event::Finished(report) => report,
            Event::Failed { client, why } => {
                note!("iperf3: {client}: {why}");
                return Ok(());
            }
        };
        let text = if self.json {
            format!("{}\n", serde_json::to_string(&*report)?)
        } else {
            report.text()
        };
        terminal::print(&text)?;
        self.keep(&report);
        Ok(())
    }

    /// A test that cannot be kept is still printed, and the server goes on.
    fn keep(&mut self, report: &Report) {
        let Some(store) = &mut self.store else { return };
        if let Err(error) = kept::save(store, report) {
            note!("iperf3: this test is not kept: {error:#}; --no-store keeps none");
        }
        self.kept += 1;
        if self.kept >= MOST_KEPT {
            note!("iperf3: {MOST_KEPT} tests are kept, and no more: start it again for others");
            self.store = None;
        }
    }
}

/// How many failures are printed: a client must not fill a log with them.
struct Failures {
    since: Instant,
    printed: u32,
}

/// In each second.
const MOST_FAILURES: u32 = 10;

impl Failures {
    fn new() -> Self {
        Self { since: Instant::now(), printed: 0 }
    }

    fn may_print(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.printed += 1;
        self.printed <= MOST_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_a_second_are_printed() {
        let mut failures = Failures::new();
        let printed = (0..100).filter(|_| failures.may_print()).count();
        assert_eq!(printed, 10);
        failures.since -= Duration::from_secs(1);
        assert!(failures.may_print());
    }
}
