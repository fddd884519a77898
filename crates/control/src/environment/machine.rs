//! Kernel, processors and memory.

use std::collections::{BTreeMap, BTreeSet};

use btu_contract::machine::host_digest;
use btu_contract::processors::ProcessorList;
use serde::{Deserialize, Serialize};

use super::parse;
use super::source::FilesystemRoot;

const CPU: &str = "sys/devices/system/cpu";
const HUGEPAGES: &str = "sys/kernel/mm/transparent_hugepage";

/// The kernel and how it was started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: Option<String>,
    /// A digest of this boot's own identity (`/proc/sys/kernel/random/boot_id`): containers and
    /// namespaces with the same one are one machine. Absent from runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// As `uname -v` prints it: build, preemption model, date.
    pub version: Option<String>,
    /// The parameters on its command line that affect measurements; others can hold secrets.
    pub command_line: Option<String>,
    /// Its clock source.
    pub clock_source: Option<String>,
    /// Its mitigation of each known weakness of the processor; some make every system call slower.
    pub mitigations: BTreeMap<String, String>,
}

/// The processors and how they save power.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Processor {
    /// The model name of the processors; absent when the kernel does not report it.
    pub model: Option<String>,
    /// How many take part.
    pub online: usize,
    /// Those that this process may use.
    pub allowed: Option<String>,
    /// Share of them that the control group may use (`cpu.max`: quota and period in microseconds).
    pub quota: Option<String>,
    /// Those that are isolated from other work.
    pub isolated: Option<String>,
    /// Whether two threads share a core (`/sys/devices/system/cpu/smt/control`).
    pub hyper_threading: Option<String>,
    /// Whether a hypervisor runs this machine.
    pub virtual_machine: bool,
    /// Vendor and product, if the firmware has them.
    pub product: Option<String>,
    /// The frequency driver.
    pub frequency_driver: Option<String>,
    /// The governors; each that is in use on some processor.
    pub governors: Vec<String>,
    /// Whether it may exceed its nominal frequency: `on` or `off`.
    pub turbo: Option<String>,
    /// The idle driver.
    pub idle_driver: Option<String>,
    /// The cpuidle governor, the rule that picks the idle state; absent when the kernel does not
    /// report it.
    pub idle_governor: Option<String>,
    /// Their sleep states, from the lightest.
    pub idle_states: Vec<IdleState>,
}

/// One sleep state of the first processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// The name of the idle state.
    pub name: String,
    /// The longest wake-up time.
    pub exit_latency_us: Option<u64>,
    /// Whether it was switched off.
    pub disabled: bool,
}

/// The main memory and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The memory that the kernel manages.
    pub total_bytes: Option<u64>,
    /// The memory that is available without swapping.
    pub available_bytes: Option<u64>,
    /// The total swap space, in bytes; absent when the kernel does not report it.
    pub swap_bytes: Option<u64>,
    /// When large pages are used: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// The kernel's effort to make them.
    pub hugepage_defragmentation: Option<String>,
}

/// How busy the machine was (`/proc/loadavg`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadAverage {
    /// Mean number of runnable and blocked threads over the last minute.
    pub one_minute: f64,
    /// Over the last five minutes.
    pub five_minutes: f64,
    /// Over the last fifteen minutes.
    pub fifteen_minutes: f64,
    /// Threads that could run at this moment.
    pub runnable: u32,
    /// The number of all threads at this moment.
    pub threads: u32,
}

impl Kernel {
    /// Whether its time is virtual: the clock of User Mode Linux with time travel.
    pub fn has_virtual_time(&self) -> bool {
        self.clock_source.as_deref() == Some("time-travel-clock")
    }

    pub(super) fn read(source: &FilesystemRoot) -> Self {
        let weaknesses = source.names(&format!("{CPU}/vulnerabilities"));
        let mitigations = weaknesses.into_iter().filter_map(|name| {
            let state = source.text(&format!("{CPU}/vulnerabilities/{name}"))?;
            Some((name, state))
        });
        Self {
            release: source.text("proc/sys/kernel/osrelease"),
            boot: source.text("proc/sys/kernel/random/boot_id").map(|id| host_digest(&id)),
            version: source.text("proc/sys/kernel/version"),
            command_line: source.text("proc/cmdline").map(|line| parse::performance_words(&line)),
            clock_source: source
                .text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            mitigations: mitigations.collect(),
        }
    }
}

