//! The network's settings and interfaces.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::parse;
use super::source::FilesystemRoot;

/// The network's settings and interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Network {
    /// Kernel settings by their sysctl(8) name.
    pub settings: BTreeMap<String, String>,
    /// The network interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// A network interface and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interface {
    /// The MTU, the size of the largest IP packet, in bytes; absent when the kernel does not report
    /// it.
    pub mtu_bytes: Option<u32>,
    /// The name of the queueing discipline, such as `noqueue`; absent when the kernel does not
    /// report it.
    pub queueing: Option<String>,
    /// Its kind, when it is not hardware: `veth`, `bridge`, `tun`.
    pub kind: Option<String>,
    /// Offloads and other features that are on, by the kernel's names (`tx-tcp-segmentation`,
    /// `rx-gro`).
    pub features: BTreeSet<String>,
}

impl Network {
    /// Settings that affect the goodput of a connection or the cost of a packet
    /// (Documentation/networking/ip-sysctl.rst and Documentation/admin-guide/sysctl/net.rst of the
    /// kernel; the disk activity's are in its vm.rst).
    pub const SETTINGS: [&str; 38] = [
        "kernel.numa_balancing",
        "kernel.sched_autogroup_enabled",
        "kernel.timer_migration",
        "net.bridge.bridge-nf-call-iptables",
        "net.core.busy_poll",
        "net.core.busy_read",
        "net.core.default_qdisc",
        "net.core.netdev_budget",
        "net.core.netdev_budget_usecs",
        "net.core.netdev_max_backlog",
        "net.core.rmem_default",
        "net.core.rmem_max",
        "net.core.rps_sock_flow_entries",
        "net.core.wmem_default",
        "net.core.wmem_max",
        "net.ipv4.tcp_autocorking",
        "net.ipv4.tcp_congestion_control",
        "net.ipv4.tcp_ecn",
        "net.ipv4.tcp_fastopen",
        "net.ipv4.tcp_limit_output_bytes",
        "net.ipv4.tcp_mem",
        "net.ipv4.tcp_min_tso_segs",
        "net.ipv4.tcp_moderate_rcvbuf",
        "net.ipv4.tcp_mtu_probing",
        "net.ipv4.tcp_no_metrics_save",
        "net.ipv4.tcp_notsent_lowat",
        "net.ipv4.tcp_recovery",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_sack",
        "net.ipv4.tcp_slow_start_after_idle",
        "net.ipv4.tcp_timestamps",
        "net.ipv4.tcp_tso_win_divisor",
        "net.ipv4.tcp_window_scaling",
        "net.ipv4.tcp_wmem",
        "net.ipv4.udp_mem",
        "vm.dirty_background_ratio",
        "vm.dirty_ratio",
        "vm.swappiness",
    ];

    /// The settings; interfaces are read over netlink.
    pub(super) fn read(source: &FilesystemRoot) -> Self {
        let settings = Self::SETTINGS.into_iter().filter_map(|name| {
            let text = source.text(&format!("proc/sys/{}", name.replace('.', "/")))?;
            Some((name.to_owned(), parse::single_spaced(&text)))
        });
        Self { settings: settings.collect(), interfaces: BTreeMap::new() }
    }
}
