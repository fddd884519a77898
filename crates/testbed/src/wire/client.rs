//! The controller's side of the control socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use btu_contract::json;
use btu_contract::network::Impairments;
use btu_contract::record::WireAccount;

use super::WireError;
use super::control::{EmulatorRequest, LONGEST_LINE, Reply, VERSION};

/// A wire answers between turns, in well under a millisecond; after this time it is gone or
/// stopped.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of attempts to connect to a wire that is starting.
const RETRY: Duration = Duration::from_millis(5);

/// A connection to a running wire. All calls block, for at most five seconds.
#[derive(Debug)]
pub struct WireClient {
    stream: BufReader<UnixStream>,
    path: String,
}

impl WireClient {
    /// Connects to the wire that listens at `path`, or waits for it: for up to five seconds. When
    /// this returns, its ports are open and frames are carried.
    ///
    /// # Errors
    /// Nothing listens there.
    pub fn connect(path: &Path) -> Result<Self, WireError> {
        let failed = |source| WireError::Control {
            operation: "connecting to",
            path: path.display().to_string(),
            source,
        };
        let stream = connect(path).map_err(failed)?;
        let timed = stream
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)));
        timed.map_err(failed)?;
        let mut client = Self { stream: BufReader::new(stream), path: path.display().to_string() };
        client.order(&EmulatorRequest::Hello(VERSION))?;
        Ok(client)
    }

    /// Sets the impairments of incoming packets at these hosts from now on; others do not change.
    /// When this returns, they are in effect.
    ///
    /// # Errors
    /// The wire has no input to such a host, a share is not between 0 and 1 (then nothing is
    /// changed), or the wire is gone.
    pub fn set(&mut self, impairments: &Impairments) -> Result<(), WireError> {
        self.order(&EmulatorRequest::Set(impairments.clone()))
    }

    /// Resets the accounts; frames in flight are carried over.
    ///
    /// # Errors
    /// The wire is gone.
    pub fn reset(&mut self) -> Result<(), WireError> {
        self.order(&EmulatorRequest::Reset)
    }

    /// The accounts since the start or the last reset.
    ///
    /// # Errors
    /// The wire is gone.
    pub fn account(&mut self) -> Result<WireAccount, WireError> {
        match self.ask(&EmulatorRequest::Account)? {
            Reply::Account(account) => Ok(*account),
            other => Err(unexpected(other)),
        }
    }

    /// Ends the wire.
    ///
    /// # Errors
    /// The wire is gone already.
    pub fn stop(mut self) -> Result<(), WireError> {
        self.order(&EmulatorRequest::Stop)
    }

    fn order(&mut self, request: &EmulatorRequest) -> Result<(), WireError> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    fn ask(&mut self, request: &EmulatorRequest) -> Result<Reply, WireError> {
        let answer = self.exchange(request);
        answer.map_err(|source| WireError::Control {
            operation: "asking",
            path: self.path.clone(),
            source,
        })
    }

    fn exchange(&mut self, request: &EmulatorRequest) -> io::Result<Reply> {
        let mut line = serde_json::to_string(request)?.into_bytes();
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        line.clear();
        (&mut self.stream).take(2 * LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(json::from_octets(&line)?)
    }
}

/// A wire that is starting has no socket yet, or does not listen on it yet.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let end = Instant::now() + TIMEOUT;
    loop {
        match UnixStream::connect(path) {
            Err(error) if Instant::now() < end && is_early(&error) => std::thread::sleep(RETRY),
            result => return result,
        }
    }
}

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn unexpected(reply: Reply) -> WireError {
    match reply {
        Reply::Refused(why) => WireError::Refused(why),
        Reply::Done | Reply::Account(_) => {
            WireError::Refused("it answered another question".to_owned())
        }
    }
}
