//! Round trips by TCP's handshake with the server's port, at random moments.
//!
//! The kernel of the server answers a SYN at once, whatever the server does, and the SYN waits in the
//! queues that data wait in. An iperf3 server that makes a test takes the connection, says that it is
//! busy, and closes it: its test goes on (tried with 3.12). Before 3.10 a test ended if that could not be
//! written; this end closes without a reset, so it can. A server that waits for a test takes such a
//! connection for one: 3.12 prints an error, `iperf3 -s -1` ends, and 3.0 ends after five of them. So this
//! runs only while data move, or while a test of our own sends nothing.
//!
//! At the end, connections that the server has not yet accepted are closed with its listener, unless
//! they are the first that its next listener gets. So no connection begins when it could last beyond the end.

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use btu_contract::poisson::Poisson;
use btu_units::Span;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

use crate::error::Ending;
use crate::pace::TICK;

/// One attempt to connect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Handshake {
    /// When it began, in seconds since data began to move.
    pub at_seconds: f64,
    /// The time from SYN to its answer, as the kernel measures it; `None` if there was none in time.
    ///
    /// The kernel repeats a SYN after a second, whether it was lost or waits in a long queue. TCP's
    /// timestamps (RFC 7323) say which of them was answered; without them such a handshake has `None`.
    pub round_trip_seconds: Option<f64>,
}

/// The mean interval: 5 a second take 2.4 kb/s each way.
const INTERVAL: Span = Span::from_milliseconds(200);
/// Connections that are open at a time.
const MOST_OPEN: usize = 64;
/// The time before the end in which none begins, next to the longest round trip so far.
const LAST: Duration = Duration::from_millis(200);
/// A server that does not close a connection by then has forgotten it.
const CLOSED_BY: Duration = Duration::from_secs(5);

/// Running handshakes; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Handshakes {
    done: Arc<Mutex<Vec<Handshake>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Those that the course of the test has.
    seen: usize,
}

impl Handshakes {
    /// Begins at `start`; the last one is over by `end`, if all goes well.
    pub(super) fn start(
        server: SocketAddr,
        seed: u64,
        start: Instant,
        end: Instant,
    ) -> Result<Self, Ending> {
        let (done, stop) = (Arc::default(), Arc::default());
        let prober = Prober {
            server,
            start,
            end,
            longest: Duration::ZERO,
            open: Vec::new(),
            done: Arc::clone(&done),
            stop: Arc::clone(&stop),
        };
        let moments = Poisson::new(seed, "handshakes", INTERVAL);
        let builder = thread::Builder::new().name("iperf3-handshakes".to_owned());
        let thread = builder.spawn(move || prober.run(moments));
        let thread = thread.map_err(Ending::system("start the thread of the handshakes"))?;
        Ok(Self { done, stop, thread: Some(thread), seen: 0 })
    }

    /// The median of those that are new since the last call.
    pub(super) fn median_since(&mut self) -> Option<f64> {
        let done = lock(&self.done);
        let new = done[self.seen..].iter().filter_map(|one| one.round_trip_seconds);
        let new: Vec<f64> = new.collect();
        self.seen = done.len();
        drop(done);
        btu_stats::median(&new)
    }

