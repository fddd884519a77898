//! Facts about this host in addition to its [`Environment`].

use std::fs::OpenOptions;
use std::path::Path;

use btu_testbed::privilege::Capabilities;
use btu_testbed::testbed::Privilege;
use btu_testbed::{netem, testbed};
use btu_units::Span;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use serde::{Deserialize, Serialize};

use crate::environment::{self, Environment};

/// The facts; unknown ones are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Facts {
    /// Kernel, processors, memory, network.
    pub environment: Environment,
    /// Whether networks of namespaces can be raised: the right, or the reason why not.
    pub namespaces: Result<String, String>,
    /// Whether the kernel's netem works on incoming packets, or why not.
    pub netem: Result<(), String>,
    /// The capabilities of this process beyond its user.
    pub capabilities: Capabilities,
    /// Whether this process and what it starts can get no more rights, as services are started within bounds.
    #[serde(default)]
    pub no_new_privileges: bool,
    /// Open files allowed to a process.
    pub open_files: Option<u64>,
    /// Memory that a process may lock, in bytes.
    pub locked_bytes: Option<u64>,
    /// Free bytes where scratch files are written.
    pub scratch_free_bytes: Option<u64>,
    /// Whether processors can be kept from deep sleep (`/dev/cpu_dma_latency`).
    pub latency_request: bool,
    /// `kernel.io_uring_disabled`: 0 lets every process use it, 1 only privileged processes, 2 no
    /// process; absent before Linux 6.6.
    pub io_uring_disabled: Option<u64>,
    /// The congestion controls that namespaces other than the host's may use.
    #[serde(default)]
    pub congestion_controls: Vec<String>,
    /// How long the thread that looked had waited for a processor; absent where the kernel does not count it.
    #[serde(rename = "waited_ns", default)]
    pub waited: Option<Span>,
    /// Whether the kernel has IPv6.
    pub ipv6: bool,
    /// Whether packets pass a filter's rules.
    pub packet_filter: bool,
}

/// Examines this host; takes a fraction of a second. `executable` is this program, `scratch` its
/// directory for files.
pub fn look(executable: &Path, scratch: &Path) -> Facts {
    Facts {
        environment: environment::collect(),
        namespaces: testbed::preflight(executable, &[])
            .map(|grants| match grants.privilege {
                Privilege::Root => "root".to_owned(),
                Privilege::UserNamespace => "an ordinary user, in a user namespace".to_owned(),
            })
            .map_err(|error| error.to_string()),
        netem: netem::probe().map_err(|error| error.to_string()),
        capabilities: capabilities(),
        no_new_privileges: text("/proc/self/status").contains("NoNewPrivs:\t1"),
        open_files: limit(Resource::RLIMIT_NOFILE),
        locked_bytes: limit(Resource::RLIMIT_MEMLOCK),
        scratch_free_bytes: statvfs(scratch)
            .ok()
            .map(|disk| disk.blocks_available() * disk.fragment_size()),
        latency_request: OpenOptions::new().write(true).open("/dev/cpu_dma_latency").is_ok(),
        io_uring_disabled: text("/proc/sys/kernel/io_uring_disabled").trim().parse().ok(),
        congestion_controls: text("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        waited: btu_traffic::waited(),
        ipv6: Path::new("/proc/net/if_inet6").exists(),
        packet_filter: packet_filter(&text("/proc/net/ip_tables_names"), &text("/proc/modules")),
    }
}

/// Whether this process has `CAP_NET_ADMIN`.
pub(crate) fn may_administer_networks() -> bool {
    capabilities().has(Capabilities::NET_ADMIN)
}

/// A process without the right to the query finds none.
fn capabilities() -> Capabilities {
    Capabilities::effective().unwrap_or(Capabilities::NONE)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn limit(of: Resource) -> Option<u64> {
    getrlimit(of).ok().map(|(soft, _)| soft)
}

/// A table of iptables, or a module of nftables that something uses (the third column of
/// `/proc/modules`).
fn packet_filter(tables: &str, modules: &str) -> bool {
    let used = |line: &str| {
        let mut columns = line.split_whitespace();
        columns.next() == Some("nf_tables") && columns.nth(1).is_some_and(|users| users != "0")
    };
    !tables.trim().is_empty() || modules.lines().any(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_as_they_are_written() {
        assert!(packet_filter("filter\n", "") && !packet_filter("", ""));
        assert!(packet_filter("", "nf_tables 356352 7 nft_compat, Live 0x0"));
        assert!(!packet_filter("", "nf_tables 356352 0 - Live 0x0\nifb 20480 3 - Live 0x0"));
    }

    #[test]
    fn this_host_can_be_looked_at_and_written_down() {
        // `true` is not btu: its failure to raise a network is a normal fact here.
        let facts = look(Path::new("/bin/true"), Path::new("/"));
        assert!(facts.namespaces.is_err());
        let written = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&written).unwrap(), facts);
    }
}
