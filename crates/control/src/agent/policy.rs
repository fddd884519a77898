//! What controllers may make this host do: read from a TOML file, checked before a worker is made, and held while it works.
//!
//! ```toml
//! activities = ["null", "tcp-send"]          # default: all but ftp-relay
//! controllers = ["carol"]                    # default: every one with a valid certificate
//! peers = ["10.0.0.0/8", "fd00::/8"]         # default: private networks and this machine
//! runs_at_once = 1
//!
//! [limits]                                   # of one activity
//! rate = "1 Gb/s"                            # default: none
//! bytes = "100 GB"                           # default: none
//! duration = "1 h"                           # default: a day
//!
//! [scratch]
//! directory = "/var/lib/btu/scratch"         # default: the service manager's, else the system's temporary directory
//! bytes = "2 GiB"
//! ```

mod check;
mod cidr;
mod read;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use btu_suite::activity::Activity;
use btu_units::{BitRate, Bytes, Span};

pub use cidr::Cidr;
pub use read::PolicyError;

/// A rule's value, and where it stands.
#[derive(Debug, Clone, PartialEq)]
struct Rule<T> {
    value: T,
    /// From 1; none when the file does not have the rule and the default holds.
    line: Option<usize>,
}

/// What controllers may make this host do.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The file, for messages.
    source: Option<PathBuf>,
    activities: Rule<Vec<String>>,
    /// Empty: every one with a valid certificate.
    controllers: Rule<Vec<String>>,
    peers: Rule<Vec<Cidr>>,
    runs_at_once: Rule<usize>,
    rate: Rule<Option<BitRate>>,
    bytes: Rule<Option<Bytes>>,
    duration: Rule<Span>,
    scratch_directory: Rule<PathBuf>,
    scratch_bytes: Rule<Bytes>,
}

/// A rule that forbids something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {place} forbids it")]
pub struct Forbidden {
    /// What was asked, and what is allowed.
    what: String,
    place: String,
}

/// The largest scratch file of the default.
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
        let all = Activity::KINDS.iter().filter(|&&kind| kind != "ftp-relay");
        Self {
            source: None,
            activities: Rule::default_of(all.map(|&kind| kind.to_owned()).collect()),
            controllers: Rule::default_of(Vec::new()),
            peers: Rule::default_of(cidr::private()),
            runs_at_once: Rule::default_of(1),
            rate: Rule::default_of(None),
            bytes: Rule::default_of(None),
            duration: Rule::default_of(DAY),
            scratch_directory: Rule::default_of(default_scratch()),
            scratch_bytes: Rule::default_of(SCRATCH),
        }
    }
}

/// What the service manager keeps for it (systemd.exec(5), `StateDirectory=`), else a temporary directory.
fn default_scratch() -> PathBuf {
    match std::env::var_os("STATE_DIRECTORY") {
        Some(directory) => PathBuf::from(directory).join("scratch"),
        None => std::env::temp_dir(),
    }
}

impl Policy {
    /// Reads a policy file.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| PolicyError::Read { path: path.to_owned(), source })?;
        read::parse(&path.display().to_string(), &text).map(|policy| Self { source: Some(path.to_owned()), ..policy })
    }

    /// For fuzzers: any octets as a policy file.
    #[doc(hidden)]
    pub fn fuzz(octets: &[u8]) {
        let text = String::from_utf8_lossy(octets);
        drop(read::parse("fuzz.toml", &text).map_err(|error| error.to_string()));
    }

    /// Where host activities may write.
    pub fn scratch_directory(&self) -> &Path {
        &self.scratch_directory.value
    }

    /// How much host activities may write.
    pub fn scratch_bytes(&self) -> Bytes {
        self.scratch_bytes.value
    }

    /// Kinds of activity that are allowed.
    pub fn activities(&self) -> &[String] {
        &self.activities.value
    }

    /// Most runs at once.
    pub fn runs_at_once(&self) -> usize {
        self.runs_at_once.value
    }

    /// Whether a controller with a valid certificate may do anything.
    pub fn check_controller(&self, name: &str) -> Result<(), Forbidden> {
        let allowed = &self.controllers.value;
        if allowed.is_empty() || allowed.iter().any(|allowed| allowed == name) {
            return Ok(());
        }
        let what = format!("controller {name} is not one of {}", allowed.join(", "));
        Err(self.forbids(what, "controllers", &self.controllers))
    }

    fn forbids<T>(&self, what: String, name: &str, rule: &Rule<T>) -> Forbidden {
        Forbidden { what, place: self.place(name, rule.line) }
    }

    fn place(&self, name: &str, line: Option<usize>) -> String {
        match (&self.source, line) {
            (Some(path), Some(line)) => format!("`{name}` in line {line} of the agent's policy {}", path.display()),
            (Some(path), None) => {
                format!("the default of `{name}`, which the agent's policy {} leaves as it is,", path.display())
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
