//! Moves bytes between two sockets until one side has sent everything. It can be stopped.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes moved at once.
const BLOCK: usize = 256 * 1024;

/// The interval at which a blocked side checks for `stop`.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The timeout of a pair of sockets without data in either direction.
pub(crate) const IDLE: Duration = Duration::from_mins(5);

/// A connected stream socket, of whatever family.
pub(crate) trait Socket: Read + Write + Send + Sized {
    /// Another handle of the same connection.
    fn another(&self) -> io::Result<Self>;
    /// Ends the outgoing half, or closes the connection.
    fn end(&self, how: Shutdown) -> io::Result<()>;
    /// Blocked reads and writes come back after `limit`.
    fn limit(&self, limit: Duration) -> io::Result<()>;
}

/// Both kinds have the calls of one socket, and no trait of the standard library names these.
macro_rules! sockets {
    ($($stream:ty),*) => {$(
        impl Socket for $stream {
            fn another(&self) -> io::Result<Self> {
                self.try_clone()
            }
            fn end(&self, how: Shutdown) -> io::Result<()> {
                self.shutdown(how)
            }
            fn limit(&self, limit: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(limit))?;
                self.set_write_timeout(Some(limit))
            }
        }
    )*};
}

sockets!(TcpStream, UnixStream);

/// The end of a transfer: by `stop`, or when no data move in either direction.
#[derive(Debug)]
pub(crate) struct IdleTimeout<'a> {
    stop: &'a AtomicBool,
    origin: Instant,
    /// Milliseconds after `origin` of the last data.
    moved: AtomicU64,
    /// The longest time without data.
    idle: Duration,
}

impl<'a> IdleTimeout<'a> {
    /// A timeout that starts now.
    pub(crate) fn new(stop: &'a AtomicBool, idle: Duration) -> Self {
        Self { stop, origin: Instant::now(), moved: AtomicU64::new(0), idle }
    }

    /// Records that data moved, so that the timeout starts again.
    pub(crate) fn renew(&self) {
        self.moved.store(self.elapsed(), Ordering::Relaxed);
    }

    /// Whether to continue after a timeout.
    pub(crate) fn lasts(&self) -> bool {
        let quiet = self.elapsed().saturating_sub(self.moved.load(Ordering::Relaxed));
        !self.stop.load(Ordering::Relaxed) && u128::from(quiet) < self.idle.as_millis()
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Whether an operation only ran out of its time or was interrupted.
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn given_up() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// Reads once, however long it takes; 0 at the end.
pub(crate) fn read(
    from: &mut impl Read,
    bytes: &mut [u8],
    timeout: &IdleTimeout,
) -> io::Result<usize> {
    loop {
        match from.read(bytes) {
            Err(error) if is_pause(&error) => {
                if !timeout.lasts() {
                    return Err(given_up());
                }
            }
            other => {
                timeout.renew();
                return other;
            }
        }
    }
}

/// Writes all, however long it takes.
pub(crate) fn write(
    to: &mut impl Write,
    mut bytes: &[u8],
    timeout: &IdleTimeout,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(length) => {
                timeout.renew();
                bytes = &bytes[length..];
            }
            Err(error) if is_pause(&error) && timeout.lasts() => {}
            Err(error) if is_pause(&error) => return Err(given_up()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves bytes one way until `from` ends, and passes the end on; counts into `moved`.
fn one_way(
    from: &mut impl Socket,
    to: &mut impl Socket,
    timeout: &IdleTimeout,
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        let length = read(from, &mut block, timeout)?;
        if length == 0 {
            return to.end(Shutdown::Write);
        }
        write(to, &block[..length], timeout)?;
        moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// Moves bytes both ways until both sides have ended, one failed, or timeout ends; then both are
/// closed. Counts the bytes from `right` to `left`.
pub(crate) fn both_ways(
    left: &mut impl Socket,
    right: &mut impl Socket,
    timeout: &IdleTimeout,
    to_left: &AtomicU64,
) -> io::Result<()> {
    left.limit(TICK)?;
    right.limit(TICK)?;
    let (mut left_reader, mut right_writer) = (left.another()?, right.another()?);
    let to_right = AtomicU64::new(0);
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            let result = one_way(&mut left_reader, &mut right_writer, timeout, &to_right);
            hang_up_after(result, &left_reader, &right_writer)
        });
        let result = one_way(right, left, timeout, to_left);
        let back = hang_up_after(result, left, right);
        // A thread that panicked is a bug of btu.
        there
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the copying thread panicked")))
            .and(back)
    })
}

/// A failure of one direction ends the other too, which would otherwise wait for bytes that cannot
/// arrive.
fn hang_up_after(
    result: io::Result<()>,
    left: &impl Socket,
    right: &impl Socket,
) -> io::Result<()> {
    if result.is_err() {
        // Either may be closed already, which is the desired state.
        let _ = left.end(Shutdown::Both);
        let _ = right.end(Shutdown::Both);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().expect("a pair of sockets")
    }

    #[test]
    fn ends_are_passed_on_and_bytes_counted() {
        let ((mut client, mut left), (mut right, mut server)) = (pair(), pair());
        let (stop, counted) = (AtomicBool::new(false), AtomicU64::new(0));
        let timeout = IdleTimeout::new(&stop, IDLE);
        thread::scope(|scope| {
            let pump = scope.spawn(|| both_ways(&mut left, &mut right, &timeout, &counted));
            client.write_all(b"question").expect("written");
            client.shutdown(Shutdown::Write).expect("ended");
            let mut question = String::new();
            server.read_to_string(&mut question).expect("the end was passed on");
            assert_eq!(question, "question");
            scope.spawn(move || server.write_all(&vec![7; 1_000_000]).expect("written"));
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).expect("the end was passed on");
            assert_eq!(answer.len(), 1_000_000);
            pump.join().expect("no panic").expect("both ended");
        });
        assert_eq!(counted.into_inner(), 1_000_000);
    }

    #[test]
    fn a_quiet_pair_is_given_up_and_a_stopped_one_ends() {
        for (stop, idle) in [(false, Duration::from_millis(150)), (true, IDLE)] {
            let ((mut client, mut left), (mut right, _server)) = (pair(), pair());
            let stop = AtomicBool::new(stop);
            let timeout = IdleTimeout::new(&stop, idle);
            let started = Instant::now();
            both_ways(&mut left, &mut right, &timeout, &AtomicU64::new(0)).expect_err("given up");
            assert!(started.elapsed() < Duration::from_secs(5));
            assert_eq!(client.read(&mut [0; 1]).expect("hung up"), 0);
        }
    }
}
