//! A roll call as text: a line for each host, and the advice for those with problems.

use btu_suite::roll::{Answer, Greeted, Roll};
use btu_units::Span;
use serde_json::Value;

use crate::head::{RunHead, TextOptions};
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// Findings of one host that are shown; `--json` has all.
const MOST_FINDINGS: usize = 3;

/// The whole answer of a roll call, as text for a terminal.
pub fn roll_text(roll: &Roll, run: &RunHead, options: &TextOptions) -> String {
    page(vec![
        title(roll, run, options),
        table(roll, options),
        troubles(roll, options),
        findings(roll, options),
    ])
}

fn title(roll: &Roll, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let fit = roll.hosts.iter().filter(|host| host.trouble.is_none()).count();
    let mut lines = vec![
        format!(
            "{} {}",
            paint.title("Hosts"),
            paint.strong(&format!("{fit} of {} answer as they should", roll.hosts.len()))
        ),
        paint.quiet(&format!("run {}   {}   {}", run.id, run.started, run.network)),
    ];
    if let Some(skew) = roll.start_skew_ns {
        let (skew, within) =
            (Span::from_nanoseconds(skew), Span::from_nanoseconds(roll.skew_within_ns));
        let started =
            roll.hosts.iter().filter_map(|host| host.answer.as_ref()?.started_after_ns).count();
        let on = if started == roll.hosts.len() { "all".to_owned() } else { started.to_string() };
        lines.push(format!(
            "An empty cell started within {skew} on {on} of them, known to {within}."
        ));
    }
    lines
}

fn table(roll: &Roll, options: &TextOptions) -> Vec<String> {
    let head = ["host", "btu", "reached by", "clock off by", "round trip", "start after"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), 3);
    for host in &roll.hosts {
        let answer = host.answer.as_ref();
        let clock = answer.and_then(|answer| answer.clock);
        sheet.row(vec![
            host.name.clone(),
            answer.map_or_else(|| "-".to_owned(), |answer| answer.btu_version.clone()),
            host.reached.clone(),
            clock.map_or_else(String::new, |clock| signed(clock.wall_offset_ns)),
            clock.map_or_else(String::new, |clock| {
                Span::from_nanoseconds(clock.round_trip_ns).to_string()
            }),
            answer
                .and_then(|answer| answer.started_after_ns)
                .map_or_else(String::new, |late| Span::from_nanoseconds(late).to_string()),
        ]);
    }
    section("Who is there", "clocks against this machine's", sheet.lines(), options)
}

/// A time that may be negative.
fn signed(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}", Span::from_nanoseconds(nanoseconds.unsigned_abs()))
}

fn troubles(roll: &Roll, options: &TextOptions) -> Vec<String> {
    let lines: Vec<String> = roll
        .hosts
        .iter()
        .flat_map(trouble)
        .flat_map(|text| wrap(&text, options.columns(), 2))
        .collect();
    if lines.is_empty() { lines } else { section("Not as it should be", "", lines, options) }
}

fn trouble(host: &Greeted) -> Vec<String> {
    let answer = host.answer.as_ref();
    let busy =
        answer.and_then(|answer| answer.busy.as_ref()).map(|busy| format!("{}: {busy}", host.name));
    let apart = answer.and_then(Answer::clock_apart_ns).map(|apart| {
        let way = if apart < 0 { "behind" } else { "ahead" };
        let by = Span::from_nanoseconds(apart.unsigned_abs());
        format!("{}: its clock is {by} {way}: `timedatectl set-ntp true` there", host.name)
    });
    let trouble = host.trouble.as_ref().map(|trouble| {
        if trouble.contains(host.name.as_str()) {
            trouble.clone()
        } else {
            format!("{}: {trouble}", host.name)
        }
    });
    [trouble, busy, apart].into_iter().flatten().collect()
}

/// The most severe finding of each host's own check; equal findings of several hosts are shown
/// once.
fn findings(roll: &Roll, options: &TextOptions) -> Vec<String> {
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
    let lines: Vec<String> = found
        .into_iter()
        .flat_map(|(text, hosts)| {
            let who = if hosts.len() == roll.hosts.len() && hosts.len() > 1 {
                "all".to_owned()
            } else {
                named(&hosts)
            };
            wrap(&format!("{who}: {text}"), options.columns(), 2)
        })
        .collect();
    if lines.is_empty() {
        lines
    } else {
        section("What will not work there", "`btu hosts doctor` has all of it", lines, options)
    }
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
        let (topic, seen) = (
            finding["topic"].as_str()?,
            finding["observed"].as_str().or(finding["seen"].as_str())?,
        );
        let fix = finding["fix"].as_str().or(finding["mend"].as_str()); // retired word: runs stored before
        let fix = fix.map_or_else(String::new, |fix| format!("; {fix}"));
        Some(format!("{topic}: {seen}{fix}"))
    });
    told.take(MOST_FINDINGS).collect()
}

#[cfg(test)]
mod tests {
    use btu_suite::record::HostClock;
    use serde_json::json;

    use super::*;

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
        Greeted {
            name: name.to_owned(),
            reached: format!("TLS to {name}:7417"),
            trouble: None,
            answer: Some(answer),
        }
    }

    fn head() -> RunHead {
        RunHead {
            id: "r3".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            network: "3 hosts of lab.toml".to_owned(),
            profile: "check".to_owned(),
            seed: 0,
            machine: String::new(),
            hosts: Vec::new(),
            conditions: Vec::new(),
            database: String::new(),
            duration: Span::ZERO,
            own_cost: None,
            notes: Vec::new(),
            busy: None,
        }
    }

    #[test]
    fn a_roll_call_shows_who_is_there_and_what_is_wrong() {
        let clock = HostClock {
            offset_ns: 1,
            round_trip_ns: 210_000,
            at_ns: 0,
            wall_offset_ns: -3_000_000_000,
        };
        let gone = Greeted {
            name: "gamma".to_owned(),
            reached: "ssh to gamma".to_owned(),
            trouble: Some(
                "host gamma cannot be reached: connecting to 192.0.2.12:7417: refused".to_owned(),
            ),
            answer: None,
        };
        let roll = Roll {
            hosts: vec![host("alpha", Some(clock)), host("beta", None), gone],
            start_skew_ns: Some(120_000),
            skew_within_ns: 210_000,
        };
        insta::assert_snapshot!(roll_text(
            &roll,
            &head(),
            &TextOptions { colour: false, width: 100 }
        ));
    }
}
