//! The inventory: which hosts there are, how their agents are reached, and where they listen when
//! they are measured.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The port of agents unless the user names another port.
pub const AGENT_PORT: u16 = 7417;

/// The hosts of an inventory file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// The hosts; their names differ.
    pub hosts: Vec<Host>,
}

/// A host that can be measured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name of the host: a label as host names have them.
    pub name: String,
    /// Its role in `btu rate`; `None` if it has none.
    pub role: Option<HostRole>,
    /// The way to its agent.
    pub control: Control,
    /// The address at which its activities listen; `None` means the address of its agent.
    pub measured: Option<IpAddr>,
}

btu_units::named! {
    /// A host's role in `btu rate`: a station.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum HostRole {
        /// The machine under test; never modified.
        Test = "test",
        /// The peer that takes part in every network activity.
        Active = "active",
        /// The second peer, for activities with two peers.
        Passive = "passive",
    }
}

impl HostRole {
    /// Peers may delay and drop; the machine under test may not.
    pub const fn is_black_box(self) -> bool {
        !matches!(self, Self::Test)
    }
}

/// The way to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Over TLS, at this address: an agent of a job, such as one of `btu hosts kubernetes`.
    Agent(AgentAddress),
    /// Over the user's own OpenSSH, which gets this destination.
    Ssh(SshDestination),
    /// As the launcher that started its agent said.
    Launched,
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostAddressError {
    /// Its parts are missing or in the wrong order.
    #[error("`{0}` is not an address: write host:port, 192.0.2.10, or [2001:db8::10]:7417")]
    Address(String),
    /// OpenSSH would read it as an option, or as several words.
    #[error(
        "`{0}` is nothing that ssh could go to: write user@host, or a name of your ~/.ssh/config"
    )]
    Destination(String),
}

/// Where an agent listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAddress {
    /// Its host's name or address.
    pub host: String,
    /// The port on which the agent listens.
    pub port: u16,
}

impl FromStr for AgentAddress {
    type Err = HostAddressError;

    fn from_str(text: &str) -> Result<Self, HostAddressError> {
        let wrong = || HostAddressError::Address(text.to_owned());
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self { host: address.to_string(), port: AGENT_PORT });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?)
            }
            None => (text, AGENT_PORT),
        };
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?.to_string(),
            None => host.to_owned(),
        };
        let is_bare = host.parse::<std::net::Ipv6Addr>().is_ok() || is_host_name(&host);
        if is_bare { Ok(Self { host, port }) } else { Err(wrong()) }
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Labels with dots between them (RFC 1123, section 2.1); `_` occurs in names of hosts that are
/// only used locally.
pub(crate) fn is_host_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && !label.starts_with('-') && label.chars().all(inner)
    };
    text.len() <= 253 && text.trim_end_matches('.').split('.').all(label)
}

/// The destination of OpenSSH: `user@host`, or a name of its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshDestination(String);

impl SshDestination {
    /// As `ssh` takes it; never an option.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SshDestination {
    type Err = HostAddressError;

    fn from_str(text: &str) -> Result<Self, HostAddressError> {
        // A word that begins with a hyphen would be an option, and some options run commands.
        let is_one_word =
            !text.is_empty() && text.len() <= 255 && text.chars().all(|c| c.is_ascii_graphic());
        let is_safe = !text.starts_with('-')
            && !text.contains(['\'', '"', '\\', '`', '$', ';', '|', '&', '<', '>']);
        if is_one_word && is_safe {
            Ok(Self(text.to_owned()))
        } else {
            Err(HostAddressError::Destination(text.to_owned()))
        }
    }
}

impl fmt::Display for SshDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, shown) in [
            ("192.0.2.10", "192.0.2.10:7417"),
            ("192.0.2.10:99", "192.0.2.10:99"),
            ("alpha.example.org", "alpha.example.org:7417"),
            ("2001:db8::1", "[2001:db8::1]:7417"),
            ("[2001:DB8::1]:80", "[2001:db8::1]:80"),
        ] {
            assert_eq!(text.parse::<AgentAddress>().unwrap().to_string(), shown);
        }
        for text in ["", ":80", "a b", "a:b", "a:0", "a:70000", "[x]:1", "-a", "a..b", "a:1:2"] {
            assert!(text.parse::<AgentAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_that_ssh_is_given_can_be_an_option_or_a_command() {
        assert_eq!("me@alpha".parse::<SshDestination>().unwrap().as_str(), "me@alpha");
        for text in ["", "-oProxyCommand=x", "a b", "a;b", "$(a)", "a\n", "ä"] {
            assert!(text.parse::<SshDestination>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_read_is_read_again(text in "\\PC{0,40}") {
            if let Ok(address) = text.parse::<AgentAddress>() {
                prop_assert_eq!(address.to_string().parse::<AgentAddress>().unwrap(), address);
            }
            if let Ok(destination) = text.parse::<SshDestination>() {
                prop_assert!(!destination.as_str().starts_with('-'));
            }
        }
    }
}
