//! Which host and which pair of hosts is slow, by the rates of all pairs.
//!
//! The logarithm of a rate is a sum: overall + sender + receiver + pair, taken apart by median polish, which a few slow hosts do not
//! spoil. A host is slow if it lies further below the others than the spread of all pairs explains, with what sound hosts differ by,
//! and takes at least a tenth of the rate. What looks like a slow pair is measured again, next to other pairs of its hosts.

use btu_stats::{Level, MedianPolish, median, student_quantile};
use serde::Serialize;

use super::groups::{Apart, Quicker, groups};
use super::suspects::{Standing, Suspects};
use super::{FALSE_MARKS, LogRates, WORTH_MARKING, medians};

/// Sound hosts differ by so much (standard deviation, in logarithms): few hosts do not show their own spread.
pub const USUAL_SPREAD: f64 = 0.05;

/// Hosts that differ by more than the usual spread: from so many of their deviations on one is an outlier (Iglewicz and Hoaglin,
/// *How to Detect and Handle Outliers*, 1993).
const OUTLIER: f64 = 3.5;

/// A run that sees only hosts below this share of the usual rate tells nothing of the others.
pub const LEAST_TELLING: f64 = 0.5;

/// From so many deviations on a pair is measured again.
const SUSPICIOUS: f64 = 3.0;

/// The deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.482_602_2;

/// Of so many values the median absolute deviation knows as much as the standard deviation of one (Rousseeuw and Croux, JASA
/// 1993).
const EFFICIENCY: f64 = 0.37;

/// The deviation of a median of normal values over that of their mean: the root of pi / 2.
const MEDIAN: f64 = 1.253_314;

/// The least spread that counts, in logarithms: rates are not equal to less than a thousandth.
const LEAST_SPREAD: f64 = 1e-3;

/// Of twenty normal values one lies further below the mean, in deviations: what is said to be seen is seen 19 of 20 times.
const SEEN: f64 = 1.645;

/// So many deviations of a measurement a pair lies below its hosts if each of nine repetitions, of four measurements each, shows
/// it 19 of 20 times: 5.1, and as much more as the deviation may be underestimated.
const SEEN_EACH_TIME: f64 = 6.0;

/// From so many of its deviations on, times the root of the number of all but two hosts, a group is quicker among itself. It is chosen
/// from all: so grows the largest of all pairs' values, both ways, even with the tails of Student's distribution with 2 degrees of
/// freedom.
const STANDS_OUT: f64 = 2.0;

/// The rates of a fleet, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// The usual rate of a pair, in bits per second.
    pub usual_bits_per_second: f64,
    /// What each host has of it, both ways together; `None` of a host without a rate.
    pub hosts: Vec<Option<HostSpeed>>,
    /// What each host has of it as a sender.
    pub senders: Vec<Option<HostSpeed>>,
    /// What each host has of it as a receiver.
    pub receivers: Vec<Option<HostSpeed>>,
    /// The share of the usual rate below which a host would have been marked, 19 of 20 times.
    pub least_host: f64,
    /// The share of what its hosts have with others below which a pair would have been; `None` of too few hosts for that.
    pub least_pair: Option<f64>,
    /// Pairs that are slower than their two hosts explain, in each of their repetitions.
    pub slow_pairs: Vec<SlowPair>,
    /// Pairs that look slow, and were not measured often enough to tell.
    pub open_pairs: usize,
    /// Hosts that are slow to all others and not among themselves: what they share is slow.
    pub behind_a_slow_link: Vec<Vec<usize>>,
    /// Groups of all hosts, where none of them is the usual one: each pair within a group is quicker
    /// than each pair between two.
    pub apart: Option<Apart>,
    /// Hosts that are quicker among themselves than chance explains, where nothing else is told of
    /// hosts: the usual rate may be that of slow ones.
    pub quicker: Option<Quicker>,
}

/// A host, as a sender, as a receiver, or as both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostSpeed {
    /// Its share of the usual rate.
    pub share: f64,
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
    /// The repetitions in which it was slower than these.
    pub repetitions: usize,
}

