//! Reading and writing that can be stopped, and that give a silent peer up.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The interval at which a blocked side checks for `stop`.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The timeout of a connection without data.
pub(crate) const IDLE: Duration = Duration::from_mins(5);

/// Lets blocked reads and writes come back after a tick.
pub(crate) fn limit(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(TICK))
}

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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_quiet_peer_is_given_up_and_a_stopped_wait_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let mut stream = TcpStream::connect(address).expect("connected");
        limit(&stream).expect("set");
        for (stop, idle) in [(false, Duration::from_millis(150)), (true, IDLE)] {
            let stop = AtomicBool::new(stop);
            let timeout = IdleTimeout::new(&stop, idle);
            let started = Instant::now();
            read(&mut stream, &mut [0; 1], &timeout).expect_err("given up");
            assert!(started.elapsed() < Duration::from_secs(5));
        }
    }
}
