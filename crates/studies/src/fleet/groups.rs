//! Groups of hosts: those that share a slow link, those with something slow between them, and those that are quicker among
//! themselves than all others.

use btu_stats::median;
use serde::Serialize;

use super::{LogRates, WORTH_MARKING};

/// More groups than this are not looked for.
const MOST_GROUPS: usize = 32;

/// Groups of hosts with something slow between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// The hosts of each group, two at least.
    pub groups: Vec<Vec<usize>>,
    /// What a pair between two groups has of the rate of one within a group: medians.
    pub share: f64,
}

impl Apart {
    /// The fewest groups that single linkage finds and that are truly apart: by chance alone, that
    /// the quickest pairs are those within two groups happens in 3 of 495 runs of four hosts, and far
    /// more seldom with more hosts.
    pub(super) fn of(table: &[Vec<Option<f64>>]) -> Option<Self> {
        let joined = joined(table);
        (2..=MOST_GROUPS.min(table.len() / 2))
            .find_map(|count| Self::checked(table, grouped(&joined, count)?))
    }

    fn checked(table: &[Vec<Option<f64>>], groups: Vec<Vec<usize>>) -> Option<Self> {
        let group_of = |host: usize| groups.iter().position(|group| group.contains(&host));
        let (mut within, mut between) = (vec![Vec::new(); groups.len()], Vec::new());
        for (from, row) in table.iter().enumerate() {
            for (to, rate) in row.iter().enumerate() {
                let Some(rate) = rate else { continue };
                match (group_of(from)?, group_of(to)?) {
                    (one, other) if one == other => within[one].push(*rate),
                    _ => between.push(*rate),
                }
            }
        }
        let quickest = between.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slowest = within.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let middle = median(&between)?;
        let is_worth = |rates: &Vec<f64>| {
            median(rates).is_some_and(|within| middle - within < WORTH_MARKING.ln())
        };
        let share = (middle - median(&within.concat())?).exp();
        (slowest > quickest && within.iter().all(is_worth)).then_some(Self { groups, share })
    }
}

/// Hosts that are quicker among themselves than all other pairs of a run: the others may be slow, so
/// that their rate is no norm, or these share a quick link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quicker {
    /// Two and more of the hosts, and not all but one.
    pub hosts: Vec<usize>,
    /// Their rate among themselves over that of all other pairs: medians.
    pub ratio: f64,
}

impl Quicker {
    /// Of the groups that single linkage finds, the one that stands out most; and how well that is
    /// known, in deviations of a pair.
    pub(super) fn of(table: &LogRates) -> Option<(Self, f64)> {
        let found = joined(table).into_iter().filter_map(|hosts| {
            let (contrast, error) = contrast(table, &hosts)?;
            Some((contrast / error, error, hosts))
        });
        let (_, error, hosts) = found.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let (mut within, mut others) = (Vec::new(), Vec::new());
        for (from, row) in table.iter().enumerate() {
            for (to, rate) in row.iter().enumerate() {
                let is_within = hosts.contains(&from) && hosts.contains(&to);
                if is_within { &mut within } else { &mut others }.extend(*rate);
            }
        }
        let ratio = (median(&within)? - median(&others)?).exp();
        Some((Self { hosts, ratio }, error))
    }

    /// The rates without those among these hosts.
    pub(super) fn removed_from(&self, rates: &LogRates) -> LogRates {
        let mut rates = rates.clone();
        for from in &self.hosts {
            for to in &self.hosts {
                rates[*from][*to] = None;
            }
        }
        rates
    }
}

/// The mean rate within a group and that among the others, less those between: no host has a part in
/// this. And its deviation, in deviations of a pair. `None` if a part was not measured, or the others are quicker.
fn contrast(table: &LogRates, hosts: &[usize]) -> Option<(f64, f64)> {
    let mut is_in = vec![false; table.len()];
    for host in hosts {
        is_in[*host] = true;
    }
    let (mut sums, mut counts) = ([[0.0; 2]; 2], [[0.0; 2]; 2]);
    for (from, row) in table.iter().enumerate() {
        for (to, rate) in row.iter().enumerate() {
            let Some(rate) = rate else { continue };
            let part = [usize::from(is_in[from]), usize::from(is_in[to])];
            sums[part[0]][part[1]] += rate;
            counts[part[0]][part[1]] += 1.0;
        }
    }
    let mean = |from: usize, to: usize| sums[from][to] / counts[from][to];
    let variance: f64 = counts.iter().flatten().map(|count: &f64| count.recip()).sum();
    let contrast = mean(1, 1) + mean(0, 0) - mean(0, 1) - mean(1, 0);
    (mean(1, 1) > mean(0, 0) && contrast.is_finite()).then(|| (contrast, variance.sqrt()))
}

/// The groups that pairs of hosts join, the pair whose slower way is the quickest first, unless it is
/// within a group by then (Kruskal, 1956).
fn joined(table: &[Vec<Option<f64>>]) -> Vec<Vec<usize>> {
    let count = table.len();
    let both = |one: usize, other: usize| {
        let ways = [table[one][other], table[other][one]];
        let slower = ways.into_iter().flatten().reduce(f64::min);
        Some((slower?, [one, other]))
    };
    let mut pairs: Vec<(f64, [usize; 2])> = (0..count)
        .flat_map(|one| (one + 1..count).filter_map(move |other| both(one, other)))
        .collect();
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut group: Vec<usize> = (0..count).collect();
    let mut joined = Vec::new();
    for (_, [one, other]) in pairs {
        let (kept, gone) = (group[one], group[other]);
        if kept != gone {
            group.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
            joined.push((0..count).filter(|host| group[*host] == kept).collect());
        }
    }
    joined
}

/// The groups after all but the last joins; `None` if a host is alone in one.
fn grouped(joined: &[Vec<usize>], count: usize) -> Option<Vec<Vec<usize>>> {
    let hosts = joined.len() + 1;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for group in joined[..hosts.checked_sub(count)?].iter().rev() {
        if !groups.iter().any(|known| known.contains(&group[0])) {
            groups.push(group.clone());
        }
    }
    groups.sort();
    (groups.concat().len() == hosts).then_some(groups)
}

/// Groups of two and more slow hosts whose rates among themselves, both ways, are nearer to the usual one than to theirs.
pub(super) fn groups(
    table: &LogRates,
    overall: f64,
    slow: &[usize],
    share: impl Fn(usize) -> f64,
) -> Vec<Vec<usize>> {
    let mut slow = slow.to_vec();
    let half = |host: usize| share(host).ln() / 2.0;
    let is_usual = |from: usize, to: usize| {
        table[from][to].is_some_and(|rate| rate - overall > half(from).max(half(to)))
    };
    let mut groups = Vec::new();
    while let Some(first) = slow.pop() {
        let (mut group, others): (Vec<usize>, Vec<usize>) =
            slow.iter().partition(|other| is_usual(first, **other) && is_usual(**other, first));
        if !group.is_empty() {
            group.push(first);
            groups.push(group);
        }
        slow = others;
    }
    groups
}
