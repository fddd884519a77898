//! What a launcher hands to the agents that it starts: an identity for each of them, all of one
//! authority that exists for this job alone.
//!
//! The controller's key is not in it: an agent of the job cannot give orders to another one.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use btu_suite::peers::Cidr;
use serde::{Deserialize, Serialize};

use super::issue::{Signer, Validity, new_key, now_unix_s};
use super::{Identity, Role, TrustError, files};

/// The most agents of one bundle.
pub const MOST_AGENTS: usize = 256;

/// The most octets of a bundle: an identity has 1,500.
const MOST_BYTES: u64 = 1 << 20;

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
    /// New identities for agents of these names, and that of their controller. All are valid for
    /// `days`.
    pub fn issue(
        names: &[String],
        limits: BundleLimits,
        days: u32,
    ) -> Result<(Self, Identity), TrustError> {
        let validity = Validity::days(days);
        let signer = Signer::new(new_key()?, validity)?;
        let issue = |name: &String| Ok(signer.issue(name, Role::Agent, validity)?.to_pem());
        let identities = names.iter().map(issue).collect::<Result<_, TrustError>>()?;
        let controller = signer.issue("launcher", Role::Controller, validity)?;
        Ok((Self { version: VERSION, limits, identities }, controller))
    }

    /// The limits of its agents.
    pub fn limits(&self) -> &BundleLimits {
        &self.limits
    }

    /// The identity of the agent with this index.
    ///
    /// # Errors
    /// There is none, or it is damaged, of another role or not valid today.
    pub fn identity(&self, index: usize) -> Result<Identity, TrustError> {
        let pem = self.identities.get(index).ok_or_else(|| {
            let why =
                format!("it has {} identities, none for index {index}", self.identities.len());
            malformed(WHAT, &why)
        })?;
        let identity = Identity::parse(WHAT, pem.as_bytes())?;
        identity.card().check_role(Role::Agent)?;
        identity.card().check_time(now_unix_s())?;
        Ok(identity)
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
        files::fill(files::create(path, files::PRIVATE)?, path, &(self.to_text() + "\n"))
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
        let (bundle, controller) = Bundle::issue(&names(3), limits(), 1).unwrap();
        let text = bundle.to_text();
        assert!(!text.contains('\n'));
        // What follows the line on a stream is left alone.
        let read = Bundle::read(format!("{text}\nmore").as_bytes()).unwrap();
        assert_eq!(read.limits(), &limits());
        let second = read.identity(1).unwrap();
        assert_eq!(second.name(), "agent-1");
        assert!(second.is_of_the_authority_of(&controller));
        assert!(!text.contains(&controller.to_pem()[..200]), "the controller's key is not in it");
        let none = Bundle::parse(&text).unwrap().identity(3).unwrap_err().to_string();
        assert!(none.contains("none for index 3"), "{none}");
    }

    #[test]
    fn the_largest_bundle_fits() {
        let (bundle, _) = Bundle::issue(&names(MOST_AGENTS), limits(), 1).unwrap();
        let text = bundle.to_text();
        assert!((text.len() as u64) < MOST_BYTES, "{}", text.len());
        let last = Bundle::read(text.as_bytes()).unwrap().identity(MOST_AGENTS - 1).unwrap();
        assert_eq!(last.name(), "agent-255");
    }

    #[test]
    fn what_is_no_bundle_is_refused_without_quoting_it() {
        let (bundle, controller) = Bundle::issue(&names(1), limits(), 1).unwrap();
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
        let wrong = Bundle { identities: vec![controller.to_pem()], ..bundle };
        assert!(wrong.identity(0).is_err(), "a controller's identity is no agent's");
    }

    #[test]
    fn a_file_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle");
        let (bundle, _) = Bundle::issue(&names(2), limits(), 1).unwrap();
        bundle.save(&path).unwrap();
        assert_eq!(Bundle::load(&path).unwrap().identity(0).unwrap().name(), "agent-0");
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        std::fs::set_permissions(&path, open).unwrap();
        assert!(Bundle::load(&path).is_err());
    }
}
