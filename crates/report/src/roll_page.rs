//! A greeting of every host of an inventory as a report.

use btu_suite::roll::{Greeted, Roll};
use btu_units::Span;

use crate::html::{Block, Cell, Page, PageWarning, Section, Table};
use crate::stored_page::{StoredRun, page_warning};

/// Nanoseconds in a millisecond.
const MILLISECOND: f64 = 1e6;

/// The report of `btu hosts check`.
pub fn roll_page(stored: &StoredRun, roll: &Roll) -> Page {
    let fit = roll.hosts.iter().filter(|host| host.trouble.is_none()).count();
    let headline = format!("{fit} of {} hosts answer as they should", roll.hosts.len());
    stored.page(
        headline,
        roll.hosts.iter().flat_map(warnings).collect(),
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
        host.answer.as_ref().and_then(btu_suite::roll::Answer::clock_apart_ns).map(|apart| {
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
