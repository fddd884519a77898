//! Signatures as a report: throughput against size and against time, the key figures, and the
//! differences from the first.

use btu_stats::Estimate;
use btu_studies::pipe::{PipeVerdict, SetVerdict, SignatureCost, SizeVerdict, cost_over};

use super::first;
use super::set::{explained, names, set_title};
use super::warnings::together;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, PageWarning, Panel, Point, Role, Section,
    Series, Table,
};
use crate::stored_page::{StoredRun, page_warning};
use crate::summary::Next;
use crate::unit::{self, time};
use crate::versus::{first_of, leaders};

/// Bits per second in a megabit per second, and seconds in a microsecond.
const MEGABIT: f64 = 1e6;
const MICROSECOND: f64 = 1e-6;

/// A signature with its name in the report.
pub(super) type Named<'a> = (String, &'a PipeVerdict);

/// The report of a signature.
pub(super) fn pipe_page(stored: &StoredRun, verdict: &PipeVerdict) -> Page {
    let named = [(verdict.kind.label().to_owned(), verdict)];
    let alone = [(String::new(), verdict)];
    let headline = format!(
        "Signature of {}, {}{}",
        verdict.kind.label(),
        verdict.pattern,
        figures_in_words(verdict)
    );
    let page = stored.page(headline, warnings(&alone), sections(&named));
    Page { summary: stored.summary(first::figures(verdict), first::limit(verdict)), ..page }
}

/// The first screen of several signatures, each a run of its own, that were measured by one
/// command.
pub fn several_page(stored: &[StoredRun], verdicts: &[&PipeVerdict]) -> Page {
    let named: Vec<Named> =
        verdicts.iter().map(|verdict| (verdict.kind.label().to_owned(), *verdict)).collect();
    let Some(((_, base), others)) = named.split_first() else { return Page::default() };
    let costs: Vec<SignatureCost> =
        others.iter().map(|(_, other)| cost_over(other, base)).collect();
    let costs: Vec<&SignatureCost> = costs.iter().collect();
    let headline = format!("{} signatures, {}: {}", named.len(), base.pattern, quickest(&named));
    let figures = first::compared(&named, &costs);
    let mut summary =
        stored.first().map(|first| first.summary(figures, String::new())).unwrap_or_default();
    let ids: Vec<&str> = stored.iter().map(|one| one.run.id.as_str()).collect();
    summary.next = vec![
        Next::new(format!("btu compare {} --all", ids.join(" ")), "every size of all of them"),
        Next::new(format!("btu show {} --all", ids[0]), "every table of one"),
    ];
    Page {
        headline,
        warnings: warnings(&named),
        sections: sections_with_cost(&named, &costs).into_iter().flatten().collect(),
        summary,
        ..Page::default()
    }
}

