//! A greeting of every host of an inventory as a report.

use btu_contract::roll::{Greeted, Roll};
use btu_units::Span;
use serde_json::Value;

use crate::html::{Block, Cell, Page, PageWarning, Section, Table};
use crate::stored_page::{StoredRun, page_warning};

/// Findings of one host that are shown; `--json` has all.
const MOST_FINDINGS: usize = 3;

/// Where the rest is.
const DOCTOR: &str = "`btu hosts doctor` there has all of it";

/// Nanoseconds in a millisecond.
const MILLISECOND: f64 = 1e6;

/// The report of `btu hosts check`.
pub fn roll_page(stored: &StoredRun, roll: &Roll) -> Page {
    let fit = roll.hosts.iter().filter(|host| host.trouble.is_none()).count();
    let headline = format!("{fit} of {} hosts answer as they should", roll.hosts.len());
    stored.page(
        headline,
        roll.hosts.iter().flat_map(warnings).chain(findings(roll)).collect(),
        vec![hosts(roll), versions(roll)],
    )
}

fn warnings(host: &Greeted) -> Vec<PageWarning> {
    let name = &host.name;
    let trouble = host
        .trouble
        .as_ref()
        .map(|trouble| page_warning("not as it should be", &format!("{name}: {trouble}"), ""));
    let busy = host.answer.as_ref().and_then(|answer| answer.busy.as_ref());
    let busy = busy
        .map(|busy| page_warning("busy", &format!("{name}: {busy}"), "try again when it is free"));
    let apart =
        host.answer.as_ref().and_then(btu_contract::roll::Answer::clock_apart_ns).map(|apart| {
            let seen = format!(
                "{name}: its wall clock is off by {}",
                Span::from_nanoseconds(apart.unsigned_abs())
            );
            page_warning("clock", &seen, "`timedatectl set-ntp true` there")
        });
    trouble.into_iter().chain(busy).chain(apart).collect()
}

fn hosts(roll: &Roll) -> Option<Section> {
    let head = ["host", "reached by", "clock off by, ms", "round trip, ms", "start after, ms"];
    let mut table = Table::new("Clocks and starts", &head, 2);
    for host in &roll.hosts {
        let clock = host.answer.as_ref().and_then(|answer| answer.clock);
        let started = host.answer.as_ref().and_then(|answer| answer.started_after_ns);
        table.rows.push(vec![
            Cell::text(&host.name),
            Cell::text(&host.reached),
            Cell::number(clock.map(|clock| clock.wall_offset_ns as f64 / MILLISECOND)),
            Cell::number(clock.map(|clock| clock.round_trip_ns as f64 / MILLISECOND)),
            Cell::number(started.map(|started| started as f64 / MILLISECOND)),
        ]);
    }
    let note = roll.start_skew_ns.map_or_else(String::new, |skew| {
        let (skew, within) =
            (Span::from_nanoseconds(skew), Span::from_nanoseconds(roll.skew_within_ns));
        format!(
            "An empty cell started within {skew} on all that could be reserved, known to {within}."
        )
    });
    Section::of(
        "Hosts",
        &note,
        if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] },
    )
}

fn versions(roll: &Roll) -> Option<Section> {
    let mut table = Table::new("Versions", &["host", "btu", "activities", "features"], 4);
    for host in &roll.hosts {
        let Some(answer) = &host.answer else { continue };
        let words =
            [answer.btu_version.clone(), answer.activities.join(", "), answer.features.join(", ")];
        table
            .rows
            .push(std::iter::once(Cell::text(&host.name)).chain(words.map(Cell::text)).collect());
    }
    Section::of(
        "What they can do",
        "",
        if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] },
    )
}

/// The most severe finding of each host's own check; equal findings of several hosts are shown
/// once.
fn findings(roll: &Roll) -> impl Iterator<Item = PageWarning> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for host in &roll.hosts {
        let Some(answer) = &host.answer else { continue };
        for text in worst(&answer.findings) {
            match found.iter_mut().find(|(other, _)| *other == text) {
                Some((_, hosts)) => hosts.push(&host.name),
                None => found.push((text, vec![&host.name])),
            }
        }
    }
    let all = roll.hosts.len();
    found.into_iter().map(move |(text, hosts)| {
        let is_all = hosts.len() == all && all > 1;
        let who = if is_all { "all".to_owned() } else { named(&hosts) };
        page_warning("will not work there", &format!("{who}: {text}"), DOCTOR)
    })
}

fn named(hosts: &[&str]) -> String {
    const SHOWN: usize = 4;
    let mut text = hosts.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if hosts.len() > SHOWN {
        text = format!("{text} and {} more", hosts.len() - SHOWN);
    }
    text
}

/// The problems that a host's doctor found, as text; another version may use another form, which is
/// not shown.
fn worst(findings: &Value) -> Vec<String> {
    let missing =
        findings.as_array().into_iter().flatten().filter(|finding| finding["health"] == "missing");
    let told = missing.filter_map(|finding| {
        let (topic, seen) = (finding["topic"].as_str()?, finding["observed"].as_str()?);
        let fix = finding["fix"].as_str().map_or_else(String::new, |fix| format!("; {fix}"));
        Some(format!("{topic}: {seen}{fix}"))
    });
    told.take(MOST_FINDINGS).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use btu_contract::record::HostClock;
    use btu_contract::roll::Answer;
    use serde_json::json;

    use super::*;
    use crate::head::{RunHead, TextOptions};
    use crate::page_text::page_text;
    use crate::stored_page::Origin;

    fn host(name: &str, clock: Option<HostClock>) -> Greeted {
        let answer = Answer {
            btu_version: "0.1.0".to_owned(),
            protocol: 2,
            activities: Vec::new(),
            features: Vec::new(),
            busy: clock.is_none().then(|| "busy with run r12 of carol, free in 40 s".to_owned()),
            clock,
            started_after_ns: clock.map(|_| 40_000),
            environment: Value::Null,
            findings: json!([{"health": "missing", "topic": "netem", "observed": "no kernel module", "fix": "modprobe sch_netem"}]),
        };
        let (reached, trouble) = (format!("TLS to {name}:7417"), None);
        Greeted { name: name.to_owned(), reached, trouble, answer: Some(answer) }
    }

    #[test]
    fn a_roll_call_shows_who_is_there_and_what_is_wrong() {
        let clock = HostClock {
            offset_ns: 1,
            round_trip_ns: 210_000,
            at_ns: 0,
            wall_offset_ns: -3_000_000_000,
        };
        let trouble = Some("connecting to 192.0.2.12:7417: refused".to_owned());
        let gone =
            Greeted { name: "gamma".to_owned(), reached: "ssh".to_owned(), trouble, answer: None };
        let roll = Roll {
            hosts: vec![host("alpha", Some(clock)), host("beta", None), gone],
            start_skew_ns: Some(120_000),
            skew_within_ns: 210_000,
        };
        let (run, origin, settings) = (RunHead::default(), Origin::default(), BTreeMap::new());
        let stored = StoredRun {
            run: &run,
            origin: &origin,
            settings: &settings,
            changes: &[],
            earlier: None,
            studies: &[],
        };
        let text =
            page_text(&roll_page(&stored, &roll), &TextOptions { colour: false, width: 100 });
        for words in [
            "2 of 3 hosts answer as they should",
            "gamma: connecting to 192.0.2.12:7417: refused",
            "alpha: its wall clock is off by 3 s",
            "beta: busy with run r12",
            "alpha, beta: netem: no kernel module; modprobe sch_netem",
            "An empty cell started within 120 us",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
