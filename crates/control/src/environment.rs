//! The environment of the machine: recorded before and after every session, so that a surprising
//! result can be explained.
//!
//! Everything is read from `/proc`, `/sys` and netlink without any right beyond an ordinary user's.
//! What cannot be read is absent from the record, never an error: a missing frequency governor is
//! itself worth knowing. The network part is that of the calling thread's network namespace.

mod cpu_time;
mod differences;
mod machine;
mod netlink;
mod network;
mod parse;
mod source;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use btu_contract::machine::host_digest;
use btu_contract::processors::ProcessorList;
use btu_contract::record::MachineCpu;
use serde::{Deserialize, Serialize};

pub use differences::{Change, changes, differences, settings};
pub use machine::{IdleState, Kernel, LoadAverage, Memory, Processor};
pub use network::{Interface, Network};
pub use watch::MachineWatch;

use source::FilesystemRoot;

/// A machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of this program.
    pub btu_version: String,
    /// The host's own identity as a digest ([`host_digest`]); absent from runs of older versions.
    #[serde(default)]
    pub host: Option<String>,
    /// Name and version of the distribution (`PRETTY_NAME` of os-release(5)).
    pub distribution: Option<String>,
    /// The kernel and how it was started.
    pub kernel: Kernel,
    /// The processors and how they save power.
    pub processor: Processor,
    /// The main memory and how it is used.
    pub memory: Memory,
    /// The load of the machine.
    pub load: Option<LoadAverage>,
    /// The share of all processors' time that was used during [`WATCHED`], before this program did
    /// anything, or after it had done all: 0 to 1. Unlike the load average it does not include the load of earlier minutes.
    /// Absent without that measurement, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// CPU time of all processors since the machine was started, time stolen by its hypervisor
    /// included.
    pub cpu_time: Option<MachineCpu>,
    /// The network's settings and interfaces.
    pub network: Network,
    /// What a scheduler's job gave this process, as environment variables; empty outside of a job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub job: BTreeMap<String, String>,
}

/// The environment variables that schedulers set and that say what a job has.
const JOB: [&str; 8] = [
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_PARTITION",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_TASK",
    "PBS_JOBID",
    "LSB_JOBID",
    "NODE_NAME",
];

/// Reads the state of this machine; takes a few milliseconds.
pub fn collect() -> Environment {
    let mut environment = read(&FilesystemRoot::live());
    environment.network.interfaces = netlink::interfaces().unwrap_or_default();
    let set = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    environment.job = JOB.iter().filter_map(set).collect();
    environment
}

/// The time for which a machine is observed before and after a run: ten ticks of each processor.
pub const WATCHED: Duration = Duration::from_millis(100);

/// Like `collect`, before a run begins or after it: first measures for [`WATCHED`] the load of other
/// processes.
pub fn collect_and_watch() -> Environment {
    let before = cpu_time::machine_cpu();
    std::thread::sleep(WATCHED);
    let watched = before.and_then(|before| Ok(cpu_time::delta(&before, &cpu_time::machine_cpu()?)));
    Environment { busy: watched.ok().and_then(|watched| watched.busy_share()), ..collect() }
}

/// The processors that this process may use, by the core they belong to.
pub fn cores() -> Vec<ProcessorList> {
    machine::cores(&FilesystemRoot::live())
}

/// The parts that are in files.
fn read(source: &FilesystemRoot) -> Environment {
    Environment {
        btu_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: source.text("etc/machine-id").map(|id| host_digest(&id)),
        distribution: distribution(source),
        kernel: Kernel::read(source),
        processor: Processor::read(source),
        memory: Memory::read(source),
        load: source.text("proc/loadavg").and_then(|text| parse::load_average(&text)),
        busy: None,
        cpu_time: cpu_time::read(source).ok(),
        network: Network::read(source),
        job: BTreeMap::new(),
    }
}

fn distribution(source: &FilesystemRoot) -> Option<String> {
    let text = source.text("etc/os-release").or_else(|| source.text("usr/lib/os-release"))?;
    parse::assignment(&text, "PRETTY_NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Environment {
        read(&FilesystemRoot::at(
            format!("{}/src/environment/fixtures/{name}", env!("CARGO_MANIFEST_DIR")).into(),
        ))
    }

    #[test]
    fn a_virtual_machine_is_known_as_one() {
        let found = fixture("virtual");
        assert_eq!(found.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(found.kernel.release.as_deref(), Some("6.1.0-28-cloud-amd64"));
        assert!(found.kernel.command_line.as_deref().unwrap().ends_with("mitigations=auto"));
        assert_eq!(found.kernel.clock_source.as_deref(), Some("kvm-clock"));
        assert_eq!(found.processor.model.as_deref(), Some("AMD EPYC"));
        assert!(found.processor.virtual_machine);
        assert_eq!((found.processor.online, found.processor.governors.len()), (2, 0));
        assert_eq!(found.processor.idle_governor.as_deref(), Some("haltpoll"));
        assert_eq!(found.processor.hyper_threading.as_deref(), Some("notsupported"));
        assert_eq!(found.memory.total_bytes, Some(24_684_092 * 1024));
        assert_eq!(found.memory.transparent_hugepages.as_deref(), Some("madvise"));
        assert_eq!(found.load.unwrap().runnable, 3);
        assert_eq!(found.cpu_time.unwrap().steal_ns, 380_000_000);
        assert_eq!(found.network.settings["net.ipv4.tcp_congestion_control"], "cubic");
        assert_eq!(found.network.settings["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    }

    #[test]
    fn bare_metal_tells_its_power_saving() {
        let found = fixture("metal");
        assert_eq!(
            found.processor.model.as_deref(),
            Some("Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz")
        );
        assert!(!found.processor.virtual_machine);
        assert_eq!(found.processor.governors, ["performance", "powersave"]);
        assert_eq!(found.processor.turbo.as_deref(), Some("on"));
        let deepest = found.processor.idle_states.last().unwrap();
        assert_eq!(
            (deepest.name.as_str(), deepest.exit_latency_us, deepest.disabled),
            ("C10", Some(890), false)
        );
        assert_eq!(found.kernel.mitigations["meltdown"], "Mitigation: PTI");
        assert_eq!(found.processor.quota.as_deref(), Some("150000 100000"));
    }

    #[test]
    fn a_machine_that_tells_nothing_is_no_error() {
        let empty = tempfile::tempdir().unwrap();
        let found = read(&FilesystemRoot::at(empty.path().to_owned()));
        assert_eq!((found.distribution, found.load, found.cpu_time), (None, None, None));
        assert!(found.network.settings.is_empty());
    }

    #[test]
    fn this_machine_can_be_looked_at_and_written_down() {
        let found = collect();
        assert!(found.kernel.release.is_some());
        assert!(found.processor.online > 0);
        assert!(found.network.interfaces.values().any(|interface| interface.mtu_bytes.is_some()));
        let written = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Environment>(&written).unwrap(), found);
    }
}
