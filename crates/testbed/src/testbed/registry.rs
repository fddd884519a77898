//! The networks of this user that are up: their records, and functions to find, enter, inspect and
//! lower them.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::record::WireAccount;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;

use super::entry_server::{self, Process};
use super::error::{Cause, TestbedError};
use super::holder::{KeepAnswer, KeepOrder};
use super::messages::{receive, send};
use super::private::private_directory;
use super::raised::{NetworkRequest, Record, holder_socket};
use super::runtime::{
    LONGEST_NAME_BYTES, RuntimeDirectory, is_left_behind, is_name, remove_dead, sweep,
};
use crate::wire::WireClient;

/// The time for a holder to take its network down, and again for a killed one.
const TEAR_DOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The records of this user's networks.
#[derive(Debug, Clone)]
pub struct Registry {
    directory: PathBuf,
}

impl Registry {
    /// The records in the [`private_directory`] `net` of this user; removes the remains of killed
    /// networks.
    ///
    /// # Errors
    /// As [`private_directory`].
    pub fn of_user() -> Result<Self, TestbedError> {
        Ok(Self::at(private_directory("net")?))
    }

    fn at(directory: PathBuf) -> Self {
        // A failed clean-up is no reason to fail.
        let _ = sweep(&directory);
        Self { directory }
    }

    /// The directory of a network called `name`.
    ///
    /// # Errors
    /// The name is not letters, digits and `-`, or there is such a network already.
    pub fn place(&self, name: &str) -> Result<PathBuf, TestbedError> {
        let refused = |reason: &str, remedy: String| {
            Err(TestbedError::new(Cause::Name, format!("call a network `{name}`"), reason, remedy))
        };
        if !is_name(name) {
            return refused(
                "that is not a name",
                format!("write up to {LONGEST_NAME_BYTES} letters, digits and `-`"),
            );
        }
        let place = self.directory.join(name);
        if place.exists() && !is_left_behind(&place) {
            let remedy = format!(
                "take that one down (btu net down --name {name}), or name another (--name)"
            );
            return refused("a network of that name is up", remedy);
        }
        Ok(place)
    }

    /// Raises a network that stays when this process ends. Returns when packets pass.
    ///
    /// # Errors
    /// The error that kept it from being raised. Then nothing of it is left.
    pub fn raise(&self, request: NetworkRequest) -> Result<Raised, TestbedError> {
        let (directory, log) = (request.runtime_directory.clone(), self.log(&request.name));
        let answer = start_holder(request, &log);
        if !matches!(answer, Ok(KeepAnswer::Up)) {
            // Its last messages are in the error.
            let _ = fs::remove_file(&log);
        }
        match answer? {
            KeepAnswer::Refused(error) => Err(error),
            KeepAnswer::Up => match Record::read(&directory) {
                Some(record) => Ok(Raised { directory, record }),
                None => {
                    Err(TestbedError::protocol("start the network", "it stopped again at once"))
                }
            },
        }
    }

