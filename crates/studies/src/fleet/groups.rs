//! Groups of hosts: those that share a slow link, and those with something slow between them.

use btu_stats::median;
use serde::Serialize;

use super::rates::{LogRates, WORTH_MARKING};

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

/// Pairs of hosts by the slower of their two ways, the quickest first, each that joins two groups
/// that were apart until then (Kruskal, 1956).
fn joined(table: &[Vec<Option<f64>>]) -> Vec<[usize; 2]> {
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
            joined.push([one, other]);
            group.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
        }
    }
    joined
}

/// The groups after all but the last joins; `None` if a host is alone in one.
fn grouped(joined: &[[usize; 2]], count: usize) -> Option<Vec<Vec<usize>>> {
    let hosts = joined.len() + 1;
    let mut groups: Vec<Vec<usize>> = (0..hosts).map(|host| vec![host]).collect();
    for [one, other] in &joined[..hosts.checked_sub(count)?] {
        let at = |host| groups.iter().position(|group| group.contains(host));
        let (one, other) = (at(one)?, at(other)?);
        let gone = std::mem::take(&mut groups[other]);
        groups[one].extend(gone);
        groups.swap_remove(other);
    }
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort();
    groups.iter().all(|group| group.len() > 1).then_some(groups)
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
