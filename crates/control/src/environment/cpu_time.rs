//! CPU time of the whole machine, from the first line of `/proc/stat` (proc(5)).

use std::io;

use btu_contract::record::MachineCpu;
use nix::unistd::{SysconfVar, sysconf};

use super::source::FilesystemRoot;

/// `USER_HZ` of every architecture but two, if the system does not report it.
const USUAL_TICKS_PER_SECOND: u64 = 100;

/// CPU time since the machine was started, all processors together, in steps of one tick (usually
/// 10 ms) each.
///
/// # Errors
/// `/proc/stat` cannot be read, or does not begin as the kernel's does.
pub(super) fn machine_cpu() -> io::Result<MachineCpu> {
    read(&FilesystemRoot::live())
}

/// CPU time between two readings. The kernel lets the waiting time go back now and then; that
/// counts as none.
pub(super) fn delta(before: &MachineCpu, after: &MachineCpu) -> MachineCpu {
    MachineCpu {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        irq_ns: after.irq_ns.saturating_sub(before.irq_ns),
        softirq_ns: after.softirq_ns.saturating_sub(before.softirq_ns),
        steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
        idle_ns: after.idle_ns.saturating_sub(before.idle_ns),
        ..MachineCpu::default()
    }
}

pub(super) fn read(source: &FilesystemRoot) -> io::Result<MachineCpu> {
    let strange = || {
        io::Error::new(io::ErrorKind::InvalidData, "/proc/stat does not begin with a line `cpu`")
    };
    source.text("proc/stat").and_then(|text| parse(&text, ticks_per_second())).ok_or_else(strange)
}

fn ticks_per_second() -> u64 {
    let told = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    told.and_then(|ticks| u64::try_from(ticks).ok())
        .filter(|ticks| *ticks > 0)
        .unwrap_or(USUAL_TICKS_PER_SECOND)
}

/// The columns: user, nice, system, idle, iowait, irq, softirq, steal; later ones (guest) are part
/// of user and nice. Kernels before 2.6.11 have fewer; what they lack counts as zero.
fn parse(stat: &str, ticks_per_second: u64) -> Option<MachineCpu> {
    let mut words = stat.lines().next()?.split_whitespace();
    if words.next() != Some("cpu") {
        return None;
    }
    let ticks: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, idle, ..] = ticks[..] else { return None };
    let later = |column: usize| ticks.get(column).copied().unwrap_or(0);
    let nanoseconds = |ticks: u64| {
        let exact = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
        u64::try_from(exact).unwrap_or(u64::MAX)
    };
    Some(MachineCpu {
        user_ns: nanoseconds(user.saturating_add(nice)),
        system_ns: nanoseconds(system),
        irq_ns: nanoseconds(later(5)),
        softirq_ns: nanoseconds(later(6)),
        steal_ns: nanoseconds(later(7)),
        idle_ns: nanoseconds(idle.saturating_add(later(4))),
        ..MachineCpu::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_line_is_the_whole_machine() {
        let text = "cpu  85922 8 15113 371912 2356 7 432 38 0 0\ncpu0 41222 0 6902 188739 847 0 25 17 0 0\n";
        let tick = 10_000_000;
        let expected = MachineCpu {
            user_ns: 85_930 * tick,
            system_ns: 15_113 * tick,
            irq_ns: 7 * tick,
            softirq_ns: 432 * tick,
            steal_ns: 38 * tick,
            idle_ns: 374_268 * tick,
            ..MachineCpu::default()
        };
        assert_eq!(parse(text, 100), Some(expected));
    }

    #[test]
    fn an_old_kernel_knows_no_steal() {
        let found = parse("cpu  1 2 3 4\ncpu0 1 2 3 4\n", 1000).unwrap();
        assert_eq!((found.user_ns, found.idle_ns, found.steal_ns), (3_000_000, 4_000_000, 0));
    }

    #[test]
    fn what_is_no_cpu_line_is_refused() {
        for text in ["", "cpu0 1 2 3 4", "cpu 1 2 3", "cpu 1 2 x 4", "intr 1 2 3 4", "cpu -1 2 3 4"]
        {
            assert_eq!(parse(text, 100), None, "{text}");
        }
    }

    #[test]
    fn this_machines_clock_goes_on() {
        let before = machine_cpu().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let spent = delta(&before, &machine_cpu().unwrap());
        assert!(spent.user_ns + spent.system_ns + spent.idle_ns + spent.steal_ns > 0, "{spent:?}");
    }

    #[test]
    fn time_that_goes_back_counts_as_none() {
        let (less, more) = (parse("cpu 1 0 1 5", 100).unwrap(), parse("cpu 2 0 1 4", 100).unwrap());
        let spent = delta(&less, &more);
        assert_eq!((spent.user_ns, spent.idle_ns), (10_000_000, 0));
    }

    proptest! {
        #[test]
        fn strange_content_never_panics(text in "(cpu |[0-9]{1,25}| |\n|\\PC){0,60}", hz in any::<u64>()) {
            parse(&text, hz);
        }

        #[test]
        fn nothing_is_lost_between_columns(ticks in prop::collection::vec(0u64..1_000_000_000, 8)) {
            let words: Vec<_> = ticks.iter().map(ToString::to_string).collect();
            let found = parse(&format!("cpu  {} 0 0\n", words.join(" ")), 100).unwrap();
            let sum = found.user_ns + found.system_ns + found.irq_ns + found.softirq_ns + found.steal_ns + found.idle_ns;
            prop_assert_eq!(sum, ticks.iter().sum::<u64>() * 10_000_000);
        }
    }
}
