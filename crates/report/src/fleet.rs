//! The result of `btu fleet` as a report.

use btu_contract::text::first_names;
use btu_network::HostName;
use btu_studies::fleet::{
    Apart, BrokenPair, FALSE_MARKS, Fleet, FleetPlan, FleetVerdict, HostSpeed, LEAST_TELLING,
    Quicker, USUAL_SPREAD,
};
use btu_units::written_rate;

use crate::html::{Block, Cell, Page, Section, Table};
use crate::number::count;
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, warned};
use crate::study::{CellTable, Reported};
use crate::summary::KeyFigure;

const MEGA: f64 = 1e6;
const MILLI: f64 = 1e-3;
const PERCENT: f64 = 100.0;

/// Of more slow hosts the headline names the slowest.
const MOST_NAMED: usize = 3;

/// A share that is no reason to look for a fault.
const SOUND: f64 = 0.9;

/// Wider tables than this are for files only.
const MOST_COLUMNS: usize = 16;

impl Reported for FleetPlan {
    fn page(&self, verdict: &FleetVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let sections = vec![matrix(verdict), parts(verdict), slow(verdict), pairs(verdict)];
        let page = stored.page(headline(verdict), warned(&verdict.warnings), sections);
        Page { summary: stored.summary(figures(verdict), String::new()), ..page }
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// The typical rate, and all pairs at once.
fn figures(verdict: &FleetVerdict) -> Vec<KeyFigure> {
    let figure = |name: &str, value: f64, note: String| KeyFigure {
        name: name.to_owned(),
        value: written_rate(value),
        interval: String::new(),
        note,
    };
    let usual = verdict.model.as_ref().map(|model| {
        let norm = if model.quicker.is_some() { ", which may be that of slow hosts" } else { "" };
        figure("typical", model.usual_bits_per_second, format!("from one host to another{norm}"))
    });
    let at_once = verdict.at_once.as_ref().map(|of| {
        let pairs = verdict.hosts.len() / 2;
        let share = of.alone_bits_per_second.map(|alone| of.sum_bits_per_second / alone);
        let share = share.map_or_else(String::new, |share| {
            format!(", {:.0} % of what they get alone", PERCENT * share)
        });
        figure(
            "at once",
            of.sum_bits_per_second,
            format!("{} together{share}", count(pairs, "pair")),
        )
    });
    usual.into_iter().chain(at_once).collect()
}

/// What is slow, or that nothing is, and what would have been seen.
fn headline(verdict: &FleetVerdict) -> String {
    let number = verdict.hosts.len();
    if verdict.missing > 0 {
        let all = number * (number - 1);
        return format!(
            "Interrupted: {} of {}; no answer yet",
            all - verdict.missing,
            count(all, "pair")
        );
    }
    let Some(model) = &verdict.model else {
        let broken = broken(verdict).pop();
        return broken.unwrap_or_else(|| "No pair of hosts was measured".to_owned());
    };
    let found = [
        broken(verdict),
        apart(verdict, model),
        links(verdict, model),
        hosts(verdict, model),
        slow_pairs(verdict, model),
    ]
    .concat();
    match &model.quicker {
        _ if !found.is_empty() => found.join("; "),
        Some(quicker) => no_norm(verdict, quicker),
        None => none(number, model),
    }
}

/// That the typical rate is no norm: some hosts are quicker than that among themselves.
fn no_norm(verdict: &FleetVerdict, Quicker { hosts, ratio }: &Quicker) -> String {
    let number = verdict.hosts.len();
    let names: Vec<&str> = hosts.iter().map(|host| verdict.hosts[*host].as_str()).collect();
    format!(
        "Cannot tell whether {} of {number} hosts are slow, or {} share a fast link: among themselves these have {ratio:.1} \
         times the rate of other pairs",
        number - hosts.len(),
        first_names(&names, MOST_NAMED)
    )
}

/// That nothing is slow, as far as the spread lets that be seen.
fn none(hosts: usize, model: &Fleet) -> String {
    let least = PERCENT * model.least_host;
    if model.least_host < LEAST_TELLING {
        return format!(
            "Cannot tell whether one of {hosts} hosts is slow: only one below {least:.0} % of the typical rate could have \
             been seen"
        );
    }
    let pair = match model.least_pair {
        _ if model.open_pairs > 0 => {
            format!("; {} not told yet", count(model.open_pairs, "suspicious pair"))
        }
        Some(least) => format!(", a pair below {:.0} %", PERCENT * least),
        None => "; pairs cannot be told from their hosts".to_owned(),
    };
    format!(
        "None of {hosts} hosts is slow: one below {least:.0} % of the typical rate would have been seen{pair}"
    )
}

/// Pairs that carry nothing; a host by its name alone if none of its pairs does.
fn broken(verdict: &FleetVerdict) -> Vec<String> {
    let Some(first) = verdict.broken.first() else { return Vec::new() };
    let others = 2 * (verdict.hosts.len() - 1);
    let of_host = |host: &String| {
        let is_its = |pair: &&BrokenPair| {
            [&pair.from, &pair.to].map(HostName::as_str).contains(&host.as_str())
        };
        verdict.broken.iter().filter(is_its).count()
    };
    let lost: Vec<&String> = verdict.hosts.iter().filter(|host| of_host(host) == others).collect();
    let why = &first.why;
    if !lost.is_empty() && lost.len() < verdict.hosts.len() {
        let names =
            first_names(&lost.iter().map(|host| host.as_str()).collect::<Vec<_>>(), MOST_NAMED);
        return vec![format!("nothing gets from or to {names}: {why}")];
    }
    let is_in = |host: &&&str| {
        verdict.broken.iter().all(|pair| [pair.from.as_str(), pair.to.as_str()].contains(host))
    };
    let ends = [first.from.as_str(), first.to.as_str()];
    let common: Vec<&&str> = ends.iter().filter(is_in).collect();
    if let (2.., [host]) = (verdict.broken.len(), &common[..]) {
        return vec![format!("{} of {others} pairs of {host} fail: {why}", verdict.broken.len())];
    }
    let more = match verdict.broken.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    vec![format!("{} to {} fails{more}: {why}", first.from, first.to)]
}

fn apart(verdict: &FleetVerdict, model: &Fleet) -> Vec<String> {
    let Some(Apart { groups, share }) = &model.apart else { return Vec::new() };
    let group = |group: &Vec<usize>| {
        first_names(
            &group.iter().map(|host| verdict.hosts[*host].as_str()).collect::<Vec<_>>(),
            MOST_NAMED,
        )
    };
    let groups: Vec<String> = groups.iter().map(group).collect();
    let text = format!(
        "It is slow between groups of hosts, {:.0} % of the rate within them: {}",
        PERCENT * share,
        groups.join(" | ")
    );
    vec![text]
}

fn links(verdict: &FleetVerdict, model: &Fleet) -> Vec<String> {
    let link = |group: &Vec<usize>| {
        let names: Vec<&str> = group.iter().map(|host| verdict.hosts[*host].as_str()).collect();
        let share = group.iter().map(|host| share_of(model, *host)).fold(1.0, f64::min);
        format!(
            "The link of {} is slow: {:.0} % of the typical rate to others, and all of it among themselves",
            names.join(" and "),
            PERCENT * share
        )
    };
    model.behind_a_slow_link.iter().map(link).collect()
}

/// What a slow host does, and with which share: one way if it is sound the other way.
fn way(model: &Fleet, host: usize) -> (&'static str, f64) {
    let share = |ways: &Vec<Option<HostSpeed>>| ways[host].map_or(1.0, |way| way.share);
    let (sends, receives) = (share(&model.senders), share(&model.receivers));
    match (sends > SOUND, receives > SOUND) {
        (false, true) => ("sends", sends),
        (true, false) => ("receives", receives),
        _ => ("has", share(&model.hosts)),
    }
}

fn share_of(model: &Fleet, host: usize) -> f64 {
    way(model, host).1
}

fn hosts(verdict: &FleetVerdict, model: &Fleet) -> Vec<String> {
    let host = |place: usize| {
        let (ways, share) = way(model, place);
        format!(
            "{} is slow: {ways} {:.0} % of the typical rate",
            verdict.hosts[place],
            PERCENT * share
        )
    };
    let mut slow: Vec<usize> =
        (0..verdict.hosts.len()).filter(|place| model.is_slow(*place)).collect();
    slow.sort_by(|one, other| share_of(model, *one).total_cmp(&share_of(model, *other)));
    let more = slow.len().saturating_sub(MOST_NAMED);
    let named = slow.into_iter().take(MOST_NAMED).map(host);
    let others = (more > 0).then(|| count(more, "more slow host"));
    named.chain(others).collect()
}

fn slow_pairs(verdict: &FleetVerdict, model: &Fleet) -> Vec<String> {
    let pair = model.slow_pairs.first().map(|pair| {
        let more = model.slow_pairs.len() - 1;
        let others = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!(
            "{} to {} is slow: {:.0} % of what these hosts reach with others{others}",
            verdict.hosts[pair.from],
            verdict.hosts[pair.to],
            PERCENT * pair.share
        )
    });
    pair.into_iter().collect()
}

/// The rates from each host, by line, to each host, by column.
fn matrix(verdict: &FleetVerdict) -> Option<Section> {
    if verdict.hosts.len() > MOST_COLUMNS {
        return None;
    }
    let head: Vec<&str> =
        ["from \\ to"].into_iter().chain(verdict.hosts.iter().map(String::as_str)).collect();
    let mut table = Table { shaded: true, ..Table::new("Mb/s from host to host", &head, 1) };
    for from in &verdict.hosts {
        let cells = verdict.hosts.iter().map(|to| {
            let pair = verdict
                .pairs
                .iter()
                .find(|pair| pair.from.as_str() == from && pair.to.as_str() == to);
            Cell::number(pair.and_then(|pair| Some(pair.goodput_bits_per_second?.value / MEGA)))
        });
        table.rows.push(std::iter::once(Cell::text(from)).chain(cells).collect());
    }
    let note =
        "payload at the receiver; each line is what a host sends, each column what it receives";
    Section::of("From host to host", note, vec![Block::Table(table)])
}

/// What each host has of the typical rate.
fn parts(verdict: &FleetVerdict) -> Option<Section> {
    let model = verdict.model.as_ref()?;
    let head = ["host", "sends, %", "receives, %", "both, %", "slow"];
    let mut table = Table::new("Hosts, % of the typical rate", &head, 1);
    for (place, host) in verdict.hosts.iter().enumerate() {
        let mark = match &model.quicker {
            _ if model.is_slow(place) => "host",
            _ if model.is_behind_a_slow_link(place) => "its link",
            Some(quicker) if quicker.hosts.contains(&place) => "no, quicker",
            Some(_) => "not told",
            None => "",
        };
        let share = |way: &Vec<Option<HostSpeed>>| {
            Cell::number(way[place].map(|speed| PERCENT * speed.share))
        };
        table.rows.push(vec![
            Cell::text(host),
            share(&model.senders),
            share(&model.receivers),
            share(&model.hosts),
            Cell::text(mark),
        ]);
    }
    let seen = match model.quicker {
        Some(_) => "that rate may be that of slow hosts".to_owned(),
        None => {
            format!(
                "one below {:.0} % would have been seen 19 of 20 times",
                PERCENT * model.least_host
            )
        }
    };
    let note = format!(
        "by median polish of the rates' logarithms; a host is slow where it has less than 90 % of the typical rate and chance \
         would mark {FALSE_MARKS} in a run of this size, on average, if sound hosts differ by {:.0} %; {seen}",
        PERCENT * USUAL_SPREAD,
    );
    Section::of("Hosts", &note, vec![Block::Table(table)])
}

/// Pairs that are slower than their hosts.
fn slow(verdict: &FleetVerdict) -> Option<Section> {
    let model = verdict.model.as_ref().filter(|model| !model.slow_pairs.is_empty())?;
    let mut table = Table::new("Slow pairs", &["from", "to", "share, %", "repetitions"], 2);
    for pair in &model.slow_pairs {
        table.rows.push(vec![
            Cell::text(&verdict.hosts[pair.from]),
            Cell::text(&verdict.hosts[pair.to]),
            Cell::number(Some(PERCENT * pair.share)),
            Cell::number(Some(pair.repetitions as f64)),
        ]);
    }
    let note =
        "of the rate that the two hosts have with others; slower than these in each repetition";
    Section::of("Slow pairs", note, vec![Block::Table(table)])
}

/// Everything of each pair.
fn pairs(verdict: &FleetVerdict) -> Option<Section> {
    let head = ["from", "to", "Mb/s", "round trip, ms", "resent, %"];
    let mut table = Table::new("Pairs", &head, 2);
    for pair in &verdict.pairs {
        table.rows.push(vec![
            Cell::text(pair.from.as_str()),
            Cell::text(pair.to.as_str()),
            Cell::estimate(pair.goodput_bits_per_second.as_ref(), MEGA),
            Cell::number(pair.round_trip_seconds.map(|seconds| seconds / MILLI)),
            Cell::number(pair.sent_again.map(|share| PERCENT * share)),
        ]);
    }
    let note = "goodput: geometric mean of the blocks, 95 %; round trip: the shortest that TCP saw";
    Section::of("Pairs", note, vec![Block::Table(table)])
}

#[cfg(test)]
mod tests {
    use btu_studies::fleet::{AtOnce, HostSpeed, SlowPair};

    use super::*;

    /// Eight hosts, these of which are slow senders, and these of which are behind a slow link.
    fn verdict(slow: &[usize], behind: &[usize], slow_pairs: Vec<SlowPair>) -> FleetVerdict {
        let part = |is_slow: bool, host: usize| {
            Some(HostSpeed {
                share: if is_slow { 0.3 + host as f64 / 100.0 } else { 1.0 },
                is_slow,
            })
        };
        let is_slow = |host: &usize| slow.contains(host) || behind.contains(host);
        let model = Fleet {
            usual_bits_per_second: 94e6,
            hosts: (0..8).map(|host| part(is_slow(&host), host)).collect(),
            senders: (0..8).map(|host| part(is_slow(&host), host)).collect(),
            receivers: (0..8).map(|host| part(behind.contains(&host), host)).collect(),
            least_host: 0.74,
            least_pair: Some(0.55),
            slow_pairs,
            open_pairs: 0,
            apart: None,
            quicker: None,
            behind_a_slow_link: if behind.is_empty() { Vec::new() } else { vec![behind.to_vec()] },
        };
        FleetVerdict {
            hosts: (0..8).map(|host| format!("h{host}")).collect(),
            pairs: Vec::new(),
            broken: Vec::new(),
            missing: 0,
            model: Some(model),
            at_once: Some(AtOnce {
                sum_bits_per_second: 376e6,
                alone_bits_per_second: Some(376e6),
            }),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_headline_names_what_is_slow() {
        let said = |slow: &[usize], behind: &[usize]| headline(&verdict(slow, behind, Vec::new()));
        assert_eq!(
            said(&[], &[]),
            "None of 8 hosts is slow: one below 74 % of the typical rate would have been seen, a pair below 55 %"
        );
        assert_eq!(said(&[5], &[]), "h5 is slow: sends 35 % of the typical rate");
        assert_eq!(
            said(&[], &[0, 1]),
            "The link of h0 and h1 is slow: 30 % of the typical rate to others, and all of it among themselves"
        );
        assert!(
            said(&[1, 2, 3, 4], &[])
                .ends_with("h3 is slow: sends 33 % of the typical rate; 1 more slow host")
        );
        let pair = SlowPair { from: 2, to: 6, share: 0.25, repetitions: 9 };
        assert_eq!(
            headline(&verdict(&[], &[], vec![pair, pair])),
            "h2 to h6 is slow: 25 % of what these hosts reach with others, and 1 more"
        );
    }

    #[test]
    fn what_fails_and_what_lies_apart_come_first() {
        let mut verdict = verdict(&[], &[], Vec::new());
        let name = |host: usize| HostName::try_from(format!("h{host}")).unwrap();
        let pair = |from: usize, to: usize| BrokenPair {
            from: name(from),
            to: name(to),
            why: "timed out".to_owned(),
        };
        verdict.broken = vec![pair(1, 2)];
        assert_eq!(headline(&verdict), "h1 to h2 fails: timed out");
        verdict.broken = vec![pair(3, 2), pair(1, 3)];
        assert_eq!(headline(&verdict), "2 of 14 pairs of h3 fail: timed out");
        let others = (0..8).filter(|host| *host != 3);
        verdict.broken = others.flat_map(|host| [pair(3, host), pair(host, 3)]).collect();
        assert_eq!(headline(&verdict), "nothing gets from or to h3: timed out");
        verdict.broken = Vec::new();
        let groups = vec![(0..4).collect(), (4..8).collect()];
        verdict.model.as_mut().unwrap().apart = Some(Apart { groups, share: 0.4 });
        assert_eq!(
            headline(&verdict),
            "It is slow between groups of hosts, 40 % of the rate within them: h0, h1, h2, h3 | h4, h5, h6, h7"
        );
    }

    #[test]
    fn what_could_not_be_seen_is_said() {
        let mut verdict = verdict(&[], &[], Vec::new());
        let model = verdict.model.as_mut().unwrap();
        (model.least_pair, model.open_pairs) = (None, 0);
        assert!(
            headline(&verdict)
                .ends_with("would have been seen; pairs cannot be told from their hosts")
        );
        verdict.model.as_mut().unwrap().open_pairs = 2;
        assert!(headline(&verdict).ends_with("; 2 suspicious pairs not told yet"));
        verdict.model.as_mut().unwrap().least_host = 0.12;
        assert_eq!(
            headline(&verdict),
            "Cannot tell whether one of 8 hosts is slow: only one below 12 % of the typical rate could have been seen"
        );
        verdict.model.as_mut().unwrap().quicker = Some(Quicker { hosts: vec![2, 3], ratio: 2.5 });
        assert_eq!(
            headline(&verdict),
            "Cannot tell whether 6 of 8 hosts are slow, or h2, h3 share a fast link: among themselves these have 2.5 times \
             the rate of other pairs"
        );
        assert_eq!(
            figures(&verdict)[0].note,
            "from one host to another, which may be that of slow hosts"
        );
        assert!(parts(&verdict).unwrap().note.ends_with("; that rate may be that of slow hosts"));
        verdict.missing = 46;
        assert_eq!(headline(&verdict), "Interrupted: 10 of 56 pairs; no answer yet");
    }

    #[test]
    fn figures_are_the_usual_rate_and_all_at_once() {
        let figures = figures(&verdict(&[], &[], Vec::new()));
        let said: Vec<String> =
            figures.iter().map(|one| format!("{} {} {}", one.name, one.value, one.note)).collect();
        assert_eq!(
            said,
            [
                "typical 94.0 Mb/s from one host to another",
                "at once 376 Mb/s 4 pairs together, 100 % of what they get alone"
            ]
        );
    }
}
