//! Delay and loss for incoming packets of an interface, by the kernel's netem.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use btu_contract::network::Impairment;
use btu_testbed::netem::{Guard, NetemError, apply};
use btu_units::Probability;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use super::caller::Connection;

/// An interface that is impaired until this is dropped.
#[derive(Debug)]
pub(super) struct Impaired(Guard);

/// Why it is not impaired.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImpairError {
    #[error("listing the interfaces: {0}")]
    Interfaces(#[source] nix::Error),
    #[error("no interface has the address {0}: `ip address` lists them")]
    NoInterface(IpAddr),
    #[error("a loss of {0} is not a probability: 0 to 1")]
    Loss(f64),
    #[error(transparent)]
    Netem(#[from] NetemError),
}

impl Impaired {
    /// Sets up the impairment of an interface.
    pub(super) fn new(interface: &str, wanted: Impairment, seed: u64) -> Result<Self, ImpairError> {
        Ok(Self(apply(interface, wanted.delay, loss(wanted)?, seed)?))
    }

    /// Replaces the impairment by another one.
    pub(super) fn change(&mut self, wanted: Impairment) -> Result<(), ImpairError> {
        Ok(self.0.change(wanted.delay, loss(wanted)?)?)
    }

    /// The method, for the report.
    pub(super) fn how(&self) -> String {
        format!("kernel netem on what comes in at {}", self.0.interface())
    }
}

fn loss(wanted: Impairment) -> Result<Probability, ImpairError> {
    Probability::new(wanted.loss).map_err(|_| ImpairError::Loss(wanted.loss))
}

/// The interface that has `address`.
pub(super) fn interface_of(address: IpAddr) -> Result<String, ImpairError> {
    let mut all = getifaddrs().map_err(ImpairError::Interfaces)?;
    let found = all.find(|interface| interface.address.as_ref().and_then(ip) == Some(address));
    found.map(|interface| interface.interface_name).ok_or(ImpairError::NoInterface(address))
}

/// The interfaces that carry a control connection: the one that has its local address, the one by
/// which packets leave for its other end, and those below them, of which a bridge, a bond or a VLAN
/// is made.
pub(super) fn carriers_of(connection: Connection) -> Vec<String> {
    let leaving = UdpSocket::bind(match connection.remote {
        IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    });
    // No packet is sent: the kernel only looks up the route (connect(2)), and the port has no
    // effect.
    let leaving = leaving.and_then(|socket| {
        socket.connect((connection.remote, 9))?;
        socket.local_addr()
    });
    let addresses = [Some(connection.local), leaving.ok().map(|address| address.ip())];
    let mut carriers = Vec::new();
    for name in addresses.into_iter().flatten().filter_map(|address| interface_of(address).ok()) {
        add_with_lower(name, &mut carriers);
    }
    carriers
}

/// Adds an interface and all below it, each once (`/sys/class/net/NAME/lower_*`).
fn add_with_lower(name: String, all: &mut Vec<String>) {
    if all.contains(&name) {
        return;
    }
    let entries = fs::read_dir(Path::new("/sys/class/net").join(&name));
    all.push(name);
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    for lower in names.filter_map(|entry| entry.strip_prefix("lower_").map(str::to_owned)) {
        add_with_lower(lower, all);
    }
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let four = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_connection_is_carried_by_the_interface_of_its_address() {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(carriers_of(Connection { local: here, remote: here }), ["lo"]);
    }

    #[test]
    fn an_address_has_an_interface_or_is_named() {
        assert_eq!(interface_of(Ipv4Addr::LOCALHOST.into()).unwrap(), "lo");
        let error = interface_of(Ipv4Addr::new(203, 0, 113, 9).into()).unwrap_err().to_string();
        assert!(error.contains("203.0.113.9"), "{error}");
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for share in [-0.1, 1.1, f64::NAN] {
            let wanted = Impairment { loss: share, ..Impairment::NONE };
            assert!(loss(wanted).is_err(), "{share}");
        }
    }
}
