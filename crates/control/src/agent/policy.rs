//! The rights of controllers on this host: read from a TOML file, checked before a worker is made,
//! and enforced while it works.
//!
//! ```toml
//! activities = ["null", "tcp-send"]          # default: all but those of LOCAL_ONLY
//! peers = ["10.0.0.0/8", "fd00::/8"]         # default: private networks and the controller itself
//! runs_at_once = 1
//!
//! [limits]                                   # of all that is in hand at a time
//! workers = 64
//! rate = "1 Gb/s"                            # default: none
//! bytes = "100 GB"                           # default: none
//! duration = "1 h"                           # of one activity; default: a day
//! memory = "8 GiB"
//! open_files = 8192
//!
//! [impair]
//! interfaces = ["eth1"]                      # default: all but that of the control connection
//! loss = 0.1
//! delay = "100 ms"
//!
//! [scratch]
//! directory = "/var/lib/btu/scratch"         # default: the service manager's, else the system's temporary directory
//! bytes = "2 GiB"
//!
//! [share]
//! directories = ["/mnt/nas"]                 # mounted shares that file tasks may make a directory in; default: none
//!
//! [copy]
//! programs = ["scp", "sftp"]                 # of the system, for copies; default: none
//! ```

mod check;
mod impair;
mod read;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use btu_contract::activity::Activity;
use btu_contract::copy::Program;
use btu_contract::peers::{self, Cidr};
use btu_units::{BitRate, Bytes, Span};

pub use read::PolicyError;

/// A rule's value, and its line.
#[derive(Debug, Clone, PartialEq)]
struct Rule<T> {
    value: T,
    /// From 1; none when the file does not have the rule and the default holds.
    line: Option<usize>,
}

/// The rights of controllers on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The file, for messages.
    source: Option<PathBuf>,
    activities: Rule<Vec<String>>,
    peers: Rule<Vec<Cidr>>,
    runs_at_once: Rule<usize>,
    workers: Rule<u64>,
    rate: Rule<Option<BitRate>>,
    bytes: Rule<Option<Bytes>>,
    duration: Rule<Span>,
    memory: Rule<Bytes>,
    open_files: Rule<u64>,
    /// None: any but those that are never impaired.
    impair_interfaces: Rule<Option<Vec<String>>>,
    /// Probability that a packet is dropped.
    impair_loss: Rule<f64>,
    impair_delay: Rule<Span>,
    scratch_directory: Rule<PathBuf>,
    scratch_bytes: Rule<Bytes>,
    share_directories: Rule<Vec<PathBuf>>,
    copy_programs: Rule<Vec<Program>>,
}

/// The line of a rule that is not in the file.
const UNCHANGEABLE: &str = "a rule that no policy changes";

/// A rule that forbids something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {place} forbids it")]
pub struct Forbidden {
    /// The request, and the limit.
    what: String,
    place: String,
}

/// Delaying and dropping packets, as `activities` calls it: not a worker's activity, but treated
/// like one.
const IMPAIR: &str = "impair";

/// Workers at a time of the default: a pipe of many pairs has one, a cell of the rating four at
/// most.
const WORKERS: u64 = 64;
/// The memory of all workers: as many as that of the smallest room ([`btu_contract::room`]).
const MEMORY: Bytes = Bytes::new(8 << 30);
const OPEN_FILES: u64 = 8192;
/// Greatest impairment of the default: ten times the loss, and a hundred times the delay, of the
/// paper's peers.
const LOSS: f64 = 0.1;
const DELAY: Span = Span::from_milliseconds(100);

/// All that scratch files of the default take together.
const SCRATCH: Bytes = Bytes::new(2 << 30);
/// The longest activity of the default; a lost controller ends it far earlier.
const DAY: Span = Span::from_seconds(86_400);

impl<T> Rule<T> {
    fn default_of(value: T) -> Self {
        Self { value, line: None }
    }
}

