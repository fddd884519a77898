//! A test of a client of iperf3 as a run with another program.

use std::time::Duration;

use btu_contract::foreign::{ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_iperf3::{Direction, DirectionReport, Report};
use btu_store::{SERVED, Store};
use btu_units::{Span, plain, written_rate};

use crate::results::foreign;
use crate::stored::wall_clock_before;

/// Stores the test, if anything arrived in it: a client that only looks at the round trips of the idle
/// line sends nothing.
pub(super) fn save(store: &mut Store, report: &Report) -> anyhow::Result<()> {
    if ways(report).iter().all(|(_, way)| way.received_bytes == 0) {
        return Ok(());
    }
    let whole = report.omitted_seconds + report.seconds;
    let took = Duration::try_from_secs_f64(whole).unwrap_or_default();
    let came = (SERVED, wall_clock_before(took));
    foreign::save(store, &run(report), came, Some(Span::from(took)), None)?;
    Ok(())
}

fn run(report: &Report) -> ForeignRun {
    let ways = ways(report);
    let others = report.company.tests as f64;
    let others = ForeignQuantity::once("other tests meanwhile", ForeignUnit::Count, others);
    ForeignRun {
        program: "an iperf3 client".to_owned(),
        measured_by: MeasuredBy::Btu,
        subject: subject(report),
        answer: answer(&ways),
        quantities: ways
            .iter()
            .flat_map(|(name, way)| quantities(name, way))
            .chain([others])
            .collect(),
        courses: Vec::new(),
        remarks: remarks(report, &ways),
        warnings: Vec::new(),
        faults: faults(&ways),
    }
}

/// The directions that were measured, with their names.
fn ways(report: &Report) -> Vec<(&'static str, &DirectionReport)> {
    [("to this server", &report.to_server), ("to the client", &report.to_client)]
        .into_iter()
        .filter_map(|(name, way)| Some((name, way.as_ref()?)))
        .collect()
}

fn subject(report: &Report) -> String {
    let (protocol, client) = (report.protocol.name(), report.client.ip());
    let streams = if report.streams == 1 { "stream" } else { "streams" };
    let both = if report.direction == Direction::Both { " each way at once" } else { "" };
    format!("iperf3's client at {client}: {protocol}, {} {streams}{both}", report.streams)
}

fn answer(ways: &[(&str, &DirectionReport)]) -> String {
    let each = ways.iter().map(|(name, way)| {
        let lost = way.datagrams.as_ref().map_or_else(String::new, |all| {
            format!(", {} of {} datagrams lost", all.lost, all.sent)
        });
        format!("{} {name}{lost}", written_rate(way.rate_bits_per_second))
    });
    each.collect::<Vec<_>>().join("; ")
}

fn quantities(name: &str, way: &DirectionReport) -> Vec<ForeignQuantity> {
    let counted = if name == "to the client" { "as the client counted" } else { "" };
    let one = |what: &str, unit, value| {
        ForeignQuantity::once(&format!("{what} {name}"), unit, value).noted(counted)
    };
    let mut all = vec![one("goodput", ForeignUnit::BitsPerSecond, way.rate_bits_per_second)];
    if let Some(datagrams) = &way.datagrams {
        all.push(one("lost datagrams", ForeignUnit::Share, datagrams.lost_share()));
        all.push(one("jitter", ForeignUnit::Seconds, datagrams.jitter_seconds));
    }
    if let Some(resent) = way.resent_segments {
        all.push(one("segments sent again", ForeignUnit::Count, resent as f64));
    }
    all
}

/// The accounts, and who measured at the same time.
fn remarks(report: &Report, ways: &[(&str, &DirectionReport)]) -> Vec<String> {
    let title =
        report.title.as_deref().map(|title| format!("The client's title: {}.", plain(title)));
    let omitted = (report.omitted_seconds > 0.0)
        .then(|| format!("The first {:.1} s do not count.", report.omitted_seconds));
    let accounts = ways.iter().map(|(name, way)| format!("{name}: {}.", way.accounts()));
    let company = report.company.text();
    let mut letters = company.chars();
    let company: String =
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect();
    // Clients may count badly; this server's own count stands whatever they say.
    let is_broken = |way: &DirectionReport| report.omitted_seconds == 0.0 && !way.is_balanced();
    let broken = ways.iter().filter(|(_, way)| is_broken(way));
    let broken = broken.map(|(name, _)| format!("{name}: the client says that less was sent."));
    title
        .into_iter()
        .chain(omitted)
        .chain(accounts)
        .chain(broken)
        .chain([format!("{company}.")])
        .collect()
}

/// A test in which nothing arrived has no rate to compare.
fn faults(ways: &[(&str, &DirectionReport)]) -> Vec<String> {
    let empty = ways.iter().filter(|(_, way)| way.received_bytes == 0);
    empty.map(|(name, _)| format!("nothing arrived {name}")).collect()
}
