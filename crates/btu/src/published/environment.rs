//! The published part of a machine's environment. Each field is named, so that a new one is published
//! only by a decision here.

use std::collections::{BTreeMap, BTreeSet};

use btu_control::environment::{Environment, Interface, Kernel, Network};
use btu_publication::sha256;

use crate::cli::Board;

/// What is published of a machine: versions, processors, memory, load, and settings that affect
/// measurements.
pub(super) fn environment(found: Environment, board: &Board) -> Environment {
    let Environment {
        btu_version,
        host,
        distribution,
        kernel,
        processor,
        memory,
        load,
        busy,
        cpu_time,
        network,
        job: _,
    } = found;
    Environment {
        btu_version,
        host: host.map(|host| salted(&host, board)),
        distribution,
        kernel: of_kernel(kernel),
        processor,
        memory,
        load,
        busy,
        cpu_time,
        network: of_network(network),
        job: BTreeMap::new(),
    }
}

/// Without its command line and the identity of its boot.
fn of_kernel(kernel: Kernel) -> Kernel {
    let Kernel { release, boot: _, version, command_line: _, clock_source, mitigations } = kernel;
    Kernel { release, boot: None, version, command_line: None, clock_source, mitigations }
}

/// The settings that btu looks at, and the different kinds of interfaces under neutral names: names
/// of interfaces can hold addresses, and their number says how many containers there are.
fn of_network(network: Network) -> Network {
    let Network { mut settings, interfaces } = network;
    settings.retain(|name, _| Network::SETTINGS.contains(&name.as_str()));
    let kinds: BTreeSet<InterfaceProperties> = interfaces.into_values().map(kind).collect();
    let named = (1..).map(|number: u32| format!("interface-{number:04}"));
    Network { settings, interfaces: named.zip(kinds.into_iter().map(interface)).collect() }
}

/// An interface in an order of its own: MTU, queueing discipline, kind, features.
type InterfaceProperties = (Option<u32>, Option<String>, Option<String>, BTreeSet<String>);

fn kind(interface: Interface) -> InterfaceProperties {
    let Interface { mtu_bytes, queueing, kind, features } = interface;
    (mtu_bytes, queueing, kind, features)
}

fn interface((mtu_bytes, queueing, kind, features): InterfaceProperties) -> Interface {
    Interface { mtu_bytes, queueing, kind, features }
}

/// The mark of an identity that is salted already.
const SALTED: &str = "board-";

/// Digits of an identity.
const DIGITS: usize = 16;

/// The identity of a host for one board: runs there are of one machine or of several, and other
/// boards cannot tell that they know it. A salted one stays as it is.
fn salted(host: &str, board: &Board) -> String {
    if is_salted(host) {
        return host.to_owned();
    }
    let digest = sha256(format!("btu board {board} {host}").as_bytes());
    SALTED.chars().chain(digest.chars().take(DIGITS)).collect()
}

fn is_salted(host: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = host.strip_prefix(SALTED);
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_do_not_know_each_others_machines() {
        let [one, other]: [Board; 2] =
            ["https://a.example", "https://b.example"].map(|board| board.parse().unwrap());
        let host = "0123456789abcdef";
        let published = salted(host, &one);
        assert_ne!(published, salted(host, &other));
        assert_ne!(published, salted("0123456789abcdee", &one));
        assert_eq!(salted(&published, &one), published);
        assert_eq!(salted(&published, &other), published);
        assert!(!published.contains(host));
        assert!(!salted("board-my-host-is-called", &one).contains("my-host"));
    }

    #[test]
    fn interfaces_lose_their_names_and_their_number() {
        let interface = |mtu| Interface { mtu_bytes: Some(mtu), ..Interface::default() };
        let names = ["wlp3s0", "enx0123456789ab", "veth1"].map(str::to_owned);
        let interfaces = names.into_iter().zip([1500, 1500, 9000].map(interface)).collect();
        let settings =
            ["net.ipv4.tcp_sack", "secret"].map(|name| (name.to_owned(), "1".to_owned()));
        let published = of_network(Network { settings: settings.into(), interfaces });
        let names: Vec<&str> = published.interfaces.keys().map(String::as_str).collect();
        assert_eq!(names, ["interface-0001", "interface-0002"]);
        assert_eq!(published.settings.len(), 1);
        assert_eq!(of_network(published.clone()), published);
    }
}