    /// The raised networks, by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn networks(&self) -> Result<Vec<Raised>, TestbedError> {
        let entries = fs::read_dir(&self.directory).map_err(|error| self.unreadable(&error))?;
        let raised = entries.flatten().filter_map(|entry| Raised::at(entry.path()));
        let mut raised: Vec<Raised> = raised.collect();
        raised.sort_unstable_by(|one, other| one.record.name.cmp(&other.record.name));
        Ok(raised)
    }

    /// The network called `name`, or the only one.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, name: Option<&str>) -> Result<Raised, TestbedError> {
        let mut networks = self.networks()?;
        let names = networks
            .iter()
            .map(|network| network.record.name.clone())
            .collect::<Vec<_>>()
            .join(", ");
        let found = match name {
            Some(name) => networks.iter().position(|network| network.record.name == name),
            None => (networks.len() == 1).then_some(0),
        };
        if let Some(place) = found {
            return Ok(networks.swap_remove(place));
        }
        let operation = name
            .map_or_else(|| "choose a network".to_owned(), |name| format!("find network {name}"));
        let (reason, remedy) = match (names.is_empty(), name) {
            (true, _) => ("none is up".to_owned(), "start one: btu net up FILE"),
            (false, None) => (format!("several are up: {names}"), "name one: --name NAME"),
            (false, Some(_)) => {
                (format!("up are {names}"), "name one of these, or start it: btu net up FILE")
            }
        };
        Err(TestbedError::new(Cause::Name, operation, reason, remedy))
    }

    /// The last messages of networks that ended by themselves, with their names; none for those
    /// that were taken down.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn fallen(&self) -> Result<Vec<(String, String)>, TestbedError> {
        let entries = fs::read_dir(&self.directory).map_err(|error| self.unreadable(&error))?;
        let logs =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some());
        let fallen = logs.filter_map(|log| {
            let name = log.file_stem()?.to_str()?.to_owned();
            let messages = fs::read_to_string(&log).ok()?;
            let messages = match messages.trim_end() {
                // A killed process reports nothing.
                "" => "the process that kept it ended without a message, as after kill -9",
                messages => messages,
            };
            (!self.directory.join(&name).exists()).then_some((name, messages.to_owned()))
        });
        Ok(fallen.collect())
    }

    /// Removes the last messages of a network that ended by itself.
    pub fn forget(&self, name: &str) {
        let _ = fs::remove_file(self.log(name));
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.log"))
    }

    fn unreadable(&self, error: &io::Error) -> TestbedError {
        let operation = format!("read the directory {}", self.directory.display());
        TestbedError::new(
            Cause::RuntimeDirectory,
            operation,
            error,
            "see whether it is there and yours",
        )
    }
}

