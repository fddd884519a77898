//! Which host and which pair of hosts is slow, by the rates of all pairs.
//!
//! The logarithm of a rate is a sum: overall + sender + receiver + pair, taken apart by median polish, which a few slow hosts do not
//! spoil. A part is marked as slow if it lies further below the others than chance explains, by the spread of the others
//! (median absolute deviation), and takes at least a tenth of the rate.

use btu_stats::{Level, MedianPolish, median, student_quantile};
use serde::Serialize;

/// How many marks chance makes in a run, in the mean: a hundredth, a third of them for senders, receivers and pairs each.
pub const FALSE_MARKS: f64 = 0.01;

/// A part that keeps more of the rate than this is no reason to look for a fault.
const WORTH_MARKING: f64 = 0.9;

/// The deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.482_602_2;

/// Of so many values the median absolute deviation knows as much as the standard deviation of one (Rousseeuw and Croux, JASA
/// 1993).
const EFFICIENCY: f64 = 0.37;

/// The deviation of a median of normal values over that of their mean: the root of pi / 2.
const MEDIAN: f64 = 1.253_314;

/// More groups than this are not looked for.
const MOST_GROUPS: usize = 32;

/// The least spread that counts, in logarithms: rates are not equal to less than a thousandth.
const LEAST_SPREAD: f64 = 1e-3;

/// The rates of a fleet, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// The usual rate of a pair, in bits per second.
    pub usual_bits_per_second: f64,
    /// What each host has of it as a sender.
    pub senders: Vec<HostSpeed>,
    /// What each host has of it as a receiver.
    pub receivers: Vec<HostSpeed>,
    /// Pairs that are slower than their two hosts explain.
    pub slow_pairs: Vec<SlowPair>,
    /// Hosts that are slow to all others and not among themselves: what they share is slow.
    pub behind_a_slow_link: Vec<Vec<usize>>,
    /// Groups of all hosts, where none of them is the usual one: each pair within a group is quicker
    /// than each pair between two.
    pub apart: Option<Apart>,
}

/// Groups of hosts with something slow between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// The hosts of each group, two at least.
    pub groups: Vec<Vec<usize>>,
    /// What a pair between two groups has of the rate of one within a group: medians.
    pub share: f64,
}

/// A host as a sender, or as a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostSpeed {
    /// Its share of the usual rate.
    pub share: f64,
    /// How many deviations of the others it lies above them.
    pub score: f64,
    /// Whether that is too slow for chance.
    pub is_slow: bool,
}

/// An ordered pair of hosts, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowPair {
    /// Who sends.
    pub from: usize,
    /// Who receives.
    pub to: usize,
    /// Its share of what its two hosts have with others.
    pub share: f64,
    /// How many deviations of the other pairs it lies above them.
    pub score: f64,
}

impl Fleet {
    /// Of the rates from each host to each, in bits per second; `None` if nothing was measured.
    pub(super) fn of(rates: &[Vec<Option<f64>>]) -> Option<Self> {
        let logarithm = |rate: &Option<f64>| rate.filter(|rate| *rate > 0.0).map(f64::ln);
        let table: Vec<Vec<Option<f64>>> =
            rates.iter().map(|row| row.iter().map(logarithm).collect()).collect();
        let polish = MedianPolish::of(&table)?;
        let spread = Residuals::of(&polish);
        let senders = parts(&polish.rows, spread.of_a_median);
        let receivers = parts(&polish.columns, spread.of_a_median);
        let behind_a_slow_link = groups(&table, polish.overall, &senders, &receivers);
        let is_slow = senders.iter().chain(&receivers).any(|part| part.is_slow);
        Some(Self {
            apart: if is_slow { None } else { Apart::of(&table) },
            usual_bits_per_second: polish.overall.exp(),
            slow_pairs: slow_pairs(&polish.residuals, &spread),
            senders,
            receivers,
            behind_a_slow_link,
        })
    }

    /// Whether a host is slow by itself, in either direction.
    pub fn is_slow(&self, host: usize) -> bool {
        let marked = [&self.senders, &self.receivers].map(|parts| parts[host].is_slow);
        marked.contains(&true) && !self.is_behind_a_slow_link(host)
    }

    /// Whether what it shares with others is slow.
    pub fn is_behind_a_slow_link(&self, host: usize) -> bool {
        self.behind_a_slow_link.iter().flatten().any(|one| *one == host)
    }
}

