//! The processor time of other programs, from `/proc` (proc(5)). All times are ticks of one kind,
//! so that only their ratios count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

/// The flag `PF_KTHREAD` of a kernel thread (include/linux/sched.h): it works for all programs.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The processor times at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) at: Instant,
    /// Of each process that is not the test's: its name and its time, with that of its ended children.
    others: BTreeMap<u32, (String, u64)>,
    /// The time that the hypervisor took.
    stolen: u64,
    /// The time of all processors, busy and idle.
    all: u64,
}

/// What other programs used between two readings.
#[derive(Debug)]
pub(crate) struct Others {
    /// The share of the time of all processors: 0 to 1.
    pub(crate) share: f64,
    /// The name of the program that used most of it.
    pub(crate) busiest: Option<String>,
}

impl Reading {
    /// What cannot be read counts as idle: a number is then judged.
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let columns: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .map_while(|column| column.parse().ok())
            .collect();
        // The columns after these eight are part of the first two.
        let all = columns.iter().take(8).sum();
        let stolen = columns.get(7).copied().unwrap_or(0);
        Self::of(Instant::now(), others(&processes()), stolen, all)
    }

    pub(crate) fn of(
        at: Instant,
        others: impl IntoIterator<Item = (u32, String, u64)>,
        stolen: u64,
        all: u64,
    ) -> Self {
        let others = others.into_iter().map(|(id, name, ticks)| (id, (name, ticks))).collect();
        Self { at, others, stolen, all }
    }

    /// A process that has ended counts with its parent, whose time contains that of its children.
    pub(crate) fn others_since(&self, before: &Self) -> Others {
        let total = |reading: &Self| reading.others.values().map(|(_, ticks)| *ticks).sum::<u64>();
        let used = |(id, (name, ticks)): (&u32, &(String, u64))| {
            let earlier = before.others.get(id).map_or(0, |(_, earlier)| *earlier);
            (ticks.saturating_sub(earlier), name.clone())
        };
        let busiest = self.others.iter().map(used).max().filter(|(ticks, _)| *ticks > 0);
        Others {
            share: self.share(before, total(self).saturating_sub(total(before))),
            busiest: busiest.map(|(_, name)| name),
        }
    }

    pub(crate) fn stolen_since(&self, before: &Self) -> f64 {
        self.share(before, self.stolen.saturating_sub(before.stolen))
    }

    fn share(&self, before: &Self, ticks: u64) -> f64 {
        ticks as f64 / self.all.saturating_sub(before.all).max(1) as f64
    }
}

/// A line of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    name: String,
    parent: u32,
    is_of_kernel: bool,
    /// Its time, and that of its children that have ended.
    ticks: u64,
}

impl Process {
    /// The name is in parentheses and may contain any character.
    fn parse(line: &str) -> Option<Self> {
        let (id, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
        // Counted from the state, which is field 3 of proc(5).
        let ticks = (11..=14).map(number).sum::<Option<u64>>()?;
        Some(Self {
            id: id.parse().ok()?,
            name: name.to_owned(),
            parent: u32::try_from(number(1)?).ok()?,
            is_of_kernel: number(6)? & KERNEL_THREAD != 0,
            ticks,
        })
    }
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| Process::parse(&fs::read_to_string(entry.path().join("stat")).ok()?))
        .collect()
}

/// The processes that are not the test's: neither its own, nor those above it, which wait for it,
/// nor those below it, nor any other `btu`, such as the holder of a network, which has left its
/// parent.
fn others(all: &[Process]) -> Vec<(u32, String, u64)> {
    let parents: BTreeMap<u32, u32> = all.iter().map(|one| (one.id, one.parent)).collect();
    let above = |id: u32| std::iter::successors(Some(id), |id| parents.get(id).copied());
    let own = std::process::id();
    let ancestors: BTreeSet<u32> = above(own).collect();
    let is_ours = |one: &Process| {
        ancestors.contains(&one.id)
            || one.name.starts_with("btu")
            || above(one.id).any(|id| id == own)
    };
    let others = all.iter().filter(|one| !one.is_of_kernel && !is_ours(one));
    others.map(|one| (one.id, one.name.clone(), one.ticks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u32, parent: u32, name: &str) -> Process {
        Process { id, name: name.to_owned(), parent, is_of_kernel: false, ticks: 5 }
    }

    #[test]
    fn a_name_may_contain_anything() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 99 0 0 0 11 12 13 14 20 0 1 0 555 0 0";
        let expected = Process {
            id: 42,
            name: "a) b (c".to_owned(),
            parent: 7,
            is_of_kernel: false,
            ticks: 50,
        };
        assert_eq!(Process::parse(line), Some(expected));
        assert_eq!(Process::parse("42 (short) S 7"), None);
    }

    #[test]
    fn relatives_and_btu_are_not_others() {
        let own = std::process::id();
        let all = vec![
            process(1, 0, "init"),
            process(own, 1, "test"),
            process(own + 1, own, "sh"),
            process(own + 2, own + 1, "iperf3"),
            process(own + 3, 1, "btu"),
            process(own + 4, 1, "rustc"),
            Process { is_of_kernel: true, ..process(own + 5, 2, "kworker") },
        ];
        assert_eq!(others(&all), [(own + 4, "rustc".to_owned(), 5)]);
    }

    #[test]
    fn this_test_is_among_the_processes() {
        assert!(processes().iter().any(|one| one.id == std::process::id()));
    }
}