impl Processor {
    pub(super) fn read(source: &FilesystemRoot) -> Self {
        let cpuinfo = source.text("proc/cpuinfo").unwrap_or_default();
        let first = |path: &str| source.text(&format!("{CPU}/cpu0/{path}"));
        Self {
            model: parse::processor_model(&cpuinfo),
            online: online(&source.text("proc/stat").unwrap_or_default()),
            allowed: allowed(source),
            quota: quota(source),
            isolated: source.text(&format!("{CPU}/isolated")),
            hyper_threading: source.text(&format!("{CPU}/smt/control")),
            virtual_machine: parse::has_hypervisor_flag(&cpuinfo)
                || source.text("sys/hypervisor/type").is_some(),
            product: product(source),
            frequency_driver: first("cpufreq/scaling_driver"),
            governors: governors(source),
            turbo: turbo(source),
            idle_driver: source.text(&format!("{CPU}/cpuidle/current_driver")),
            idle_governor: source.text(&format!("{CPU}/cpuidle/current_governor")),
            idle_states: idle_states(source),
        }
    }
}

impl Memory {
    pub(super) fn read(source: &FilesystemRoot) -> Self {
        let meminfo = source.text("proc/meminfo").unwrap_or_default();
        let choice =
            |name| source.text(&format!("{HUGEPAGES}/{name}")).as_deref().map(parse::chosen);
        Self {
            total_bytes: parse::memory_bytes(&meminfo, "MemTotal"),
            available_bytes: parse::memory_bytes(&meminfo, "MemAvailable"),
            swap_bytes: parse::memory_bytes(&meminfo, "SwapTotal"),
            transparent_hugepages: choice("enabled"),
            hugepage_defragmentation: choice("defrag"),
        }
    }
}

/// `/proc/stat` has a line `cpuN` for each processor that takes part.
fn online(stat: &str) -> usize {
    let is_processor = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(char::is_numeric))
    };
    stat.lines().filter(is_processor).count()
}

fn allowed(source: &FilesystemRoot) -> Option<String> {
    parse::field(&source.text("proc/self/status")?, "Cpus_allowed_list").map(str::to_owned)
}

/// The processors that this process may use, by the core they belong to (`topology/core_cpus_list`,
/// which older kernels call `thread_siblings_list`). A processor without a reported core counts as
/// a core of its own.
pub(super) fn cores(source: &FilesystemRoot) -> Vec<ProcessorList> {
    let Some(allowed) = allowed(source).and_then(|list| list.parse::<ProcessorList>().ok()) else {
        return Vec::new();
    };
    let core = |processor: &u32| {
        let told = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| source.text(&format!("{CPU}/cpu{processor}/topology/{name}")));
        let threads =
            told.and_then(|list| list.parse::<ProcessorList>().ok()?.within(allowed.numbers()));
        threads.or_else(|| ProcessorList::of([*processor]))
    };
    let cores: BTreeSet<ProcessorList> = allowed.numbers().iter().filter_map(core).collect();
    cores.into_iter().collect()
}

/// The limit of this process's own control group (version 2); one further up is not looked for.
fn quota(source: &FilesystemRoot) -> Option<String> {
    let groups = source.text("proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    source.text(&format!("sys/fs/cgroup/{own}/cpu.max"))
}

fn product(source: &FilesystemRoot) -> Option<String> {
    let parts =
        ["sys_vendor", "product_name"].map(|name| source.text(&format!("sys/class/dmi/id/{name}")));
    let known: Vec<_> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(" "))
}

fn governors(source: &FilesystemRoot) -> Vec<String> {
    let processors = source.numbered(CPU, "cpu");
    let rules: BTreeSet<_> = processors
        .iter()
        .filter_map(|cpu| source.text(&format!("{CPU}/{cpu}/cpufreq/scaling_governor")))
        .collect();
    rules.into_iter().collect()
}

/// Intel's own driver has the inverse setting.
fn turbo(source: &FilesystemRoot) -> Option<String> {
    let off = source.number(&format!("{CPU}/intel_pstate/no_turbo")).map(|no_turbo| no_turbo != 0);
    let off =
        off.or_else(|| source.number(&format!("{CPU}/cpufreq/boost")).map(|boost| boost == 0))?;
    Some(if off { "off" } else { "on" }.to_owned())
}

fn idle_states(source: &FilesystemRoot) -> Vec<IdleState> {
    let directory = format!("{CPU}/cpu0/cpuidle");
    let state = |name: String| {
        Some(IdleState {
            exit_latency_us: source.number(&format!("{directory}/{name}/latency")),
            disabled: source
                .number(&format!("{directory}/{name}/disable"))
                .is_some_and(|value| value != 0),
            name: source.text(&format!("{directory}/{name}/name"))?,
        })
    };
    source.numbered(&directory, "state").into_iter().filter_map(state).collect()
}
