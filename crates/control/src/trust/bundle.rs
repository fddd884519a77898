//! What a launcher hands to the agents that it starts: an identity for each of them, all of one
//! authority that exists for this job alone.
//!
//! The controller's key is not in it: an agent of the job cannot give orders to another one.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use btu_contract::peers::Cidr;
use serde::{Deserialize, Serialize};

use super::authority::Authority;
use super::files::MOST_BYTES;
use super::{Identity, Role, TrustError, files};

/// The most agents of one bundle.
pub const MOST_AGENTS: usize = 256;

const WHAT: &str = "the bundle";
const EXPECTED: &str = "a bundle that `btu` made for a launcher";

/// The identities and the limits of the agents of one job, as they are stored: one line of JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    version: u32,
    limits: BundleLimits,
    /// The identities in the order of the agents' indices, as in their files.
    identities: Vec<String>,
}

/// The limits of the agents of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleLimits {
    /// An agent ends after this time, whatever it does.
    #[serde(rename = "lasts_s", with = "seconds")]
    pub lasts: Duration,
    /// An agent ends when no controller was connected for this time.
    #[serde(rename = "idle_s", with = "seconds")]
    pub idle: Duration,
    /// The addresses of the controller, the preferred one first: an agent is measured at the
    /// address from which its packets reach one of them.
    pub towards: Vec<IpAddr>,
    /// The measured network: an agent is measured at its own address in it.
    pub over: Option<Cidr>,
}

/// The version of the form.
const VERSION: u32 = 1;

impl Bundle {
    /// New identities for agents of these names, and the text of that of their controller, which
    /// [`Identity::parse`] reads. All are valid for two days.
    pub fn issue(names: &[String], limits: BundleLimits) -> Result<(Self, String), TrustError> {
        let authority = Authority::new()?;
        let issue = |name: &String| authority.issue(name, Role::Agent);
        let identities = names.iter().map(issue).collect::<Result<_, TrustError>>()?;
        let controller = authority.issue("controller", Role::Controller)?;
        Ok((Self { version: VERSION, limits, identities }, controller))
    }

    /// The limits of its agents.
    pub fn limits(&self) -> &BundleLimits {
        &self.limits
    }

    /// The identity of the agent with this index.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn identity(&self, index: usize) -> Result<Identity, TrustError> {
        let pem = self.identities.get(index).ok_or_else(|| {
            let why =
                format!("it has {} identities, none for index {index}", self.identities.len());
            malformed(WHAT, &why)
        })?;
        Identity::parse(WHAT, pem.as_bytes())
    }

    /// Its form in a file or on standard input, without the end of line. It holds private keys.
    pub fn to_text(&self) -> String {
        // Texts, numbers and lists always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what `to_text` wrote.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let bundle: Self = serde_json::from_str(text).map_err(|error| {
            // The library's own words could quote a key.
            malformed(WHAT, &format!("line {}, column {}", error.line(), error.column()))
        })?;
        if bundle.version != VERSION {
            return Err(malformed(
                WHAT,
                &format!("it has version {}, not {VERSION}", bundle.version),
            ));
        }
        Ok(bundle)
    }

    /// Reads a bundle's file, which only its owner may be able to read.
    pub fn load(path: &Path) -> Result<Self, TrustError> {
        Self::parse(&files::read_private(path)?)
    }

    /// Reads a bundle's line from a stream that goes on.
    pub fn read(stream: impl std::io::BufRead) -> Result<Self, TrustError> {
        use std::io::BufRead as _;
        let mut line = String::new();
        let what = Path::new("standard input");
        stream.take(MOST_BYTES).read_line(&mut line).map_err(files::reading(what))?;
        Self::parse(&line)
    }

    /// Writes it to a new file that only its owner can read.
    pub fn save(&self, path: &Path) -> Result<(), TrustError> {
        files::write_private(path, &(self.to_text() + "\n"))
    }
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn malformed(what: &str, why: &str) -> TrustError {
    TrustError::Malformed { what: what.to_owned(), expected: EXPECTED, why: why.to_owned() }
}

/// Times as whole seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        // No agent lives longer than this many seconds, and no clock overflows.
        Ok(Duration::from_secs(u64::from(u32::deserialize(from)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> BundleLimits {
        BundleLimits {
            lasts: Duration::from_hours(1),
            idle: Duration::from_mins(2),
            towards: vec![[192, 0, 2, 1].into()],
            over: Some("10.0.0.0/8".parse().unwrap()),
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("agent-{index}")).collect()
    }

    #[test]
    fn each_agent_finds_its_own_identity() {
        let (bundle, controller) = Bundle::issue(&names(3), limits()).unwrap();
        let text = bundle.to_text();
        assert!(!text.contains('\n'));
        // What follows the line on a stream is left alone.
        let read = Bundle::read(format!("{text}\nmore").as_bytes()).unwrap();
        assert_eq!(read.limits(), &limits());
        let second = read.identity(1).unwrap();
        // The line of its key's text between the marks.
        let key = controller.lines().skip_while(|line| !line.contains("PRIVATE")).nth(1).unwrap();
        let key = key.to_owned();
        let controller = Identity::parse("controller", controller.as_bytes()).unwrap();
        assert_eq!(second.authority, controller.authority);
        assert!(!text.contains(&key), "the controller's key is not in it");
        let none = Bundle::parse(&text).unwrap().identity(3).unwrap_err().to_string();
        assert!(none.contains("none for index 3"), "{none}");
    }

    #[test]
    fn the_largest_bundle_fits() {
        let (bundle, _) = Bundle::issue(&names(MOST_AGENTS), limits()).unwrap();
        let text = bundle.to_text();
        assert!((text.len() as u64) < MOST_BYTES, "{}", text.len());
        assert!(Bundle::read(text.as_bytes()).unwrap().identity(MOST_AGENTS - 1).is_ok());
    }

    #[test]
    fn what_is_no_bundle_is_refused_without_quoting_it() {
        let (bundle, _) = Bundle::issue(&names(1), limits()).unwrap();
        let text = bundle.to_text();
        for (wrong, why) in [
            (String::new(), "line"),
            (text.replace("\"version\":1", "\"version\":2"), "version 2"),
            (text.replace("PRIVATE KEY", "PUBLIC KEY"), "certificates and a key"),
            (text.replace("\"lasts_s\":3600", "\"lasts_s\":99999999999"), "column"),
        ] {
            let error = Bundle::parse(&wrong).and_then(|bundle| bundle.identity(0));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("BEGIN"), "{error}");
        }
    }

    #[test]
    fn a_file_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle");
        let (bundle, _) = Bundle::issue(&names(2), limits()).unwrap();
        bundle.save(&path).unwrap();
        assert!(Bundle::load(&path).unwrap().identity(0).is_ok());
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        std::fs::set_permissions(&path, open).unwrap();
        assert!(Bundle::load(&path).is_err());
    }
}