fn start_holder(request: NetworkRequest, log: &Path) -> Result<KeepAnswer, TestbedError> {
    let failed = |error: io::Error| TestbedError::process("start the network's holder", &error);
    let errors = File::create(log).map_err(failed)?;
    let mut command = Command::new(&request.executable);
    command.args(["internal", "keep"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
    let mut holder = command.spawn().map_err(failed)?;
    let (Some(order), Some(answer)) = (holder.stdin.take(), holder.stdout.take()) else {
        return Err(failed(io::Error::other("a pipe is missing")));
    };
    let order = send(order, &KeepOrder { request, log: log.to_owned() });
    let answer = order.and_then(|()| receive(BufReader::new(answer)));
    answer.map_err(|error| {
        let messages = fs::read_to_string(log).unwrap_or_default();
        TestbedError::protocol("start the network", format!("{error} {}", messages.trim()))
    })
}

/// A network that stands.
#[derive(Debug, Clone)]
pub struct Raised {
    /// The runtime directory of the network.
    pub directory: PathBuf,
    /// Its data.
    pub record: Record,
}

impl Raised {
    fn at(directory: PathBuf) -> Option<Self> {
        let record = Record::read(&directory).filter(|_| !is_left_behind(&directory))?;
        Some(Self { directory, record })
    }

    /// The processes in its stations.
    ///
    /// # Errors
    /// The network does not answer.
    pub fn processes(&self) -> Result<Vec<Process>, TestbedError> {
        entry_server::request_processes(&self.directory)
    }

    /// Its wire's accounts; empty ones if it has no wire.
    ///
    /// # Errors
    /// The wire does not answer.
    pub fn account(&self) -> Result<WireAccount, TestbedError> {
        account(&self.directory)
    }

    /// Takes it down, with everything that runs in it; returns when it is gone. A holder that does
    /// not answer is killed.
    ///
    /// # Errors
    /// The network does not end.
    pub fn lower(&self) -> Result<(), TestbedError> {
        let failed = |reason: &dyn std::fmt::Display| {
            TestbedError::protocol(format!("take network {} down", self.record.name), reason)
        };
        let Ok(mut holder) = UnixStream::connect(holder_socket(&self.directory)) else {
            return self.await_gone().map_err(|error| failed(&error));
        };
        let heard = holder.write_all(b"down\n").and_then(|()| {
            holder.set_read_timeout(Some(TEAR_DOWN_TIMEOUT))?;
            // The holder sends nothing; the connection ends with it.
            holder.read(&mut [0; 1])
        });
        if heard.is_err() {
            let peer = getsockopt(&holder, PeerCredentials).map_err(|error| failed(&error))?;
            let _ = kill(Pid::from_raw(peer.pid()), Signal::SIGKILL);
        }
        self.await_gone().map_err(|error| failed(&error))
    }

    fn await_gone(&self) -> io::Result<()> {
        let deadline = Instant::now() + TEAR_DOWN_TIMEOUT;
        while self.directory.exists() && !is_left_behind(&self.directory) {
            if Instant::now() > deadline {
                return Err(io::Error::other("it is still there"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        remove_dead(&self.directory);
        Ok(())
    }
}

/// The accounts of the wire of the network with this runtime directory; empty ones if it has no
/// wire.
///
/// # Errors
/// The wire does not answer.
pub fn account(directory: &Path) -> Result<WireAccount, TestbedError> {
    let socket = RuntimeDirectory::socket(directory, "wire");
    if !socket.exists() {
        return Ok(WireAccount::default());
    }
    let account = WireClient::connect(&socket).and_then(|mut wire| wire.account());
    account.map_err(|error| TestbedError::protocol("ask for the link emulator's accounts", error))
}

/// Resets the accounts of that wire.
///
/// # Errors
/// The wire does not answer.
pub(super) fn reset_accounts(directory: &Path) -> Result<(), TestbedError> {
    let socket = RuntimeDirectory::socket(directory, "wire");
    let opened = WireClient::connect(&socket).and_then(|mut wire| wire.reset());
    opened.map_err(|error| TestbedError::protocol("open the link emulator's accounts", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> (tempfile::TempDir, Registry) {
        let home = tempfile::tempdir().unwrap();
        let registry = Registry::at(home.path().to_owned());
        (home, registry)
    }

    #[test]
    fn names_are_plain() {
        let (_home, registry) = registry();
        for name in ["", "../up", "a b", "ä", &"x".repeat(41)] {
            assert_eq!(registry.place(name).unwrap_err().cause, Cause::Name, "{name}");
        }
        assert!(registry.place("lab-1").unwrap().ends_with("lab-1"));
    }

    #[test]
    fn a_name_that_is_taken_is_refused_and_a_dead_ones_is_free() {
        let (_home, registry) = registry();
        let place = registry.place("lab").unwrap();
        let claimed = RuntimeDirectory::claim(&place).unwrap();
        let error = registry.place("lab").unwrap_err();
        assert!(error.to_string().contains("btu net down --name lab"), "{error}");
        drop(claimed);
        registry.place("lab").unwrap();
    }

    #[test]
    fn without_a_network_there_is_nothing_to_find() {
        let (_home, registry) = registry();
        assert!(registry.networks().unwrap().is_empty());
        for name in [None, Some("lab")] {
            assert!(registry.find(name).unwrap_err().to_string().contains("none is up; start one"));
        }
    }

    #[test]
    fn words_of_a_network_that_fell_are_kept_until_they_are_forgotten() {
        let (_home, registry) = registry();
        fs::write(registry.log("lab"), "btu: the link emulator was killed\n").unwrap();
        assert_eq!(
            registry.fallen().unwrap(),
            [("lab".to_owned(), "btu: the link emulator was killed".to_owned())]
        );
        registry.forget("lab");
        assert!(registry.fallen().unwrap().is_empty());
        fs::write(registry.log("silent"), "").unwrap();
        assert_eq!(registry.fallen().unwrap()[0].0, "silent");
        assert!(
            registry.fallen().unwrap()[0].1.contains("kill -9"),
            "nothing stands behind the colon otherwise"
        );
    }
}
