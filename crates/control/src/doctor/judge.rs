//! Derives findings from the facts.

use btu_contract::doctor::{Finding, Health};
use btu_testbed::privilege::Capabilities;
use btu_units::{Bytes, Span};

use super::Facts;

/// Files that a run with pairs of processes and an agent with its clients have open at once.
const OPEN_FILES: u64 = 1024;
/// Pages that zero-copy sending and `io_uring` pin.
const LOCKED_BYTES: u64 = 8 << 20;
/// The default disk activity with its copy, and room for a fetched file.
const SCRATCH_BYTES: u64 = 2 << 30;
/// A wake-up that takes this time shows in a round trip over a fast local network.
const DEEP_SLEEP_US: u64 = 50;
/// Share of CPU time that a hypervisor gave to others since the start; more shows in the tails.
const STEAL: f64 = 0.001;

/// All findings, the essential ones first.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    let processor = &facts.environment.processor;
    vec![
        namespaces(facts),
        scratch(facts),
        open_files(facts),
        netem(facts),
        congestion_control(facts),
        capabilities(facts),
        locked_memory(facts),
        io_uring(facts),
        governor(&processor.governors),
        sleep(facts),
        virtual_machine(facts),
        quota(processor.quota.as_deref()),
        waits(facts.waited),
        clock(facts.environment.kernel.clock_source.as_deref()),
        busy_poll(facts),
        offloads(facts),
        ipv6(facts),
        packet_filter(facts),
    ]
}

fn ok(topic: &str, observed: impl Into<String>) -> Finding {
    let (impact, fix) = (String::new(), None);
    Finding {
        topic: topic.to_owned(),
        health: Health::Ok,
        essential: false,
        observed: observed.into(),
        impact,
        fix,
    }
}

fn limited(topic: &str, observed: impl Into<String>, impact: &str, fix: Option<&str>) -> Finding {
    Finding {
        health: Health::Limited,
        impact: impact.to_owned(),
        fix: fix.map(str::to_owned),
        ..ok(topic, observed)
    }
}

fn missing(topic: &str, observed: impl Into<String>, impact: &str, fix: Option<&str>) -> Finding {
    Finding { health: Health::Missing, ..limited(topic, observed, impact, fix) }
}

/// What is advised where a service may not have what a user of the host may have.
const OF_A_SERVICE: &str =
    "nothing, as long as this service is to stay within the limits of its unit, which forbid it";

fn namespaces(facts: &Facts) -> Finding {
    const TOPIC: &str = "namespaces";
    match &facts.namespaces {
        Ok(right) => ok(TOPIC, format!("networks can be started, as {right}")),
        Err(why) => missing(
            TOPIC,
            why,
            "`btu rate`, `btu net` and `btu pipe` start networks of namespaces on this machine; an agent for other \
             machines needs none",
            // If the kernel has reported the restriction, the advice names it, and no other
            // setting.
            Some(if facts.no_new_privileges {
                OF_A_SERVICE
            } else if why.contains("sysctl") {
                "what is said above, or run btu as root"
            } else {
                "run btu as root; or, which lets every program of every user make namespaces, sysctl -w \
                 kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
            }),
        ),
    }
}

/// The congestion control affects results more than most settings: a result is comparable only with
/// those of one algorithm.
fn congestion_control(facts: &Facts) -> Finding {
    const TOPIC: &str = "congestion control";
    let settings = &facts.environment.network.settings;
    let Some(own) = settings.get("net.ipv4.tcp_congestion_control") else {
        return limited(
            TOPIC,
            "not reported by the kernel",
            "results of different algorithms cannot be compared",
            None,
        );
    };
    let allowed = facts.congestion_controls.join(", ");
    let stations = if allowed.is_empty() {
        String::new()
    } else {
        format!(
            "stations may use {allowed} (-C NAME; root allows more: sysctl net.ipv4.tcp_allowed_congestion_control); "
        )
    };
    ok(TOPIC, format!("TCP uses {own}; {stations}every result says which it was"))
}

fn scratch(facts: &Facts) -> Finding {
    const TOPIC: &str = "disk";
    match facts.scratch_free_bytes {
        Some(free) if free >= SCRATCH_BYTES => {
            ok(TOPIC, format!("{} free for scratch files", size(free)))
        }
        Some(free) => limited(
            TOPIC,
            format!("{} free for scratch files", size(free)),
            "the disk and file-transfer activities write up to 2 GiB",
            Some("btu rate --scratch DIR"),
        ),
        None => missing(
            TOPIC,
            "the scratch directory cannot be examined",
            "host activities write there",
            None,
        ),
    }
}

fn open_files(facts: &Facts) -> Finding {
    const TOPIC: &str = "open files";
    match facts.open_files {
        Some(limit) if limit >= OPEN_FILES => ok(TOPIC, format!("{limit} for a process")),
        Some(limit) => {
            let finding = missing(
                TOPIC,
                format!("{limit} for a process"),
                "agents, workers and the database need several hundred",
                Some("ulimit -n 4096"),
            );
            Finding { essential: limit < 64, ..finding }
        }
        None => limited(
            TOPIC,
            "the limit cannot be read",
            "agents and workers need several hundred",
            None,
        ),
    }
}

