//! Real hosts in the place of emulated stations.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::HostName;
use crate::border;

/// Real hosts that take part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machines {
    /// A rating has them in the order of its roles, a study in that of its stations.
    #[serde(deserialize_with = "border::once")]
    pub hosts: Vec<Machine>,
}

/// A real host that takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name in scripts and accounts: the role in a rating, its own name in a study.
    pub station: HostName,
    /// The user's name for it.
    #[serde(deserialize_with = "border::host_name")]
    pub name: String,
    /// The way to its agent, which is not measured.
    pub reached: Reached,
    /// Its address on the measured network, where its activities listen.
    pub measured: IpAddr,
}

/// The way to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Reached {
    /// By mutual TLS with certificates of a job.
    Tls {
        /// The address as `host:port`.
        #[serde(deserialize_with = "border::address")]
        address: String,
    },
    /// By the user's own OpenSSH.
    Ssh {
        /// As `ssh` takes it.
        #[serde(deserialize_with = "border::destination")]
        destination: String,
    },
    /// By mutual TLS, with certificates for this job alone: a launcher started it.
    Launched,
    /// As a child of the controller, on its own machine.
    Here,
}

impl Machines {
    /// The host with this name in scripts.
    pub fn of(&self, station: &HostName) -> Option<&Machine> {
        self.hosts.iter().find(|host| host.station == *station)
    }
}

/// The hosts' names in the order of their roles.
impl fmt::Display for Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        write!(f, "hosts {}", names.join(", "))
    }
}

/// The host with both its addresses, as reports have it.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.station.as_str() != self.name {
            write!(f, "{} is ", self.station)?;
        }
        write!(f, "{}, measured at {}, controlled by {}", self.name, self.measured, self.reached)
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls { address } => write!(f, "TLS to {address}"),
            Self::Ssh { destination } => write!(f, "ssh to {destination}"),
            Self::Launched => f.write_str("TLS, started by a launcher"),
            Self::Here => f.write_str("this machine itself"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{HostRole, Network};

    fn machines() -> Machines {
        let host = |station: HostRole, name: &str, reached, last| Machine {
            station: station.into(),
            name: name.to_owned(),
            reached,
            measured: IpAddr::from([198, 51, 100, last]),
        };
        let tls = Reached::Tls { address: "192.0.2.11:7417".to_owned() };
        let hosts = vec![
            host(HostRole::Test, "alpha", Reached::Ssh { destination: "me@alpha".to_owned() }, 10),
            host(HostRole::Active, "beta", tls, 11),
            host(HostRole::Passive, "gamma", Reached::Launched, 12),
        ];
        Machines { hosts }
    }

    #[test]
    fn hosts_are_told_with_both_addresses() {
        assert_eq!(Network::Machines(machines()).to_string(), "hosts alpha, beta, gamma");
        let told: Vec<String> = machines().hosts.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "test is alpha, measured at 198.51.100.10, controlled by ssh to me@alpha",
                "active is beta, measured at 198.51.100.11, controlled by TLS to 192.0.2.11:7417",
                "passive is gamma, measured at 198.51.100.12, controlled by TLS, started by a launcher",
            ]
        );
    }

    #[test]
    fn a_host_that_plays_no_role_is_told_by_its_name_alone() {
        let mut beta = machines().hosts[1].clone();
        beta.station = HostName::try_from("beta").unwrap();
        assert_eq!(
            beta.to_string(),
            "beta, measured at 198.51.100.11, controlled by TLS to 192.0.2.11:7417"
        );
    }

    #[test]
    fn hosts_survive_storage() {
        let network = Network::Machines(machines());
        let text = serde_json::to_string(&network).unwrap();
        assert!(text.starts_with(
            r#"{"kind":"machines","hosts":[{"station":"test","name":"alpha","reached":{"by":"ssh""#
        ));
        assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    }
}