impl Default for Policy {
    fn default() -> Self {
        let all = known_kinds().filter(|&kind| !LOCAL_ONLY.contains(&kind));
        Self {
            source: None,
            activities: Rule::default_of(all.map(str::to_owned).collect()),
            peers: Rule::default_of(peers::private()),
            runs_at_once: Rule::default_of(1),
            workers: Rule::default_of(WORKERS),
            rate: Rule::default_of(None),
            bytes: Rule::default_of(None),
            duration: Rule::default_of(DAY),
            memory: Rule::default_of(MEMORY),
            open_files: Rule::default_of(OPEN_FILES),
            impair_interfaces: Rule::default_of(None),
            impair_loss: Rule::default_of(LOSS),
            impair_delay: Rule::default_of(DELAY),
            scratch_directory: Rule::default_of(default_scratch()),
            scratch_bytes: Rule::default_of(SCRATCH),
            share_directories: Rule::default_of(Vec::new()),
            copy_programs: Rule::default_of(Vec::new()),
        }
    }
}

/// What is for this machine's own testbed only: ways through the host, frames to hosts that did not
/// ask for them, and the system's own programs.
const LOCAL_ONLY: [&str; 5] =
    ["relay", "broadcast", "draw-over-ssh", "draw-over-x11", "draw-by-x11perf"];

/// All that `activities` can name.
fn known_kinds() -> impl Iterator<Item = &'static str> {
    Activity::KINDS.into_iter().chain([IMPAIR])
}

/// The service manager's directory for it (systemd.exec(5), `StateDirectory=`), else a temporary
/// directory.
fn default_scratch() -> PathBuf {
    match std::env::var_os("STATE_DIRECTORY") {
        Some(directory) => PathBuf::from(directory).join("scratch"),
        None => std::env::temp_dir(),
    }
}

/// Most that is read of a policy file, in bytes.
const LONGEST: u64 = 1 << 20;

impl Policy {
    /// Reads a policy file.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let unreadable = |source| PolicyError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
            .map_err(unreadable)?;
        if text.len() as u64 > LONGEST {
            return Err(unreadable(std::io::Error::other("it is too large")));
        }
        read::parse(&path.display().to_string(), &text)
            .map(|policy| Self { source: Some(path.to_owned()), ..policy })
    }

    /// For fuzzers: any octets as a policy file.
    #[doc(hidden)]
    pub fn fuzz(octets: &[u8]) {
        let text = String::from_utf8_lossy(octets);
        let _ = read::parse("fuzz.toml", &text).map_err(|error| error.to_string());
    }

    /// Lets activities exchange data with the hosts of this network, too.
    pub(super) fn add_peers(&mut self, network: Option<Cidr>) {
        self.peers.value.extend(network);
    }

    /// The directory in which host activities may write.
    pub fn scratch_directory(&self) -> &Path {
        &self.scratch_directory.value
    }

    /// Kinds of activity that are allowed.
    pub fn activities(&self) -> &[String] {
        &self.activities.value
    }

    /// Whether activities of this kind are allowed.
    pub(super) fn allows(&self, kind: &str) -> bool {
        self.activities.value.iter().any(|allowed| allowed == kind)
    }

    /// Whether packets may be delayed and dropped.
    pub fn allows_impairing(&self) -> bool {
        self.allows(IMPAIR)
    }

    /// Most runs at once.
    pub fn runs_at_once(&self) -> usize {
        self.runs_at_once.value
    }

    fn forbids<T>(&self, what: String, name: &str, rule: &Rule<T>) -> Forbidden {
        Forbidden { what, place: self.place(name, rule.line) }
    }

    fn place(&self, name: &str, line: Option<usize>) -> String {
        match (&self.source, line) {
            (Some(path), Some(line)) => {
                format!("`{name}` in line {line} of the agent's policy {}", path.display())
            }
            (Some(path), None) => {
                format!(
                    "the default of `{name}`, which the agent's policy {} leaves as it is,",
                    path.display()
                )
            }
            _ => format!("the default of `{name}` (the agent has no --policy file)"),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(path) => write!(f, "policy {}", path.display()),
            None => f.write_str("the default policy"),
        }
    }
}
