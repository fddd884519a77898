//! Kernel settings of the calling thread's network namespace
//! (Documentation/networking/ip-sysctl.rst).

use std::fs;
use std::io;
use std::path::Path;

use btu_contract::congestion::CongestionControl;

/// Settings of a new namespace; interfaces made later start with `default`.
const NAMESPACE: [(&str, &str); 11] = [
    // Answers to a peer's second address leave by its first interface: that is not spoofing.
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    // Each address is answered for on its own interface only, with that interface's own address.
    ("ipv4/conf/all/arp_ignore", "1"),
    ("ipv4/conf/default/arp_ignore", "1"),
    ("ipv4/conf/all/arp_announce", "2"),
    ("ipv4/conf/default/arp_announce", "2"),
    // Otherwise the next connection would start with the cached path data of the last one (round
    // trip, threshold): cells must be independent of each other.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Stations use IPv4 only, unless the user requested IPv6; the kernel's own IPv6 packets would
    // be frames outside the measurement.
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    // If the module is loaded, bridged packets would pass the packet filter.
    ("bridge/bridge-nf-call-iptables", "0"),
    ("bridge/bridge-nf-call-arptables", "0"),
];

/// Settings of a namespace with interfaces that get IPv6 addresses, before they are made.
const WITH_IPV6: [(&str, &str); 6] = [
    // An interface has only the given address; the kernel does no duplicate address detection, and
    // looks for no router.
    ("ipv6/conf/default/addr_gen_mode", "1"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/dad_transmits", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
];

/// Settings that the namespace may lack because the kernel lacks the part they belong to.
const OPTIONAL: [&str; 2] = ["ipv6/", "bridge/"];

/// Keeps the kernel of a new namespace from sending packets by itself, and prepares it for a peer
/// with two interfaces.
pub(super) fn settle_namespace() -> io::Result<()> {
    NAMESPACE.iter().try_for_each(|(setting, value)| set(setting, value))
}

/// Lets interfaces of the namespace have IPv6 addresses, with as few packets from the kernel as
/// possible.
pub(super) fn allow_ipv6() -> io::Result<()> {
    WITH_IPV6.iter().try_for_each(|(setting, value)| write(setting, value))
}

/// Lets TCP in the calling thread's namespace use this algorithm for connections that choose none.
pub(super) fn choose_congestion_control(algorithm: &CongestionControl) -> io::Result<()> {
    set("ipv4/tcp_congestion_control", algorithm.as_str())
}

/// Lets these processors do the protocol work of frames that interfaces of the calling thread's
/// namespace receive, if they are made from now on (receive packet steering,
/// Documentation/networking/scaling.rst). Linux has this setting in every namespace since 6.3.
pub(super) fn receive_on(processors: &[u32]) -> io::Result<()> {
    write("core/rps_default_mask", &mask(processors))
}

/// The kernel's mask format: hexadecimal words of 32 processors each, the highest first.
fn mask(processors: &[u32]) -> String {
    let words = processors.iter().max().map_or(1, |highest| highest / 32 + 1);
    let word = |number: u32| {
        let here = processors.iter().filter(|&&processor| processor / 32 == number);
        here.fold(0_u32, |word, processor| word | 1 << (processor % 32))
    };
    let words: Vec<String> =
        (0..words).rev().map(|number| format!("{:08x}", word(number))).collect();
    words.join(",")
}

fn set(setting: &str, value: &str) -> io::Result<()> {
    match write(setting, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_optional(setting) => Ok(()),
        written => written,
    }
}

fn write(setting: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys/net").join(setting);
    fs::write(&path, value).or_else(|error| {
        // A container may have the settings read-only, and some of them right.
        if fs::read_to_string(&path).is_ok_and(|found| found.trim() == value) {
            return Ok(());
        }
        Err(io::Error::new(error.kind(), format!("net/{setting} = {value}: {error}")))
    })
}

fn is_optional(setting: &str) -> bool {
    OPTIONAL.iter().any(|part| setting.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_processor() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[1, 31]), "80000002");
        assert_eq!(mask(&[0, 33, 64]), "00000001,00000002,00000001");
    }
}