fn netem(facts: &Facts) -> Finding {
    const TOPIC: &str = "kernel netem";
    match &facts.netem {
        Ok(()) => ok(TOPIC, "delays and drops what comes in"),
        Err(why) => missing(
            TOPIC,
            why,
            "as a peer on real machines this host cannot emulate delay or loss; networks on one machine use btu's own link \
             emulator",
            Some(if facts.no_new_privileges {
                OF_A_SERVICE
            } else {
                "modprobe -a sch_netem sch_ingress ifb cls_matchall act_mirred"
            }),
        ),
    }
}

fn capabilities(facts: &Facts) -> Finding {
    const TOPIC: &str = "capabilities";
    if facts.capabilities.has(Capabilities::NET_ADMIN) {
        return ok(TOPIC, "CAP_NET_ADMIN");
    }
    limited(
        TOPIC,
        "no CAP_NET_ADMIN",
        "an agent on this host cannot delay or drop incoming packets (netem); `btu rate`, `btu net` and `btu pipe` do not \
         need it, and the superuser's agent has it. Every user who may start a program with this capability can change every \
         interface, so give it to a group: btu drops it if all users may start it",
        Some(
            "b=$(command -v btu); groupadd -f btu && chgrp btu $b && chmod 0750 $b && setcap cap_net_admin+ep $b",
        ),
    )
}

fn locked_memory(facts: &Facts) -> Finding {
    const TOPIC: &str = "locked memory";
    match facts.locked_bytes {
        Some(u64::MAX) => ok(TOPIC, "without limit"),
        Some(limit) if limit >= LOCKED_BYTES => ok(TOPIC, size(limit)),
        Some(limit) => limited(
            TOPIC,
            size(limit),
            "zero-copy sending and io_uring pin pages",
            Some("ulimit -l 65536"),
        ),
        None => limited(
            TOPIC,
            "the limit cannot be read",
            "zero-copy sending and io_uring pin pages",
            None,
        ),
    }
}

fn io_uring(facts: &Facts) -> Finding {
    const TOPIC: &str = "io_uring";
    match facts.io_uring_disabled {
        None | Some(0) => ok(TOPIC, "not forbidden by the kernel"),
        Some(state) => limited(
            TOPIC,
            if state == 1 {
                "for privileged users and a group only"
            } else {
                "forbidden for all users"
            },
            "`btu pipe --engine io_uring` is not available; io_uring has had security holes, so allow it to a group only",
            Some(
                "groupadd -f btu; sysctl -w kernel.io_uring_group=$(getent group btu | cut -d: -f3) kernel.io_uring_disabled=1",
            ),
        ),
    }
}

fn governor(governors: &[String]) -> Finding {
    const TOPIC: &str = "frequency";
    let observed = governors.join(", ");
    if governors.is_empty() {
        return ok(TOPIC, "not set by this kernel");
    }
    if governors.iter().all(|governor| governor == "performance") {
        return ok(TOPIC, format!("governor {observed}"));
    }
    let impact = "processors start slowly and speed up under load: short activities are measured at a different frequency";
    limited(
        TOPIC,
        format!("governor {observed}"),
        impact,
        Some("cpupower frequency-set -g performance"),
    )
}

fn sleep(facts: &Facts) -> Finding {
    const TOPIC: &str = "idle states";
    let states = &facts.environment.processor.idle_states;
    let enabled = states.iter().filter(|state| !state.disabled);
    let deepest = enabled.max_by_key(|state| state.exit_latency_us);
    let Some((state, wakes)) = deepest.and_then(|state| Some((state, state.exit_latency_us?)))
    else {
        return ok(TOPIC, "none reported by this kernel");
    };
    let observed = format!("{} takes up to {wakes} us to wake from", state.name);
    match (wakes > DEEP_SLEEP_US, facts.latency_request) {
        (false, _) => ok(TOPIC, observed),
        (true, true) => ok(TOPIC, format!("{observed}; btu can forbid it during a run")),
        (true, false) => limited(
            TOPIC,
            format!("{observed}, and /dev/cpu_dma_latency is not this user's to write"),
            "round trips include the wake-up time; anyone who may write it can keep all processors awake, so give it to a group",
            Some(
                "groupadd -f btu; chgrp btu /dev/cpu_dma_latency && chmod 0660 /dev/cpu_dma_latency",
            ),
        ),
    }
}

