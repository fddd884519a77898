//! The tables of a simulation's result.

use btu_medium::sim::{DelayOutcome, FlowOutcome, MediumOutcome};
use btu_stats::Estimate;

use super::SimulationText;
use crate::number::{NOTHING, or_dash, percent, plus_minus, three_digits};
use crate::sheet::Sheet;
use crate::unit::time;

/// Bits per second in a megabit.
const MEGABIT: f64 = 1e6;

/// The offered and the delivered load.
pub(super) fn flows(page: &SimulationText) -> Vec<String> {
    let flows = &page.outcome.flows;
    if flows.is_empty() {
        return vec!["The network file draws no traffic, so there is nothing to see.".to_owned()];
    }
    let mut sheet =
        sheet(&["flow", "senders", "offered/s", "delivered/s", "Mb/s", "", "lost %", "fairness"]);
    for flow in flows {
        sheet.row(vec![
            flow.name.clone(),
            flow.senders.to_string(),
            three_digits(flow.offered_frames_per_second.value),
            three_digits(flow.delivered_frames_per_second.value),
            three_digits(flow.goodput_bits_per_second.value / MEGABIT),
            plus_minus(Some(&flow.goodput_bits_per_second)),
            lost(flow),
            or_dash(flow.fairness.map(|fairness| fairness.value)),
        ]);
    }
    let note = "frames a second; Mb/s from destination address to check sequence; Jain's fairness over senders";
    page.section("Flows", note, sheet.lines())
}

/// The delays of frames.
pub(super) fn delays(page: &SimulationText) -> Vec<String> {
    let mut sheet = sheet(&["flow", "mean", "", "sd", "p50", "", "p99", "", "longest"]);
    for flow in &page.outcome.flows {
        sheet.row(std::iter::once(flow.name.clone()).chain(delay(flow.delay.as_ref())).collect());
    }
    let note = format!(
        "from send() to the last bit received; ± {} % intervals",
        percent(page.outcome.confidence)
    );
    if page.outcome.flows.is_empty() {
        Vec::new()
    } else {
        page.section("Delay", &note, sheet.lines())
    }
}

/// Exchanges of flows that have them.
pub(super) fn exchanges(page: &SimulationText) -> Vec<String> {
    let mut sheet =
        sheet(&["flow", "per second", "mean", "", "sd", "p50", "", "p99", "", "longest"]);
    let mut any = false;
    for flow in &page.outcome.flows {
        let Some(exchanges) = &flow.exchanges else { continue };
        any = true;
        let first = [flow.name.clone(), three_digits(exchanges.per_second.value)];
        sheet.row(first.into_iter().chain(delay(exchanges.took.as_ref())).collect());
    }
    if any {
        page.section("Exchanges", "from a request to its answer", sheet.lines())
    } else {
        Vec::new()
    }
}

/// The busy times of segments and links.
pub(super) fn media(page: &SimulationText) -> Vec<String> {
    let collide = page.outcome.media.iter().any(|medium| medium.collisions_per_second.is_some());
    let head = [
        "medium",
        "kind",
        "rate",
        "data %",
        "+ collisions %",
        "busy %",
        "Mb/s",
        "frames/s",
        "collisions/s",
    ];
    // On a narrow terminal, the kind and the frames per second are left out first.
    let room = page.options.is_wide();
    let shown = |place: usize| match place {
        1 | 7 => room,
        4 | 8 => collide,
        _ => true,
    };
    let pick = |cells: Vec<String>| {
        cells
            .into_iter()
            .enumerate()
            .filter(|&(place, _)| shown(place))
            .map(|(_, cell)| cell)
            .collect::<Vec<_>>()
    };
    let mut sheet = Sheet::new(pick(head.map(str::to_owned).to_vec()), if room { 2 } else { 1 });
    let used: Vec<_> =
        page.outcome.media.iter().filter(|medium| medium.frames_per_second.value > 0.0).collect();
    for medium in folded(&used) {
        sheet.row(pick(medium_cells(&medium)));
    }
    if used.is_empty() {
        return Vec::new();
    }
    let idle = page.outcome.media.len() - used.len();
    let idle = if idle > 0 { format!("; {idle} idle left out") } else { String::new() };
    page.section(
        "Media",
        &format!("shares of time; busy counts preamble, gap, cells and padding too{idle}"),
        sheet.lines(),
    )
}

/// From this number on, media with names that differ in their numbers alone share one line, with
/// means: a campus has hundreds of floors.
const MOST_ALIKE: usize = 4;

fn folded(used: &[&MediumOutcome]) -> Vec<MediumOutcome> {
    let kind = |medium: &MediumOutcome| {
        let plain: String = medium.name.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        (plain, medium.medium, medium.rate.bits_per_second(), medium.lines)
    };
    let mut groups: Vec<Vec<&MediumOutcome>> = Vec::new();
    for medium in used {
        match groups.iter_mut().find(|group| kind(group[0]) == kind(medium)) {
            Some(group) => group.push(medium),
            None => groups.push(vec![medium]),
        }
    }
    let fold = |group: Vec<&MediumOutcome>| {
        if group.len() <= MOST_ALIKE {
            group.into_iter().cloned().collect()
        } else {
            vec![mean(&group)]
        }
    };
    groups.into_iter().flat_map(fold).collect()
}

