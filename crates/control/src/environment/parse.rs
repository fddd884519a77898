//! The formats of small kernel files. Pure; invalid content gives `None`.

use super::machine::LoadAverage;

/// A variable of a file of shell assignments such as os-release(5), without its quotes.
pub(super) fn assignment(text: &str, name: &str) -> Option<String> {
    let value =
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?.trim();
    let bare = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    Some(bare('"').or_else(|| bare('\'')).unwrap_or(value).to_owned())
}

/// The first value of `name` in a file of `name : value` lines such as `/proc/cpuinfo` or
/// `/proc/self/status`.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// A value of `/proc/meminfo`, which counts in units of 1024 bytes and calls them kB.
pub(super) fn memory_bytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The choice in brackets, as in `always [madvise] never`; the whole text where nothing is in
/// brackets.
pub(super) fn chosen(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(choice, _)| choice).trim().to_owned()
}

/// Blanks of any kind made one space each: sysctls use tabs.
pub(super) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `/proc/loadavg`: three means, runnable/all threads, last process id (proc(5)).
pub(super) fn load_average(text: &str) -> Option<LoadAverage> {
    let mut words = text.split_whitespace();
    let mut mean = || words.next()?.parse::<f64>().ok().filter(|mean| mean.is_finite());
    let (one_minute, five_minutes, fifteen_minutes) = (mean()?, mean()?, mean()?);
    let (runnable, threads) = words.next()?.split_once('/')?;
    Some(LoadAverage {
        one_minute,
        five_minutes,
        fifteen_minutes,
        runnable: runnable.parse().ok()?,
        threads: threads.parse().ok()?,
    })
}

/// The processor's name in `/proc/cpuinfo`, which has other keys on each architecture.
pub(super) fn processor_model(text: &str) -> Option<String> {
    // x86 and loongarch, arm boards, old arm, mips, power, riscv
    let plain = ["model name", "Model Name", "Model", "Processor", "cpu model", "cpu", "uarch"];
    let named = plain.into_iter().find_map(|name| field(text, name)).map(str::to_owned);
    named.or_else(|| {
        let (implementer, part) = (field(text, "CPU implementer")?, field(text, "CPU part")?);
        Some(format!("ARM implementer {implementer}, part {part}"))
    })
}

/// Whether the processor reports that it is a guest's (the `hypervisor` bit, x86 CPUID leaf 1).
pub(super) fn has_hypervisor_flag(text: &str) -> bool {
    field(text, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The parameters of the kernel's command line that affect measurements
/// (Documentation/admin-guide/kernel-parameters). The whole line may hold an installer's password,
/// a disk's key or an address of the owner, and users share the record.
const PERFORMANCE: [&str; 70] = [
    "amd_iommu",
    "amd_pstate",
    "audit",
    "btu.kernel",
    "cgroup_disable",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.governor",
    "cpuidle.off",
    "default_hugepagesz",
    "gather_data_sampling",
    "highres",
    "hugepages",
    "hugepagesz",
    "idle",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "ipv6.disable",
    "irqaffinity",
    "isolcpus",
    "kpti",
    "kvm.nx_huge_pages",
    "l1tf",
    "maxcpus",
    "mce",
    "mds",
    "mem",
    "mitigations",
    "mmio_stale_data",
    "nmi_watchdog",
    "no_timer_check",
    "nohz",
    "nohz_full",
    "nopti",
    "nosmt",
    "nosoftlockup",
    "nospectre_v1",
    "nospectre_v2",
    "notsc",
    "nowatchdog",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "page_poison",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "pti",
    "random_seed",
    "randomize_kstack_offset",
    "rcu_nocbs",
    "retbleed",
    "skew_tick",
    "slub_debug",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_v2",
    "spectre_v2_user",
    "srbds",
    "threadirqs",
    "time_travel",
    "transparent_hugepage",
    "tsc",
    "tsx",
];

/// Longer values are none of these parameters'.
const LONGEST_VALUE: usize = 100;

/// The parameters of a kernel's command line that affect measurements, in their order.
pub(super) fn performance_words(line: &str) -> String {
    let is_known = |word: &&str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        // The kernel treats `-` as `_`.
        value.len() <= LONGEST_VALUE && PERFORMANCE.contains(&name.replace('-', "_").as_str())
    };
    line.split_ascii_whitespace().filter(is_known).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_taken_off() {
        let text = "NAME=Alpine\nPRETTY_NAME='Alpine Linux v3.20'\nID=\"alpine\"\n";
        assert_eq!(assignment(text, "PRETTY_NAME").unwrap(), "Alpine Linux v3.20");
        assert_eq!(assignment(text, "NAME").unwrap(), "Alpine");
        assert_eq!(assignment(text, "ID").unwrap(), "alpine");
        assert_eq!(assignment(text, "VERSION"), None);
    }

    #[test]
    fn the_choice_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
        assert_eq!(chosen("] odd ["), "] odd [");
    }

    #[test]
    fn arm_processors_are_named_by_their_numbers() {
        let text = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(processor_model(text).unwrap(), "ARM implementer 0x41, part 0xd0c");
        assert!(!has_hypervisor_flag(text));
    }

    #[test]
    fn memory_counts_in_units_of_1024() {
        assert_eq!(memory_bytes("MemTotal:       24684092 kB\n", "MemTotal"), Some(25_276_510_208));
        assert_eq!(memory_bytes("MemTotal:       99999999999999999 kB\n", "MemTotal"), None);
        assert_eq!(memory_bytes("HugePages_Total:       3\n", "HugePages_Total"), None);
    }

    proptest! {
        #[test]
        fn strange_content_never_panics(text in "(\\PC|\n|\t|:|=|\\[|\\]|/){0,200}", name in "\\PC{0,8}") {
            assignment(&text, &name);
            field(&text, &name);
            memory_bytes(&text, &name);
            load_average(&text);
            processor_model(&text);
            has_hypervisor_flag(&text);
            prop_assert!(chosen(&text).len() <= text.len());
            prop_assert!(single_spaced(&text).len() <= text.len());
        }

        #[test]
        fn a_load_average_is_read_back(one in 0u32..100_000, five in 0u32..100_000, runnable in 0u32..9999, threads in 0u32..99_999) {
            let (one, five) = (f64::from(one) / 100.0, f64::from(five) / 100.0);
            let read = load_average(&format!("{one:.2} {five:.2} 0.00 {runnable}/{threads} 4777\n")).unwrap();
            prop_assert_eq!((read.one_minute, read.five_minutes), (one, five));
            prop_assert_eq!((read.runnable, read.threads), (runnable, threads));
        }
    }

    #[test]
    fn nothing_private_is_kept_of_the_kernel_s_command_line() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=5f0a rd.luks.key=/secret ds=nocloud;s=http://user:pass@seed/ isolcpus=2,3 quiet \
                    nosmt mitigations=off password=mem=1 ip=192.0.2.1 intel_idle.max-cstate=1 init=/bin/sh";
        assert_eq!(
            performance_words(line),
            "isolcpus=2,3 nosmt mitigations=off intel_idle.max-cstate=1"
        );
        assert!(PERFORMANCE.is_sorted());
        let long = format!("mem={}", "9".repeat(200));
        assert_eq!(performance_words(&long), "");
    }
}