    /// Ends them; all that began, in the order of their ends.
    pub(super) fn finish(mut self) -> Vec<Handshake> {
        self.end();
        std::mem::take(&mut *lock(&self.done))
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(done: &Mutex<Vec<Handshake>>) -> MutexGuard<'_, Vec<Handshake>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's state.
struct Prober {
    server: SocketAddr,
    start: Instant,
    end: Instant,
    longest: Duration,
    open: Vec<Open>,
    done: Arc<Mutex<Vec<Handshake>>>,
    stop: Arc<AtomicBool>,
}

/// A connection.
struct Open {
    stream: TcpStream,
    begun: Instant,
    /// The handshake is over, and the server has to close.
    is_connected: bool,
}

impl Prober {
    fn run(mut self, moments: Poisson) {
        for moment in moments {
            let due = self.start + Duration::from_nanos(moment.nanoseconds());
            while Instant::now() < due && !self.is_over() {
                self.wait(due);
            }
            if self.is_over() {
                break;
            }
            if due < self.last() && self.open.len() < MOST_OPEN {
                // Without a descriptor this one is left out; the others are no less random.
                if let Ok(stream) = begin(self.server) {
                    let begun = Instant::now();
                    self.open.push(Open { stream, begun, is_connected: false });
                }
            }
        }
        // Those without an answer by now are not known to be lost, but longer than the others.
        for one in std::mem::take(&mut self.open).iter().filter(|one| !one.is_connected) {
            self.record(one.begun, None);
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The moment after which none begins; at least half of the time has some.
    fn last(&self) -> Instant {
        let whole = self.end.saturating_duration_since(self.start);
        self.start + whole.saturating_sub((self.longest + LAST).min(whole / 2))
    }

    /// Serves the open connections until one has news, or the time has come.
    fn wait(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now()).min(TICK);
        let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::ZERO);
        let mut sources: Vec<PollFd<'_>> = self.open.iter().map(Open::source).collect();
        if poll(&mut sources, timeout).is_err() {
            // A signal: the next call waits again.
            return;
        }
        let ready: Vec<bool> = sources.iter().map(|source| source.any().unwrap_or(false)).collect();
        for (mut one, is_ready) in std::mem::take(&mut self.open).into_iter().zip(ready) {
            if self.stays(&mut one, is_ready) {
                self.open.push(one);
            }
        }
    }

    /// Takes what has happened to a connection; whether it stays open.
    fn stays(&mut self, one: &mut Open, is_ready: bool) -> bool {
        if one.begun.elapsed() > CLOSED_BY {
            if !one.is_connected {
                self.record(one.begun, None);
            }
            return false;
        }
        if !is_ready {
            return true;
        }
        if one.is_connected {
            return matches!(one.stream.read(&mut [0; 16]), Ok(octets) if octets > 0);
        }
        let round_trip = round_trip(&one.stream);
        self.record(one.begun, round_trip);
        one.is_connected = round_trip.is_some() && one.stream.shutdown(Shutdown::Write).is_ok();
        one.is_connected
    }

    fn record(&mut self, begun: Instant, round_trip: Option<Duration>) {
        self.longest = self.longest.max(round_trip.unwrap_or_default());
        lock(&self.done).push(Handshake {
            at_seconds: begun.saturating_duration_since(self.start).as_secs_f64(),
            round_trip_seconds: round_trip.map(|time| time.as_secs_f64()),
        });
    }
}

impl Open {
    fn source(&self) -> PollFd<'_> {
        let interest = if self.is_connected { PollFlags::POLLIN } else { PollFlags::POLLOUT };
        PollFd::new(self.stream.as_fd(), interest)
    }
}

/// Sends a SYN.
fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&server.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// `None` if the connection was refused, or the kernel cannot tell.
fn round_trip(stream: &TcpStream) -> Option<Duration> {
    if stream.take_error().ok()?.is_some() {
        return None;
    }
    let info = btu_traffic::tcp_info(stream).ok()?;
    (info.rtt_us > 0).then(|| Duration::from_micros(info.rtt_us.into()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that accepts nothing still answers each SYN: its kernel does.
    #[test]
    fn handshakes_need_no_program_at_the_other_end() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let server = listener.local_addr().expect("an address");
        let (start, time) = (Instant::now(), Duration::from_secs(2));
        let mut running = Handshakes::start(server, 7, start, start + time).expect("a thread");
        thread::sleep(time);
        assert!(running.median_since().expect("a median") < 0.1);
        let all = running.finish();
        // The moments are those of the seed.
        assert!((3..20).contains(&all.len()), "{all:?}");
        assert!(all.iter().all(|one| one.round_trip_seconds.is_some()), "{all:?}");
        assert!(all.iter().all(|one| one.at_seconds < 1.9), "{all:?}");
    }

    #[test]
    fn a_refused_connection_has_no_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let server = listener.local_addr().expect("an address");
        drop(listener);
        let (start, time) = (Instant::now(), Duration::from_secs(1));
        let running = Handshakes::start(server, 7, start, start + time).expect("a thread");
        thread::sleep(time);
        assert!(running.finish().iter().all(|one| one.round_trip_seconds.is_none()));
    }
}