impl Apart {
    /// The fewest groups that single linkage finds and that are truly apart: by chance alone, that
    /// the quickest pairs are those within two groups happens in 3 of 495 runs of four hosts, and far
    /// more seldom with more hosts.
    fn of(table: &[Vec<Option<f64>>]) -> Option<Self> {
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

/// How far pairs lie apart that have nothing wrong.
struct Residuals {
    /// The deviation of a pair.
    of_a_pair: f64,
    /// That of the median of a host's pairs.
    of_a_median: f64,
    /// The values beyond those that the effects take up.
    free: usize,
}

impl Residuals {
    /// Every median that is taken out makes a residual zero, so as many of the smallest say nothing.
    fn of(polish: &MedianPolish) -> Self {
        let mut sizes: Vec<f64> =
            polish.residuals.iter().flatten().flatten().map(|value| value.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let taken = (polish.rows.len() + polish.columns.len()).min(sizes.len() + 1) - 1;
        let free = sizes.len() - taken;
        let of_a_pair = spread(&sizes[taken..]);
        let each = (sizes.len() as f64 / polish.rows.len() as f64).max(1.0);
        Self { of_a_pair, of_a_median: MEDIAN * of_a_pair / each.sqrt(), free }
    }
}

/// The deviation of normal values at these distances from their middle.
fn spread(distances: &[f64]) -> f64 {
    (NORMAL * median(distances).unwrap_or_default()).max(LEAST_SPREAD)
}

/// The hosts' effects; they are known to `least` at best.
fn parts(effects: &[f64], least: f64) -> Vec<HostSpeed> {
    let middle = median(effects).unwrap_or_default();
    let distances: Vec<f64> = effects.iter().map(|effect| (effect - middle).abs()).collect();
    let spread = spread(&distances).max(least);
    let scores = effects.iter().map(|effect| (effect - middle) / spread);
    let bound = bound(effects.len(), effects.len() - 1);
    let part = |(effect, score): (&f64, f64)| HostSpeed {
        share: effect.exp(),
        score,
        is_slow: is_slow(*effect, score, bound),
    };
    effects.iter().zip(scores).map(part).collect()
}

fn slow_pairs(residuals: &[Vec<Option<f64>>], spread: &Residuals) -> Vec<SlowPair> {
    let places: Vec<(usize, usize, f64)> = residuals
        .iter()
        .enumerate()
        .flat_map(|(from, row)| row.iter().enumerate().map(move |(to, value)| (from, to, value)))
        .filter_map(|(from, to, value)| Some((from, to, (*value)?)))
        .collect();
    let bound = bound(places.len(), spread.free);
    let slow = places.into_iter().filter_map(|(from, to, value)| {
        let score = value / spread.of_a_pair;
        is_slow(value, score, bound).then(|| SlowPair { from, to, share: value.exp(), score })
    });
    let mut slow: Vec<SlowPair> = slow.collect();
    slow.sort_by(|one, other| one.score.total_cmp(&other.score));
    slow
}

/// The score from which one of `count` values is slow, with a spread that is known from `free` of them: chance makes a third of
/// [`FALSE_MARKS`] among them.
fn bound(count: usize, free: usize) -> f64 {
    let each = FALSE_MARKS / 3.0 / count.max(1) as f64;
    let degrees = (EFFICIENCY * free as f64).max(1.0);
    let level = Level::new(1.0 - 2.0 * each);
    level.and_then(|level| student_quantile(level, degrees)).unwrap_or(f64::INFINITY)
}

fn is_slow(effect: f64, score: f64, bound: f64) -> bool {
    score < -bound && effect < WORTH_MARKING.ln()
}

/// Groups of two and more slow hosts whose rates among themselves, both ways, are nearer to the usual one than to theirs.
fn groups(
    table: &[Vec<Option<f64>>],
    overall: f64,
    senders: &[HostSpeed],
    receivers: &[HostSpeed],
) -> Vec<Vec<usize>> {
    let mut slow: Vec<usize> = (0..table.len())
        .filter(|host| senders[*host].is_slow || receivers[*host].is_slow)
        .collect();
    let half = |host: usize| senders[host].share.min(receivers[host].share).ln() / 2.0;
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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    const RATE: f64 = 1e9;

    /// A normal deviate (Box and Muller).
    fn normal(random: &mut Pcg64) -> f64 {
        let (radius, angle): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Rates of so many hosts that differ by a twentieth, and pairs that differ by a tenth, times what `slow` gives a pair.
    fn drawn(seed: u64, count: usize, slow: impl Fn(usize, usize) -> f64) -> Vec<Vec<Option<f64>>> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut hosts = || -> Vec<f64> { (0..count).map(|_| 0.05 * normal(&mut random)).collect() };
        let (senders, receivers) = (hosts(), hosts());
        let mut rate = |from: usize, to: usize| {
            let noise = 0.1 * normal(&mut random);
            RATE * (senders[from] + receivers[to] + noise).exp() * slow(from, to)
        };
        (0..count)
            .map(|from| (0..count).map(|to| (from != to).then(|| rate(from, to))).collect())
            .collect()
    }

    fn marks(fleet: &Fleet) -> usize {
        let hosts = [&fleet.senders, &fleet.receivers];
        hosts.into_iter().flatten().filter(|part| part.is_slow).count()
            + fleet.slow_pairs.len()
            + usize::from(fleet.apart.is_some())
    }

    /// A hundredth of false marks in a run, over two hundred of them: two, and five with a chance of a twentieth (Poisson).
    #[test]
    fn chance_makes_no_more_marks_than_promised() {
        for count in [4, 8, 16] {
            let found: usize = (0..200)
                .filter_map(|seed| Fleet::of(&drawn(seed, count, |_, _| 1.0)))
                .map(|fleet| marks(&fleet))
                .sum();
            assert!(found <= 5, "{found} of 200 runs of {count} hosts");
        }
    }

    #[test]
    fn a_slow_host_a_slow_link_and_both_are_told_apart() {
        for seed in 0..20 {
            let host = Fleet::of(&drawn(
                seed,
                16,
                |from, to| if from == 3 || to == 3 { 0.3 } else { 1.0 },
            ))
            .unwrap();
            assert!(host.is_slow(3) && host.slow_pairs.is_empty(), "{seed}: {host:?}");
            assert_eq!((0..16).filter(|one| host.is_slow(*one)).count(), 1, "{seed}: {host:?}");
            let pair = Fleet::of(&drawn(
                seed,
                16,
                |from, to| if (from, to) == (5, 9) { 0.3 } else { 1.0 },
            ))
            .unwrap();
            let found: Vec<[usize; 2]> =
                pair.slow_pairs.iter().map(|pair| [pair.from, pair.to]).collect();
            assert_eq!(
                (found, (0..16).any(|one| pair.is_slow(one))),
                (vec![[5, 9]], false),
                "{seed}: {pair:?}"
            );
            let is_apart = |from: usize, to: usize| (from < 2) != (to < 2);
            let link =
                Fleet::of(&drawn(seed, 16, |from, to| if is_apart(from, to) { 0.3 } else { 1.0 }))
                    .unwrap();
            assert_eq!(link.behind_a_slow_link, [[0, 1]], "{seed}: {link:?}");
            assert!(!link.is_slow(0) && !link.is_slow(1), "{seed}: {link:?}");
        }
    }

    /// No half is the usual one, and no host is slow.
    #[test]
    fn halves_and_racks_are_told_apart() {
        for (count, racks) in [(4, 2), (8, 2), (9, 3), (16, 2), (16, 4)] {
            let size = count / racks;
            for seed in 0..20 {
                let is_apart = |from: usize, to: usize| from / size != to / size;
                let fleet =
                    drawn(seed, count, |from, to| if is_apart(from, to) { 0.4 } else { 1.0 });
                let fleet = Fleet::of(&fleet).unwrap();
                let apart = fleet.apart.as_ref().expect("groups");
                let expected: Vec<Vec<usize>> =
                    (0..racks).map(|rack| (rack * size..(rack + 1) * size).collect()).collect();
                assert_eq!(apart.groups, expected, "{seed}");
                // Of four hosts it is known to a deviation of a tenth.
                assert!((apart.share / 0.4).ln().abs() < 0.3, "{seed}: {}", apart.share);
                assert_eq!(marks(&fleet), 1, "{seed}: {fleet:?}");
            }
        }
    }

    /// A thousand hosts: a million pairs.
    #[test]
    fn a_thousand_hosts_have_one_slow_one() {
        let fleet =
            Fleet::of(&drawn(1, 1000, |from, to| if from == 7 || to == 7 { 0.5 } else { 1.0 }))
                .unwrap();
        let others = (0..1000).filter(|host| *host != 7 && fleet.is_slow(*host)).count();
        assert!(fleet.is_slow(7) && others == 0, "{:?}, {others} others", fleet.senders[7]);
        assert_eq!(fleet.slow_pairs, []);
    }

    #[test]
    fn one_measured_pair_has_nothing_to_stand_out_from() {
        let fleet = Fleet::of(&[vec![None, Some(RATE)], vec![None, None]]).unwrap();
        assert_eq!(marks(&fleet), 0);
        assert_eq!(Fleet::of(&[vec![None]]), None);
    }
}