/// The mean of many equal media.
fn mean(group: &[&MediumOutcome]) -> MediumOutcome {
    let mean = |of: fn(&MediumOutcome) -> f64| Estimate {
        value: group.iter().map(|medium| of(medium)).sum::<f64>() / group.len() as f64,
        interval: None,
    };
    let first = group[0];
    MediumOutcome {
        name: format!("{} (mean of {})", first.name, group.len()),
        data: mean(|medium| medium.data.value),
        data_and_collisions: mean(|medium| medium.data_and_collisions.value),
        busy: mean(|medium| medium.busy.value),
        goodput_bits_per_second: mean(|medium| medium.goodput_bits_per_second.value),
        frames_per_second: mean(|medium| medium.frames_per_second.value),
        collisions_per_second: first
            .collisions_per_second
            .map(|_| mean(|medium| medium.collisions_per_second.map_or(0.0, |rate| rate.value))),
        ..first.clone()
    }
}

fn medium_cells(medium: &MediumOutcome) -> Vec<String> {
    vec![
        medium.name.clone(),
        medium.medium.to_owned(),
        if medium.lines > 1 {
            format!("{} x {}", medium.lines, medium.rate)
        } else {
            medium.rate.to_string()
        },
        percent(medium.data.value),
        if medium.collisions_per_second.is_some() {
            percent(medium.data_and_collisions.value)
        } else {
            NOTHING.to_owned()
        },
        percent(medium.busy.value),
        three_digits(medium.goodput_bits_per_second.value / MEGABIT),
        three_digits(medium.frames_per_second.value),
        or_dash(medium.collisions_per_second.map(|rate| rate.value)),
    ]
}

/// The lost frames, by cause.
pub(super) fn losses(page: &SimulationText) -> Vec<String> {
    let mut sheet =
        Sheet::new(["flow", "cause", "frames", "share %"].map(str::to_owned).to_vec(), 2);
    let mut any = false;
    for (flow, drop) in
        page.outcome.flows.iter().flat_map(|flow| flow.drops.iter().map(move |drop| (flow, drop)))
    {
        any = true;
        let share = share_lost(drop.share.value);
        sheet.row(vec![flow.name.clone(), drop.cause.to_owned(), drop.frames.to_string(), share]);
    }
    if any { page.section("Losses", "of all frames that ended", sheet.lines()) } else { Vec::new() }
}

/// The table of all stations.
pub(super) fn stations(page: &SimulationText) -> Vec<String> {
    let mut sheet =
        sheet(&["station", "sent/s", "delivered/s", "Mb/s", "mean delay", "lost %", "received/s"]);
    for station in &page.outcome.stations {
        sheet.row(vec![
            station.name.clone(),
            three_digits(station.sent_frames_per_second),
            three_digits(station.delivered_frames_per_second),
            three_digits(station.goodput_bits_per_second / MEGABIT),
            station.delay_mean.map_or_else(|| NOTHING.to_owned(), time),
            station.lost.map_or_else(|| NOTHING.to_owned(), share_lost),
            three_digits(station.received_frames_per_second),
        ]);
    }
    let fairness = page
        .outcome
        .fairness
        .map(|fairness| format!("fairness over all that send: {}", three_digits(fairness.value)));
    page.section("Stations", &fairness.unwrap_or_default(), sheet.lines())
}

fn sheet(head: &[&str]) -> Sheet {
    Sheet::new(head.iter().map(|&word| word.to_owned()).collect(), 1)
}

/// Mean, deviation, median, 99th percentile with their intervals, and the longest.
fn delay(delay: Option<&DelayOutcome>) -> Vec<String> {
    let Some(delay) = delay else { return vec![NOTHING.to_owned(); 1] };
    let with_interval = |estimate: &Estimate| [time(estimate.value), plus_minus(Some(estimate))];
    let [mean, mean_half] = with_interval(&delay.mean);
    let [p50, p50_half] = with_interval(&delay.p50);
    let [p99, p99_half] = with_interval(&delay.p99);
    vec![
        mean,
        mean_half,
        time(delay.deviation.value),
        p50,
        p50_half,
        p99,
        p99_half,
        time(delay.longest),
    ]
}

/// The share of frames that ended that were lost, in per cent.
pub(super) fn lost(flow: &FlowOutcome) -> String {
    share_lost(flow.drops.iter().map(|drop| drop.share.value).sum())
}

/// A share in per cent. Rare losses matter, so they are not rounded to 0.
fn share_lost(share: f64) -> String {
    const RARE: f64 = 1e-4;
    match share {
        0.0 => "0".to_owned(),
        _ if share < RARE => "<0.01".to_owned(),
        _ => format!("{:.2}", share * 100.0),
    }
}
