//! Fleets that are drawn from seeds: what is marked by chance under noise of many kinds, and what is found.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rand_pcg::Pcg64;

use super::LogRates;
use super::model::Fleet;
use super::plan::blocks_of;
use super::suspects::MOST_REPETITIONS;

const RATE: f64 = 1e9;

/// What makes measurements of a pair differ, in logarithms.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal(f64),
    /// Two-sided exponential.
    Laplace(f64),
    /// Student's distribution: degrees of freedom, scale.
    Student(f64, f64),
    /// Of so many measurements one is disturbed, and then slower by a third in the mean.
    Disturbed(f64),
    /// Slower than a bound that nothing exceeds.
    OneSided(f64),
    /// A drift of the whole network with a memory of twenty measurements.
    Drift(f64),
    /// Disturbances that last for ten measurements in a row, a twentieth of the time.
    Bursts,
}

use Noise::{Bursts, Disturbed, Drift, Laplace, Normal, OneSided, Student};

const KINDS: [Noise; 8] = [
    Normal(0.1),
    Laplace(0.1),
    Student(3.0, 0.06),
    Student(2.0, 0.05),
    Disturbed(20.0),
    OneSided(0.1),
    Drift(0.1),
    Bursts,
];

/// Hosts whose true rates are known.
struct World<F> {
    hosts: usize,
    effects: [Vec<f64>; 2],
    noise: Noise,
    slow: F,
    random: Pcg64,
    /// The drift, or the measurements that a disturbance still lasts.
    state: f64,
}

impl<F: Fn(usize, usize) -> f64> World<F> {
    /// Hosts that differ by `spread`; pairs get what `slow` gives them.
    fn new(seed: u64, (hosts, spread): (usize, f64), noise: Noise, slow: F) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let effects = [(); 2].map(|()| {
            (0..hosts).map(|_| spread * random.sample::<f64, _>(StandardNormal)).collect()
        });
        Self { hosts, effects, noise, slow, random, state: 0.0 }
    }

    fn noise(&mut self) -> f64 {
        let normal: f64 = self.random.sample(StandardNormal);
        let size: f64 = Exp1.sample(&mut self.random);
        let hit = |random: &mut Pcg64, of: f64| random.random::<f64>() < 1.0 / of;
        match self.noise {
            Normal(scale) => scale * normal,
            Laplace(scale) => scale / f64::sqrt(2.0) * size.copysign(normal),
            Student(degrees, scale) => {
                scale * StudentT::new(degrees).unwrap().sample(&mut self.random)
            }
            Disturbed(of) => {
                0.02 * normal - if hit(&mut self.random, of) { 0.4 * size } else { 0.0 }
            }
            OneSided(scale) => -scale * size,
            Drift(scale) => {
                let keeps = f64::exp(-1.0 / 20.0);
                self.state = keeps * self.state + scale * (1.0 - keeps * keeps).sqrt() * normal;
                self.state + 0.02 * self.random.sample::<f64, _>(StandardNormal)
            }
            Bursts => {
                self.state = if hit(&mut self.random, 200.0) { 10.0 } else { self.state - 1.0 };
                0.02 * normal - if self.state > 0.0 { 0.4 * size } else { 0.0 }
            }
        }
    }

    /// These pairs, one after the other in a drawn order.
    fn block(&mut self, mut pairs: Vec<[usize; 2]>) -> LogRates {
        pairs.sort_unstable();
        pairs.dedup();
        pairs.shuffle(&mut self.random);
        let mut table = vec![vec![None; self.hosts]; self.hosts];
        for [from, to] in pairs {
            let host = self.effects[0][from] + self.effects[1][to];
            let rate = RATE.ln() + host + (self.slow)(from, to).ln() + self.noise();
            table[from][to] = Some(rate);
        }
        table
    }

    /// So many whole blocks, and suspicious pairs again until each is told. Returns the repetitions, too.
    fn judged(mut self, blocks: u32) -> (Fleet, usize) {
        let all: Vec<[usize; 2]> = (0..self.hosts)
            .flat_map(|from| (0..self.hosts).map(move |to| [from, to]))
            .filter(|[from, to]| from != to)
            .collect();
        let whole: Vec<LogRates> = (0..blocks).map(|_| self.block(all.clone())).collect();
        let (mut later, mut again) = (Vec::new(), 0);
        for _ in 0..MOST_REPETITIONS {
            let pairs = Fleet::next_pairs(&whole, &later);
            if pairs.is_empty() {
                break;
            }
            again += pairs.len();
            later.push(self.block(pairs));
        }
        (Fleet::of(&whole, &later).unwrap(), again)
    }
}

/// A quick run of so many hosts that differ by `spread`.
fn quick(
    seed: u64,
    (hosts, spread): (usize, f64),
    noise: Noise,
    slow: impl Fn(usize, usize) -> f64,
) -> Fleet {
    World::new(seed, (hosts, spread), noise, slow).judged(blocks_of(hosts)).0
}

fn slow_hosts(fleet: &Fleet) -> Vec<usize> {
    (0..fleet.hosts.len()).filter(|host| fleet.is_slow(*host)).collect()
}

