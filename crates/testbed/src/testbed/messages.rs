//! The messages between the processes of a testbed: one order downwards, messages upwards, each one
//! line of JSON.

use btu_contract::json;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::design::Design;
use super::error::TestbedError;

/// Longest line that is read: an order with a drawn network of 1000 stations on links of their own
/// has about 1 MB, a recorded link of an hour 10 MB.
const LONGEST_LINE_BYTES: u64 = 32 << 20;

/// An order to a testbed's processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(super) enum Order {
    /// Test whether this system allows a testbed, and that each of these sets of processors does
    /// the protocol work of a station, then end.
    Try {
        #[serde(default)]
        receivers: Vec<Vec<u32>>,
    },
    /// Raise this testbed and hold it up.
    Raise(Box<TestbedSpec>),
}

/// The requested testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TestbedSpec {
    pub(super) design: Design,
    pub(super) runtime_directory: PathBuf,
    pub(super) seed: u64,
}

/// A message from a testbed's processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(super) enum Message {
    /// The kernel granted the namespaces, by this right.
    Granted { privilege: Privilege },
    /// The testbed is up, and packets pass; or it could be raised.
    Ready {
        /// Whether stations do the protocol work of what they receive on processors of their own.
        #[serde(default)]
        own_protocol_work: bool,
    },
    /// The testbed cannot be raised and is going down.
    Refused { error: TestbedError },
    /// A process of the testbed ended.
    Ended { event: ProcessExit },
}

/// By which right the namespaces were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// As the superuser, without a user namespace.
    Root,
    /// As an ordinary user, in a user namespace.
    UserNamespace,
}

/// What this system grants a testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grants {
    /// By which right the namespaces were made.
    pub privilege: Privilege,
    /// Whether stations do the protocol work of what they receive on processors of their own.
    pub own_protocol_work: bool,
}

/// A process that belongs to a testbed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestbedProcess {
    /// The process that makes the namespaces and passes messages between them and the controller.
    Outer,
    /// Process 1 of the testbed's process namespace; with it, every process of the testbed ends.
    Init,
    /// The process that carries frames.
    Wire,
    /// The agent of a station.
    Agent(String),
}

impl fmt::Display for TestbedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outer => f.write_str("the testbed's outer process"),
            Self::Init => f.write_str("the testbed's first process"),
            Self::Wire => f.write_str("the link emulator"),
            Self::Agent(station) => write!(f, "the agent on {station}"),
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

impl Ending {
    /// The status by which a shell represents it: 128 and the number of a signal.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code as u8,
            Self::Killed(signal) => 128_u8.saturating_add(signal as u8),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
        }
    }
}

impl From<std::process::ExitStatus> for Ending {
    fn from(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        status
            .code()
            .map_or_else(|| Self::Killed(status.signal().unwrap_or_default()), Self::Exited)
    }
}

/// A process of the testbed ended, which must not happen before the testbed is lowered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExit {
    /// The process of the testbed that ended.
    pub who: TestbedProcess,
    /// The way in which the process ended: its exit status or the signal that killed it.
    pub how: Ending,
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.how)
    }
}

/// Writes `value` as one line.
pub(super) fn send(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    to.write_all(line.as_bytes())?;
    to.flush()
}

/// Reads one line. Of standard input: its buffer belongs to the process, so the data after the line
/// are not lost.
pub(super) fn receive<T: DeserializeOwned>(from: impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    from.take(LONGEST_LINE_BYTES).read_until(b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => Ok(json::from_octets(&line)?),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no complete line of JSON")),
    }
}

/// For fuzzers: any bytes as a line of each kind.
#[doc(hidden)]
pub fn fuzz_messages(line: &[u8]) {
    if let Ok(order) = receive::<Order>(line) {
        drop(serde_json::to_string(&order));
    }
    if let Ok(message) = receive::<Message>(line) {
        drop(serde_json::to_string(&message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> ProcessExit {
        ProcessExit { who: TestbedProcess::Agent("passive".to_owned()), how: Ending::Killed(9) }
    }

    #[test]
    fn what_is_told_is_heard() {
        let messages = [
            Message::Granted { privilege: Privilege::Root },
            Message::Ready { own_protocol_work: true },
            Message::Ended { event: event() },
        ];
        let mut pipe = Vec::new();
        for message in &messages {
            send(&mut pipe, message).unwrap();
        }
        let mut rest = pipe.as_slice();
        for message in messages {
            assert_eq!(receive::<Message>(&mut rest).unwrap(), message);
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn a_line_that_stops_or_never_ends_is_an_error() {
        assert!(receive::<Message>(b"{\"message\":\"ready\"}".as_slice()).is_err());
        assert!(receive::<Message>(vec![b' '; 100_000].as_slice()).is_err());
        assert!(receive::<Message>(b"nonsense\n".as_slice()).is_err());
    }

    #[test]
    fn an_event_reads_as_a_sentence() {
        assert_eq!(event().to_string(), "the agent on passive was killed by SIGKILL");
    }
}