fn virtual_machine(facts: &Facts) -> Finding {
    const TOPIC: &str = "hypervisor";
    let (processor, cpu) = (&facts.environment.processor, facts.environment.cpu_time);
    if !processor.virtual_machine {
        return ok(TOPIC, "none: this is the machine itself");
    }
    let stolen = cpu.map(|cpu| {
        let busy =
            [cpu.user_ns, cpu.system_ns, cpu.irq_ns, cpu.softirq_ns, cpu.steal_ns, cpu.idle_ns];
        cpu.steal_ns as f64 / busy.into_iter().map(|part| part as f64).sum::<f64>().max(1.0)
    });
    match stolen {
        Some(stolen) if stolen > STEAL => limited(
            TOPIC,
            format!(
                "a virtual machine; {:.2} % of its CPU time went to others since it was started",
                stolen * 100.0
            ),
            "other machines on the same host affect every number, most of all the tails",
            None,
        ),
        _ => ok(TOPIC, "a virtual machine, with hardly any CPU time stolen"),
    }
}

fn quota(quota: Option<&str>) -> Finding {
    const TOPIC: &str = "CPU quota";
    match quota {
        Some(quota) if !quota.starts_with("max") => limited(
            TOPIC,
            format!("cpu.max is {quota}"),
            "the control group stops all processes for the rest of a period once its share is used",
            Some("run btu outside of the container, or without --cpus"),
        ),
        _ => ok(TOPIC, "none"),
    }
}

/// What `btu speed` and `btu rate` divide time by, beyond what every Linux kernel counts.
fn waits(waited: Option<Span>) -> Finding {
    const TOPIC: &str = "causes";
    if waited.is_some() {
        return ok(TOPIC, "the kernel counts how long a thread waits for a processor");
    }
    limited(
        TOPIC,
        "/proc/thread-self/schedstat cannot be read",
        "where btu says where the time went, waiting for a processor is counted as blocked",
        Some("a kernel with CONFIG_SCHED_INFO, which distributions set"),
    )
}

fn clock(source: Option<&str>) -> Finding {
    const TOPIC: &str = "clock";
    match source {
        Some(source @ ("hpet" | "acpi_pm" | "jiffies" | "refined-jiffies")) => limited(
            TOPIC,
            source,
            "reading it takes about a microsecond or a system call, twice for each timed message",
            Some("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        Some(source) => ok(TOPIC, source),
        None => ok(TOPIC, "not reported by this kernel"),
    }
}

fn busy_poll(facts: &Facts) -> Finding {
    const TOPIC: &str = "busy polling";
    match facts.environment.network.settings.get("net.core.busy_poll").map(String::as_str) {
        None => limited(TOPIC, "not in this kernel", "`btu pipe` cannot measure it", None),
        Some("0") => ok(
            TOPIC,
            "off unless a socket asks for it, which takes CAP_NET_ADMIN above net.core.busy_read",
        ),
        Some(time) => limited(
            TOPIC,
            format!("on for all sockets: {time} us"),
            "waiting burns CPU time that is then counted as the activity's",
            Some("sysctl -w net.core.busy_poll=0"),
        ),
    }
}

/// Hardware only: veth pairs and bridges have what their kernel gives them.
fn offloads(facts: &Facts) -> Finding {
    const TOPIC: &str = "offloads";
    const WANTED: [&str; 2] = ["tx-tcp-segmentation", "rx-gro"];
    let hardware = facts.environment.network.interfaces.iter();
    let hardware =
        hardware.filter(|(name, interface)| interface.kind.is_none() && name.as_str() != "lo");
    let lacking: Vec<String> = hardware
        .clone()
        .filter_map(|(name, interface)| {
            let lacks: Vec<_> =
                WANTED.into_iter().filter(|wanted| !interface.features.contains(*wanted)).collect();
            (!lacks.is_empty()).then(|| format!("{name} without {}", lacks.join(", ")))
        })
        .collect();
    if lacking.is_empty() {
        let names: Vec<&str> = hardware.map(|(name, _)| name.as_str()).collect();
        return ok(
            TOPIC,
            if names.is_empty() {
                "no hardware interface".to_owned()
            } else {
                format!("on: {}", names.join(", "))
            },
        );
    }
    let impact = "the processor does work for each packet that hardware does for many at once";
    limited(TOPIC, lacking.join("; "), impact, Some("ethtool -K INTERFACE tso on gro on"))
}

fn ipv6(facts: &Facts) -> Finding {
    const TOPIC: &str = "IPv6";
    if facts.ipv6 {
        return ok(TOPIC, "in this kernel");
    }
    let fix = "modprobe ipv6, or start the kernel without ipv6.disable=1";
    limited(TOPIC, "not in this kernel", "IPv6 paths cannot be measured", Some(fix))
}

fn packet_filter(facts: &Facts) -> Finding {
    const TOPIC: &str = "packet filter";
    if !facts.packet_filter {
        return ok(TOPIC, "none that this user can see");
    }
    limited(
        TOPIC,
        "packets pass rules of iptables or nftables",
        "each rule costs time per packet; an agent's port (7417) and the ports of its activities (any free one) must be allowed",
        Some("nft add rule inet filter input ip saddr CONTROLLER accept"),
    )
}

fn size(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}

#[cfg(test)]
mod tests;