fn slow_pairs(fleet: &Fleet) -> Vec<[usize; 2]> {
    fleet.slow_pairs.iter().map(|pair| [pair.from, pair.to]).collect()
}

fn marks(fleet: &Fleet) -> usize {
    slow_hosts(fleet).len()
        + fleet.slow_pairs.len()
        + fleet.behind_a_slow_link.len()
        + usize::from(fleet.apart.is_some())
}

/// The false marks of so many runs of each kind, a quick one and one of three whole blocks in turn.
fn false_marks(hosts: usize, runs: u64, kinds: &[Noise], spread: f64) -> Vec<usize> {
    let of = |noise: &Noise| {
        let run = |seed: u64| {
            let world = World::new(1000 + seed, (hosts, spread), *noise, |_, _| 1.0);
            let blocks =
                if seed.is_multiple_of(2) { blocks_of(hosts) } else { blocks_of(hosts).max(3) };
            marks(&world.judged(blocks).0)
        };
        (0..runs).map(run).sum()
    };
    kinds.iter().map(of).collect()
}

/// A hundredth of false marks in a run in the mean. Of `n` runs, the marks that one test in a thousand exceeds (Poisson).
#[test]
fn chance_makes_no_more_marks_than_promised_whatever_the_tails() {
    for (hosts, runs, most) in [(3, 100, 19), (4, 100, 19), (8, 100, 19), (16, 40, 10), (32, 12, 5)]
    {
        let found = false_marks(hosts, runs, &KINDS, 0.05);
        println!("{hosts} hosts, {runs} runs of each kind: {found:?}");
        assert!(found.iter().sum::<usize>() <= most, "{hosts} hosts: {found:?}");
    }
}

/// The runs of twenty in which the first host, slower both ways, is named and nothing else.
fn found_hosts(hosts: usize, share: f64, noise: f64) -> usize {
    let slow = |from: usize, to: usize| if from == 0 || to == 0 { share } else { 1.0 };
    let is_found = |seed: &u64| {
        let fleet = quick(*seed, (hosts, 0.03), Normal(noise), slow);
        slow_hosts(&fleet) == [0] && fleet.slow_pairs.is_empty()
    };
    (0..20).filter(is_found).count()
}

fn found_pairs(hosts: usize, share: f64, noise: f64) -> usize {
    let slow = |from: usize, to: usize| if (from, to) == (0, 1) { share } else { 1.0 };
    let is_found = |seed: &u64| {
        let fleet = quick(*seed, (hosts, 0.03), Normal(noise), slow);
        slow_pairs(&fleet) == [[0, 1]] && slow_hosts(&fleet).is_empty()
    };
    (0..20).filter(is_found).count()
}

/// The table of docs/fleet.md: how often a slow host, and a slow pair, are named.
#[test]
fn what_is_found_by_number_of_hosts_and_slowness() {
    let shares = [0.8, 0.7, 0.5, 0.3, 0.1];
    for noise in [0.05, 0.15] {
        for hosts in [3, 4, 8, 16] {
            let rows = [found_hosts, found_pairs]
                .map(|found| shares.map(|share| 5 * found(hosts, share, noise)));
            println!("pairs differ by {noise}, {hosts} hosts: {rows:?} %");
            let [host, pair] = rows;
            assert!(host[2..].iter().all(|found| *found >= 95), "{noise}, {hosts}: {host:?}");
            if hosts == 3 {
                assert_eq!(pair, [0; 5], "of three hosts no pair is told from them");
            } else {
                assert!(pair[3..].iter().all(|found| *found >= 95), "{noise}, {hosts}: {pair:?}");
            }
        }
    }
}

/// What is said to be seen is seen 19 of 20 times: of sixty, in 51 or more (one test in a hundred has fewer).
#[test]
fn what_is_said_to_be_seen_is_seen() {
    for (hosts, noise) in [(4, 0.05), (4, 0.3), (8, 0.1), (8, 0.4), (16, 0.2)] {
        let (mut found, mut found_pair) = (0, 0);
        for seed in 0..60 {
            let sound = quick(seed, (hosts, 0.03), Normal(noise), |_, _| 1.0);
            let host = |from: usize, to: usize| {
                if from == 0 || to == 0 { sound.least_host } else { 1.0 }
            };
            found += usize::from(quick(seed, (hosts, 0.03), Normal(noise), host).is_slow(0));
            let least = sound.least_pair.unwrap();
            let pair = |from: usize, to: usize| if (from, to) == (0, 1) { least } else { 1.0 };
            let seen = quick(seed, (hosts, 0.03), Normal(noise), pair);
            found_pair += usize::from(slow_pairs(&seen).contains(&[0, 1]));
        }
        println!("{hosts} hosts, {noise}: {found} and {found_pair} of 60");
        assert!(found >= 51 && found_pair >= 51, "{hosts}, {noise}: {found}, {found_pair}");
    }
}