impl Fleet {
    /// Of the rates in whole blocks, and of suspicious pairs in later ones; `None` if nothing was measured.
    pub(super) fn of(whole: &[LogRates], later: &[LogRates]) -> Option<Self> {
        let table = medians(whole);
        let polish = MedianPolish::of(&table)?;
        let spread = Spread::of(&polish, &table, whole);
        let together =
            |(row, column): (&Option<f64>, &Option<f64>)| Some(f64::midpoint((*row)?, (*column)?));
        let both: Vec<_> = polish.rows.iter().zip(&polish.columns).map(together).collect();
        let one_way = spread.of_a_median(table.len());
        let two_ways = one_way / f64::sqrt(2.0);
        let senders = parts(&polish.rows, &spread, one_way);
        let receivers = parts(&polish.columns, &spread, one_way);
        let hosts = parts(&both, &spread, two_ways);
        let all = [&hosts, &senders, &receivers];
        let is_slow =
            |host: usize| all.iter().any(|part| part[host].is_some_and(|part| part.is_slow));
        let slow: Vec<usize> = (0..table.len()).filter(|host| is_slow(*host)).collect();
        let share = |host: usize| hosts[host].map_or(1.0, |speed| speed.share);
        let behind_a_slow_link = groups(&table, polish.overall, &slow, share);
        // A slow host would be one more outlier among the effects, and move the medians of few others.
        let one_more: Vec<_> = both.iter().copied().chain([Some(f64::NEG_INFINITY)]).collect();
        let with_slow = bound(&one_more, &spread, two_ways);
        let suspects = suspects(&polish, &spread, &table);
        let (slow_pairs, open_pairs) = told(&suspects, later);
        let apart = if slow.is_empty() { Apart::of(&table) } else { None };
        let is_plain = slow.is_empty() && apart.is_none();
        Some(Self {
            quicker: if is_plain { quicker(&table, whole) } else { None },
            apart,
            usual_bits_per_second: polish.overall.exp(),
            least_host: (-with_slow - SEEN * USUAL_SPREAD.hypot(one_way)).exp(),
            least_pair: suspects.can_tell().then(|| spread.least_pair()),
            slow_pairs,
            open_pairs,
            behind_a_slow_link,
            hosts,
            senders,
            receivers,
        })
    }

    /// The pairs to measure in the next block after these: those that look slow, each with three
    /// others of its hosts.
    pub(super) fn next_pairs(whole: &[LogRates], later: &[LogRates]) -> Vec<[usize; 2]> {
        let table = medians(whole);
        let Some(polish) = MedianPolish::of(&table) else { return Vec::new() };
        suspects(&polish, &Spread::of(&polish, &table, whole), &table).next_pairs(later)
    }

    /// Whether a host is slow by itself, in either direction or in both together.
    pub fn is_slow(&self, host: usize) -> bool {
        let parts = [&self.hosts, &self.senders, &self.receivers].map(|parts| parts[host]);
        let is_marked = parts.iter().flatten().any(|part| part.is_slow);
        is_marked && !self.is_behind_a_slow_link(host)
    }

    /// Whether what it shares with others is slow.
    pub fn is_behind_a_slow_link(&self, host: usize) -> bool {
        self.behind_a_slow_link.iter().flatten().any(|one| *one == host)
    }

    /// Whether a host at half of the usual rate would have been seen, that rate is a norm, and every suspicious pair is told.
    pub fn can_tell(&self) -> bool {
        self.least_host >= LEAST_TELLING && self.quicker.is_none() && self.open_pairs == 0
    }

    /// Whether anything is slow.
    pub fn has_slow(&self) -> bool {
        (0..self.hosts.len()).any(|host| self.is_slow(host))
            || !(self.slow_pairs.is_empty() && self.behind_a_slow_link.is_empty())
            || self.apart.is_some()
    }
}

/// How far pairs lie apart that have nothing wrong.
struct Spread {
    /// The deviation of a single measurement of a pair.
    of_a_measurement: f64,
    /// That of the median of a pair's measurements.
    of_a_pair: f64,
    /// The degrees of freedom with which they are known.
    degrees: f64,
}

impl Spread {
    /// Every median that is taken out makes a residual zero, so as many of the smallest say nothing.
    fn of(polish: &MedianPolish, table: &LogRates, whole: &[LogRates]) -> Self {
        let known = polish.rows.iter().chain(&polish.columns).flatten().count();
        let of_pairs: Vec<f64> = polish.residuals.iter().flatten().flatten().copied().collect();
        let taken = known.min(of_pairs.len() + 1) - 1;
        let mut singles = Vec::new();
        for (from, to) in
            (0..table.len()).flat_map(|from| (0..table.len()).map(move |to| (from, to)))
        {
            let fitted = table[from][to].zip(polish.residuals[from][to]);
            let Some(fitted) = fitted.map(|(rate, residual)| rate - residual) else { continue };
            singles.extend(whole.iter().filter_map(|block| Some(block[from][to]? - fitted)));
        }
        let repeated = singles.len() as f64 / of_pairs.len() as f64;
        let of_a_measurement = deviation(&singles, taken);
        // A median of up to two values is their mean.
        let median = if repeated > 2.0 { MEDIAN } else { 1.0 };
        Self {
            of_a_measurement,
            of_a_pair: deviation(&of_pairs, taken).max(median * of_a_measurement / repeated.sqrt()),
            degrees: (EFFICIENCY * (singles.len() - taken) as f64).max(1.0),
        }
    }

