//! Which controllers an agent of a job serves: those that can show a certificate of the job's own
//! authority.
//!
//! Who starts a job makes an authority for it, in memory, which issues an identity to each agent and
//! to the controller (mutual TLS 1.3, RFC 8446) and is gone. What a peer may do follows from its
//! certificate alone: its extended key usage is the role, its name a DNS name below `.invalid`, which
//! RFC 6761 section 6.4 keeps out of every real name service. No certificate of a public authority
//! is taken, and btu's certificates have no meaning elsewhere.
//!
//! ```text
//! Authority --issues--> Bundle (for a launcher) --> Identity of an agent --> server_config
//!           --issues--------------------------> Identity of the controller --> client_config
//! ```

mod authority;
mod bundle;
mod error;
mod explain;
mod files;
mod identity;
mod tls;

#[cfg(test)]
pub(crate) mod tests;

use rustls::pki_types::ServerName;

pub use bundle::{Bundle, BundleLimits, MOST_AGENTS};
pub use error::TrustError;
pub use explain::explain;
pub use identity::Identity;
pub use tls::{client_config, server_config};

/// The role of a certificate's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Gives orders. Its certificate is for TLS clients (extended key usage `clientAuth`, RFC 5280
    /// section 4.2.1.12).
    Controller,
    /// Takes orders. Its certificate is for TLS servers (`serverAuth`).
    Agent,
}

impl Role {
    /// Its name in certificates.
    const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Agent => "agent",
        }
    }

    fn domain(self) -> String {
        format!(".{}.{TOP}", self.name())
    }
}

/// The suffix of all names; `.invalid` never resolves (RFC 6761 section 6.4).
const TOP: &str = "btu.invalid";

/// The longest name: with the longest suffix it stays below a DNS name's 253 octets (RFC 1035
/// section 2.3.4).
const LONGEST_NAME: usize = 200;

/// The name that a controller expects in the certificate of the agent `name`.
pub fn server_name(name: &str) -> Result<ServerName<'static>, TrustError> {
    let name = check_name(name)?;
    let full = format!("{name}{}", Role::Agent.domain());
    ServerName::try_from(full).map_err(|_| TrustError::Name { name: name.to_owned() })
}

/// A name is one or more DNS labels: lower-case letters, digits and inner hyphens (RFC 1123 section
/// 2.1).
pub fn check_name(name: &str) -> Result<&str, TrustError> {
    let letters =
        |label: &str| label.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && letters(label)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() <= LONGEST_NAME && name.split('.').all(label) {
        Ok(name)
    } else {
        Err(TrustError::Name { name: name.chars().take(LONGEST_NAME).collect() })
    }
}