#[test]
fn a_slow_host_a_slow_link_and_both_are_told_apart() {
    for seed in 0..20 {
        let of = |slow: &dyn Fn(usize, usize) -> bool| {
            let share = |from, to| if slow(from, to) { 0.3 } else { 1.0 };
            quick(seed, (16, 0.05), Normal(0.1), share)
        };
        let host = of(&|from, to| from == 3 || to == 3);
        assert_eq!((slow_hosts(&host), slow_pairs(&host)), (vec![3], vec![]), "{seed}");
        let pair = of(&|from, to| (from, to) == (5, 9));
        assert_eq!((slow_hosts(&pair), slow_pairs(&pair)), (vec![], vec![[5, 9]]), "{seed}");
        let sender = of(&|from, _| from == 3);
        assert!(sender.senders[3].unwrap().is_slow && !sender.receivers[3].unwrap().is_slow);
        let link = of(&|from, to| (from < 2) != (to < 2));
        assert_eq!(link.behind_a_slow_link, [[0, 1]], "{seed}: {link:?}");
        assert!(slow_hosts(&link).is_empty() && link.has_slow(), "{seed}: {link:?}");
    }
}

/// No half is the usual one, and no host is slow.
#[test]
fn halves_and_racks_are_told_apart() {
    for (count, racks) in [(4, 2), (8, 2), (9, 3), (16, 2), (16, 4)] {
        let size = count / racks;
        for seed in 0..20 {
            let slow = |from: usize, to: usize| if from / size == to / size { 1.0 } else { 0.4 };
            let fleet = quick(seed, (count, 0.05), Normal(0.1), slow);
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

/// Half of the hosts, or two of five, are slow, and with them the usual rate: then it is not said that none is.
#[test]
fn it_is_not_said_that_none_is_slow_where_half_are() {
    for (hosts, slow) in [(4, 2), (5, 2), (6, 3), (8, 4), (16, 8)] {
        for (share, noise) in
            [0.4, 0.5, 0.7].into_iter().flat_map(|share| [(share, 0.02), (share, 0.05)])
        {
            let rate = |from: usize, to: usize| if from.min(to) < slow { share } else { 1.0 };
            for seed in 0..20 {
                let fleet = quick(seed, (hosts, 0.0), Normal(noise), rate);
                let place = format!("{slow} of {hosts} at {share}, {noise}, {seed}: {fleet:?}");
                assert!(fleet.has_slow() || !fleet.can_tell(), "{place}");
                let expected: Vec<usize> = (slow..hosts).collect();
                assert!(fleet.quicker.is_none_or(|quicker| quicker.hosts == expected), "{place}");
            }
        }
    }
}

/// Of hosts without a fault, at most one run in twenty says so of each kind of noise.
#[test]
fn sound_hosts_seldom_are_quicker_among_themselves() {
    for (hosts, runs) in [(3, 100), (4, 100), (8, 100), (16, 40), (32, 20)] {
        let is_quicker = |seed: u64, noise: Noise| {
            quick(5000 + seed, (hosts, 0.05), noise, |_, _| 1.0).quicker.is_some()
        };
        let found = KINDS.map(|noise| (0..runs).filter(|seed| is_quicker(*seed, noise)).count());
        println!("{hosts} hosts, {runs} runs of each kind: {found:?}");
        assert!(found.iter().all(|found| 20 * found <= runs as usize), "{hosts}: {found:?}");
    }
}

/// A thousand hosts: a million pairs.
#[test]
fn a_thousand_hosts_have_one_slow_one() {
    let slow = |from, to| if from == 7 || to == 7 { 0.5 } else { 1.0 };
    let mut world = World::new(1, (1000, 0.05), Normal(0.1), slow);
    let pairs = (0..1000).flat_map(|from| (0..1000).map(move |to| [from, to]));
    let table = world.block(pairs.filter(|[from, to]| from != to).collect());
    assert_eq!(slow_hosts(&Fleet::of(&[table], &[]).unwrap()), [7]);
}

/// A host without a rate is absent, and moves no other one.
#[test]
fn lost_hosts_are_absent() {
    let mut world = World::new(1, (8, 0.03), Normal(0.05), |_, _| 1.0);
    let pairs = (0..7).flat_map(|from| (0..7).map(move |to| [from, to]));
    let table = world.block(pairs.filter(|[from, to]| from != to).collect());
    let fleet = Fleet::of(&[table], &[]).unwrap();
    assert_eq!((fleet.hosts[7], fleet.senders[7], fleet.receivers[7]), (None, None, None));
    assert_eq!(marks(&fleet), 0, "{fleet:?}");
    let shares: Vec<f64> = fleet.hosts.iter().flatten().map(|speed| speed.share).collect();
    assert!(shares.iter().all(|share| (0.9..1.1).contains(share)), "{shares:?}");
}

#[test]
fn one_measured_pair_has_nothing_to_stand_out_from() {
    let fleet = Fleet::of(&[vec![vec![None, Some(RATE.ln())], vec![None, None]]], &[]).unwrap();
    assert_eq!(marks(&fleet), 0);
    assert_eq!(Fleet::of(&[vec![vec![None]]], &[]), None);
}