    /// The deviation of the median of a host's pairs, of so many hosts.
    fn of_a_median(&self, hosts: usize) -> f64 {
        MEDIAN * self.of_a_pair / (hosts.saturating_sub(1).max(1) as f64).sqrt()
    }

    /// The share below which a pair is marked, 19 of 20 times.
    fn least_pair(&self) -> f64 {
        let is_worth = SEEN * self.of_a_measurement - WORTH_MARKING.ln();
        (-(SEEN_EACH_TIME * self.of_a_measurement).max(is_worth)).exp()
    }
}

/// The deviation of normal values, of which so many of the smallest do not count.
fn deviation(values: &[f64], taken: usize) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    (NORMAL * median(&sizes[taken..]).unwrap_or_default()).max(LEAST_SPREAD)
}

/// How far below the others a host is slow, if its effect is known to `error`: with that error and the usual spread of hosts chance makes
/// a third of [`FALSE_MARKS`] among all hosts, as senders, receivers and both; hosts that differ more have to be outliers.
fn bound(effects: &[Option<f64>], spread: &Spread, error: f64) -> f64 {
    let each = FALSE_MARKS / 9.0 / effects.len().max(1) as f64;
    let quantile =
        Level::new(1.0 - 2.0 * each).and_then(|level| student_quantile(level, spread.degrees));
    let by_chance = quantile.unwrap_or(f64::INFINITY) * USUAL_SPREAD.hypot(error);
    let known: Vec<f64> = effects.iter().flatten().copied().collect();
    let middle = median(&known).unwrap_or_default();
    let distances: Vec<f64> = known.iter().map(|effect| effect - middle).collect();
    by_chance.max(OUTLIER * deviation(&distances, 0)).max(-WORTH_MARKING.ln())
}

/// The hosts' shares.
fn parts(effects: &[Option<f64>], spread: &Spread, error: f64) -> Vec<Option<HostSpeed>> {
    let bound = bound(effects, spread, error);
    let part = |effect: &Option<f64>| {
        effect.map(|effect| HostSpeed { share: effect.exp(), is_slow: effect < -bound })
    };
    effects.iter().map(part).collect()
}

/// The hosts that are quicker among themselves than their rates with others, and the spread of these, explain.
fn quicker(table: &LogRates, whole: &[LogRates]) -> Option<Quicker> {
    let (found, error) = Quicker::of(table)?;
    let rest: Vec<LogRates> = whole.iter().map(|block| found.removed_from(block)).collect();
    let known = medians(&rest);
    let polish = MedianPolish::of(&known)?;
    let spread = Spread::of(&polish, &known, &rest);
    let excess = |from: usize, to: usize| {
        Some(table[from][to]? - polish.overall - polish.rows[from]? - polish.columns[to]?)
    };
    let mut slower_ways = Vec::new();
    for from in &found.hosts {
        let ways =
            found.hosts.iter().map(|to| excess(*from, *to).into_iter().chain(excess(*to, *from)));
        slower_ways.extend(ways.filter_map(|ways| ways.reduce(f64::min)));
    }
    let largest = STANDS_OUT * (table.len().saturating_sub(2) as f64).sqrt();
    let by_chance = largest * error * spread.of_a_pair;
    let is_quicker = median(&slower_ways)? > by_chance.max(-WORTH_MARKING.ln());
    (is_quicker && found.ratio * WORTH_MARKING > 1.0).then_some(found)
}

/// The pairs that look slow.
fn suspects<'a>(polish: &MedianPolish, spread: &Spread, table: &'a LogRates) -> Suspects<'a> {
    let bound = (-SUSPICIOUS * spread.of_a_pair).min(WORTH_MARKING.ln());
    let row = |(from, row): (usize, &Vec<Option<f64>>)| -> Vec<[usize; 2]> {
        let is_low = |value: &Option<f64>| value.is_some_and(|value| value < bound);
        row.iter()
            .enumerate()
            .filter(|(_, value)| is_low(value))
            .map(|(to, _)| [from, to])
            .collect()
    };
    Suspects { table, pairs: polish.residuals.iter().enumerate().flat_map(row).collect() }
}

/// The slow ones among the suspicious pairs, the slowest first, and the number of those that nothing is known of.
fn told(suspects: &Suspects<'_>, later: &[LogRates]) -> (Vec<SlowPair>, usize) {
    let (mut slow, mut open) = (Vec::new(), 0);
    for pair in &suspects.pairs {
        match suspects.standing(*pair, later) {
            Standing::Slow { share, repetitions } => {
                slow.push(SlowPair { from: pair[0], to: pair[1], share, repetitions });
            }
            Standing::Open => open += 1,
            Standing::Sound => {}
        }
    }
    slow.sort_by(|one, other| one.share.total_cmp(&other.share));
    (slow, open)
}