/// The signature with the shortest latency, and the one with the highest rate, where their intervals
/// lie apart from all others'.
fn quickest(named: &[Named]) -> String {
    let of = |value: fn(&PipeVerdict) -> Option<Estimate>| -> Vec<(&str, Estimate)> {
        let found = named.iter().map(|(name, verdict)| (name.as_str(), value(verdict)));
        found.filter_map(|(name, value)| Some((name, value?))).collect()
    };
    let mut latencies = of(|verdict| Some(verdict.latency.as_ref()?.median_seconds));
    let mut rates = of(|verdict| Some(verdict.maximum.as_ref()?.bits_per_second));
    latencies.sort_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    rates.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    if let ([quick], [most]) = (&leaders(&latencies)[..], &leaders(&rates)[..])
        && quick == most
    {
        let (latency, rate) = (latencies[0].1.value, rates[0].1.value);
        let (latency, rate) = (time(latency), unit::rate(rate));
        return format!("{quick} is quickest with {latency} and carries most, {rate}");
    }
    let quick = first_of(&latencies, |name, latency| {
        format!("{name} is quickest with {}", time(latency.value))
    });
    let most =
        first_of(&rates, |name, rate| format!("{name} carries most, {}", unit::rate(rate.value)));
    let parts = [("latency", quick), ("rate", most)].map(|(of, text)| match text.as_str() {
        none if none.starts_with("no difference") => format!("{of}: {none}"),
        _ => text,
    });
    parts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The report of several signatures of one run.
pub(super) fn set_page(stored: &StoredRun, verdict: &SetVerdict) -> Page {
    let verdicts = verdict.signatures.iter().map(|one| &one.verdict);
    let named: Vec<Named> = names(verdict).into_iter().zip(verdicts).collect();
    let layers = verdict.layers.iter().map(|layer| &layer.cost);
    let costs: Vec<&SignatureCost> =
        layers.chain(verdict.loads.iter().map(|load| &load.cost)).collect();
    let page = stored.page(
        format!("{}: {}", set_title(verdict.purpose), quickest(&named)),
        warnings(&named),
        sections_with_cost(&named, &costs),
    );
    let summary = stored.summary(first::compared(&named, &costs), String::new());
    let footer = std::iter::once(explained(verdict)).chain(page.footer).collect();
    Page { summary, footer, ..page }
}

/// The sections of several signatures, with the cost of all over the first.
pub(super) fn sections_with_cost(
    named: &[Named],
    costs: &[&SignatureCost],
) -> Vec<Option<Section>> {
    let mut all = sections(named);
    all.insert(1, cost(named, costs));
    all
}

/// `: 26.1 us, up to 1.2 Gb/s`.
fn figures_in_words(verdict: &PipeVerdict) -> String {
    let latency = verdict.latency.as_ref().map(|latency| time(latency.median_seconds.value));
    let maximum = verdict.maximum.as_ref();
    let maximum = maximum.map(|peak| format!("up to {}", unit::rate(peak.bits_per_second.value)));
    let words: Vec<String> = latency.into_iter().chain(maximum).collect();
    if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
}

fn warnings(named: &[Named]) -> Vec<PageWarning> {
    let reasons = together(named).into_iter();
    reasons
        .map(|reason| page_warning(reason.title, &reason.seen.join("; "), reason.advice))
        .collect()
}

fn sections(named: &[Named]) -> Vec<Option<Section>> {
    vec![
        Some(key_figures(named)),
        by_size(named),
        by_time(named),
        exchanges(named),
        accounts(named),
    ]
}

/// Latency, maximum, and the fit of a fixed time and a rate to the larger half of the sizes.
fn key_figures(named: &[Named]) -> Section {
    let head = ["", "latency, us", "maximum, Mb/s", "fixed time, us", "rate, Mb/s", "n-half, B"];
    let mut table = Table::new("Key figures", &head, 1);
    for (name, verdict) in named {
        let latency = verdict.latency.as_ref().map(|latency| &latency.median_seconds);
        let maximum = verdict.maximum.as_ref().map(|peak| &peak.bits_per_second);
        let fit = verdict.fit.as_ref().filter(|fit| !fit.is_poor());
        let rate = fit.and_then(|fit| fit.rate_bits_per_second.as_ref());
        let half = fit.and_then(|fit| fit.knee.as_ref()).map(|knee| &knee.half_bytes);
        table.rows.push(vec![
            Cell::text(name),
            Cell::estimate(latency, MICROSECOND),
            Cell::estimate(maximum, MEGABIT),
            Cell::estimate(fit.map(|fit| &fit.fixed_seconds), MICROSECOND),
            Cell::estimate(rate, MEGABIT),
            Cell::estimate(half, 1.0),
        ]);
    }
    let note = "Latency is one way, of messages up to 8 B. The fixed time t0 and the rate r are fitted to the larger half of the \
                sizes, t(n) = t0 + n/r, and left out where a time is more than a tenth off; at n-half = t0 r half the rate is reached. \
                Intervals are at 95 %.";
    Section {
        title: "Key figures".to_owned(),
        note: note.to_owned(),
        blocks: vec![Block::Table(table)],
        appendix: false,
    }
}

fn by_size(named: &[Named]) -> Option<Section> {
    let point = |size: &SizeVerdict| {
        with_interval(size.size.count() as f64, &size.throughput_bits_per_second)
    };
    let panel = Panel {
        title: String::new(),
        x: Axis::logarithmic("message size, B"),
        y: Axis::logarithmic("throughput, Mb/s"),
        series: series(named, point),
    };
    let figure = Figure {
        name: "throughput".to_owned(),
        title: "Throughput against message size".to_owned(),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table: sizes(named),
    };
    drawn(named, "Throughput", "The graph that most benchmarks draw; intervals at 95 %.", figure)
}

fn by_time(named: &[Named]) -> Option<Section> {
    let point = |size: &SizeVerdict| {
        with_interval(
            size.one_way.median_seconds.value / MICROSECOND,
            &size.throughput_bits_per_second,
        )
    };
    let panel = Panel {
        title: String::new(),
        x: Axis::logarithmic("time of a message one way, us"),
        y: Axis::logarithmic("throughput, Mb/s"),
        series: series(named, point),
    };
    let mut table = Table::new(
        "Time of a message and throughput",
        &["", "message, B", "time, us", "throughput, Mb/s"],
        1,
    );
    for (name, size) in every(named) {
        table.rows.push(vec![
            Cell::text(name),
            Cell::count(size.size.count()),
            Cell::estimate(Some(&size.one_way.median_seconds), MICROSECOND),
            Cell::estimate(Some(&size.throughput_bits_per_second), MEGABIT),
        ]);
    }
    let figure = Figure {
        name: "signature".to_owned(),
        title: "Signature: throughput against the time of a message".to_owned(),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table,
    };
    let note = "NetPIPE's signature: where it begins is the latency, where it bends the saturation point, where it ends the rate.";
    drawn(named, "Signature", note, figure)
}

fn drawn(named: &[Named], title: &str, note: &str, figure: Figure) -> Option<Section> {
    let is_drawn = named.iter().any(|(_, verdict)| !verdict.sizes.is_empty());
    Section::of(title, note, if is_drawn { vec![Block::Figure(figure)] } else { Vec::new() })
}

fn series(named: &[Named], point: impl Fn(&SizeVerdict) -> Point) -> Vec<Series> {
    let one = |(index, (name, verdict)): (usize, &Named)| Series {
        name: name.clone(),
        role: Role::Member(index),
        mark: Drawn::LinePoints,
        points: verdict.sizes.iter().map(&point).collect(),
    };
    named.iter().enumerate().map(one).collect()
}

/// A throughput in Mb/s over `x`.
fn with_interval(x: f64, throughput: &Estimate) -> Point {
    let interval = throughput.interval.map(|ends| (ends.low / MEGABIT, ends.high / MEGABIT));
    Point { interval, ..Point::new(x, throughput.value / MEGABIT) }
}

fn every<'a>(named: &'a [Named<'a>]) -> impl Iterator<Item = (&'a String, &'a SizeVerdict)> {
    named.iter().flat_map(|(name, verdict)| verdict.sizes.iter().map(move |size| (name, size)))
}

/// Every size with its times.
fn sizes(named: &[Named]) -> Table {
    let head = [
        "",
        "message, B",
        "trials",
        "repetitions",
        "least, us",
        "median, us",
        "mean, us",
        "most, us",
        "Mb/s",
    ];
    let mut table = Table::new("One-way times of every size", &head, 1);
    for (name, size) in every(named) {
        let times = &size.one_way;
        table.rows.push(vec![
            Cell::text(name),
            Cell::count(size.size.count()),
            Cell::count(size.trials as u64),
            Cell::count(size.repetitions),
            Cell::number(Some(times.least_seconds / MICROSECOND)),
            Cell::estimate(Some(&times.median_seconds), MICROSECOND),
            Cell::estimate(Some(&times.mean_seconds), MICROSECOND),
            Cell::number(Some(times.most_seconds / MICROSECOND)),
            Cell::estimate(Some(&size.throughput_bits_per_second), MEGABIT),
        ]);
    }
    table
}

/// Percentiles of single exchanges, where each of them was timed.
fn exchanges(named: &[Named]) -> Option<Section> {
    let head = ["", "message, B", "n", "p50, us", "p90, us", "p99, us", "p99.9, us", "longest, us"];
    let mut table = Table::new("Single exchanges", &head, 1);
    for (name, size) in every(named) {
        let Some(times) = &size.exchanges else { continue };
        let percentiles = [
            Some(times.p50_seconds),
            times.p90_seconds,
            times.p99_seconds,
            times.p999_seconds,
            Some(times.most_seconds),
        ];
        let first = [Cell::text(name), Cell::count(size.size.count()), Cell::count(times.count)];
        let us = |seconds: Option<f64>| Cell::number(seconds.map(|seconds| seconds / MICROSECOND));
        table.rows.push(first.into_iter().chain(percentiles.map(us)).collect());
    }
    let note = "The time of each exchange (--each), of a ping-pong there and back. n is their number; a percentile that n does not \
                allow is left out.";
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    Section::of("Single exchanges", note, blocks)
}

/// The differences of the others from the first.
fn cost(named: &[Named], costs: &[&SignatureCost]) -> Option<Section> {
    let ((base, _), others) = named.split_first()?;
    let head = [
        "",
        "latency, more us",
        "latency, ratio",
        "maximum, ratio",
        "each message, more us",
        "each byte, more ns",
    ];
    let mut table = Table::new(&format!("Compared with {base}"), &head, 1);
    for ((name, _), cost) in others.iter().zip(costs) {
        table.rows.push(vec![
            Cell::text(name),
            Cell::estimate(cost.latency_more_seconds.as_ref(), MICROSECOND),
            Cell::estimate(cost.latency_ratio.as_ref(), 1.0),
            Cell::estimate(cost.maximum_ratio.as_ref(), 1.0),
            Cell::estimate(cost.per_message_seconds.as_ref(), MICROSECOND),
            Cell::estimate(cost.per_byte_seconds.as_ref(), 1e-9),
        ]);
    }
    let note =
        "All were measured size by size in turns, so that what else went on met all of them.";
    Section::of(
        "What it costs",
        note,
        if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] },
    )
}

/// The accounts of all messages.
fn accounts(named: &[Named]) -> Option<Section> {
    let head = ["", "sent", "received", "duplicates", "lost", "looked at", "wrong"];
    let mut table = Table::new("Messages", &head, 1);
    for (name, verdict) in named {
        let accounts = &verdict.accounts;
        let lost = accounts.lost().map_or(Cell::Nothing, Cell::count);
        let [sent, received, duplicates] =
            [accounts.sent, accounts.received, accounts.duplicates].map(Cell::count);
        let [checked, wrong] = [accounts.checked, accounts.wrong].map(Cell::count);
        table.rows.push(vec![Cell::text(name), sent, received, duplicates, lost, checked, wrong]);
    }
    Section::of(
        "Messages",
        "Sent = received + duplicates + lost, warm-up and all trials.",
        vec![Block::Table(table)],
    )
}
