//! A block for each segment, and tables of links and bridges.

use btu_model::predict::{FrameKind, LinePrediction, MediumKind, PacketSizes, SegmentPrediction};

use super::PredictionText;
use super::figures::{answer, bit_rate, percent, rate, short, time, whole_or};
use crate::sheet::Sheet;

/// Blocks and rows of one kind that are shown; the others are in the JSON.
const MOST: usize = 12;

/// The blocks of all submodels.
pub(super) fn blocks(page: &PredictionText) -> Vec<Vec<String>> {
    let groups = alike_segments(&page.prediction.segments);
    let mut blocks: Vec<Vec<String>> = groups
        .iter()
        .take(MOST)
        .enumerate()
        .map(|(number, (segment, alike))| block(page, number + 1, segment, *alike))
        .collect();
    if groups.len() > MOST {
        let rest = format!("... and {} more segments: --json has them all", groups.len() - MOST);
        blocks.push(vec![page.paint.quiet(&rest)]);
    }
    blocks.push(links(page));
    blocks.push(bridges(page));
    blocks
}

/// Segments of one group with equal numbers are shown once: the first, and their number.
pub fn alike_segments(segments: &[SegmentPrediction]) -> Vec<(&SegmentPrediction, usize)> {
    let mut groups: Vec<(&SegmentPrediction, usize)> = Vec::new();
    for segment in segments {
        let same = |(known, _): &&mut (&SegmentPrediction, usize)| {
            known.group == segment.group && alike(known, segment)
        };
        if let Some((_, count)) = groups.iter_mut().find(same) {
            *count += 1;
        } else {
            groups.push((segment, 1));
        }
    }
    groups
}

fn alike(left: &SegmentPrediction, right: &SegmentPrediction) -> bool {
    let close = |left: f64, right: f64| (left - right).abs() <= left.abs() * 1e-6;
    left.stations == right.stations
        && left.kinds.len() == right.kinds.len()
        && close(left.offered_packets_per_second, right.offered_packets_per_second)
        && match (left.delay_seconds.value, right.delay_seconds.value) {
            (Some(left), Some(right)) => close(left, right),
            (left, right) => left == right,
        }
}

fn block(
    page: &PredictionText,
    number: usize,
    segment: &SegmentPrediction,
    alike: usize,
) -> Vec<String> {
    let name = &segment.name;
    let others = match alike {
        1 => String::new(),
        2 => ", and another like it".to_owned(),
        alike => format!(", and {} others like it", alike - 1),
    };
    let title = format!("Submodel {number} - {name}{others}");
    let note = format!(
        "{}, {}, {} stations and bridges",
        kind(segment.medium),
        bit_rate(segment.rate_bits_per_second),
        segment.stations
    );
    let mut rows: Vec<(String, String)> = segment.kinds.iter().take(MOST).map(packets).collect();
    if segment.kinds.len() > MOST {
        rows.push((format!("... and {} more kinds", segment.kinds.len() - MOST), String::new()));
    }
    rows.push((
        format!("Packets on {name}"),
        format!("{} /s", rate(segment.offered_packets_per_second)),
    ));
    if let Some(bits) = segment.mean_packet_bits {
        rows.push((format!("Mean packet on {name}"), format!("{} bits", whole_or(bits, 9))));
    }
    rows.extend(shares(segment));
    let lines = page.section(&title, &note, aligned(rows));
    [lines, star(&segment.lines)].concat()
}

/// Utilisation and delay.
fn shares(segment: &SegmentPrediction) -> Vec<(String, String)> {
    let row = |label: &str, value: String| (label.to_owned(), value);
    let (distance, data, all) = match segment.medium {
        MediumKind::SharedEthernet | MediumKind::IdealEthernet => {
            ("Propagation, end to end", "data", "data & collisions")
        }
        MediumKind::TokenRing | MediumKind::Fddi => {
            ("Latency of the ring", "data", "data & framing")
        }
        MediumKind::SwitchedEthernet => {
            ("Propagation", "data, busiest line", "data & framing, busiest line")
        }
        MediumKind::Atm => ("Propagation", "data, busiest line", "data & cells, busiest line"),
    };
    let sizes =
        if segment.packet_sizes == PacketSizes::Mean { ", all packets as the mean" } else { "" };
    vec![
        row(distance, time(segment.propagation_seconds)),
        row(&format!("Utilisation ({data})"), answer(segment.utilisation_data, percent)),
        row(
            &format!("Utilisation ({all})"),
            answer(segment.utilisation_data_and_collisions, percent),
        ),
        row("Effective throughput", answer(segment.effective_throughput, percent)),
        row("Wait for the medium", answer(segment.waiting_seconds, time)),
        row(&format!("Delay across {}", segment.name), answer(segment.delay_seconds, time) + sizes),
    ]
}

fn packets(kind: &FrameKind) -> (String, String) {
    let what = if kind.reply { "Replies to" } else { "Packets of" };
    let each = format!(
        "{} /s of {} bits",
        rate(kind.packets_per_second),
        whole_or(kind.mean_packet_bits, 6)
    );
    (format!("{what} {}", kind.flow), each)
}

/// Labels and values in two columns.
pub(super) fn aligned(rows: Vec<(String, String)>) -> Vec<String> {
    let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    rows.into_iter()
        .map(|(label, value)| format!("  {label:width$}  {value}").trim_end().to_owned())
        .collect()
}

fn kind(medium: MediumKind) -> &'static str {
    match medium {
        MediumKind::SharedEthernet => "shared Ethernet",
        MediumKind::IdealEthernet => "shared Ethernet with ideal contention",
        MediumKind::SwitchedEthernet => "switched Ethernet",
        MediumKind::TokenRing => "token ring",
        MediumKind::Fddi => "FDDI",
        MediumKind::Atm => "ATM",
    }
}

/// The busiest lines of a star.
fn star(lines: &[LinePrediction]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<&LinePrediction> = lines.iter().collect();
    lines.sort_by(|left, right| busy(right).total_cmp(&busy(left)));
    let mut table = table(&lines[..lines.len().min(MOST)]);
    if lines.len() > MOST {
        table.push(format!(
            "... and {} more kinds of lines: --json has them all",
            lines.len() - MOST
        ));
    }
    table.into_iter().map(|line| format!("  {line}")).collect()
}

fn busy(line: &LinePrediction) -> f64 {
    line.utilisation.value.unwrap_or(0.0)
}

fn links(page: &PredictionText) -> Vec<String> {
    let used: Vec<&LinePrediction> =
        page.prediction.links.iter().filter(|link| link.offered_packets_per_second > 0.0).collect();
    if used.is_empty() {
        return Vec::new();
    }
    let mut busiest = used.clone();
    if busiest.len() > MOST {
        busiest.sort_by(|left, right| busy(right).total_cmp(&busy(left)));
        busiest.truncate(MOST);
    }
    let mut lines = table(&busiest);
    if used.len() > MOST {
        lines.push(format!("... and {} more: --json has them all", used.len() - MOST));
    }
    page.section("Links", "each direction by itself; idle ones left out", lines)
}

fn table(lines: &[&LinePrediction]) -> Vec<String> {
    let head = ["line", "rate", "packets/s", "mean packet", "data", "used", "wait", "delay"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), 1);
    for line in lines {
        sheet.row(vec![
            if line.alike > 1 {
                format!("{} (x {})", line.name, line.alike)
            } else {
                line.name.clone()
            },
            bit_rate(line.rate_bits_per_second),
            rate(line.offered_packets_per_second),
            line.mean_packet_bits
                .map_or_else(String::new, |bits| format!("{} b", whole_or(bits, 6))),
            short(line.utilisation_data, percent),
            short(line.utilisation, percent),
            short(line.waiting_seconds, time),
            short(line.delay_seconds, time),
        ]);
    }
    sheet.lines()
}

fn bridges(page: &PredictionText) -> Vec<String> {
    let mut groups: Vec<(&str, &str, usize, f64, f64)> = Vec::new();
    for bridge in &page.prediction.bridges {
        let rate = bridge.forwarded_packets_per_second;
        let same = |known: &&mut (&str, &str, usize, f64, f64)| {
            known.1 == bridge.group
                && (known.3 - rate).abs() <= rate * 1e-6
                && (known.4 - bridge.latency_seconds).abs() < 1e-9
        };
        if let Some(known) = groups.iter_mut().find(same) {
            known.2 += 1;
        } else {
            groups.push((&bridge.name, &bridge.group, 1, rate, bridge.latency_seconds));
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let mut sheet = Sheet::new(["bridge", "packets/s", "latency"].map(str::to_owned).to_vec(), 1);
    for (name, _, count, forwarded, latency) in groups.iter().take(MOST) {
        let name = if *count > 1 { format!("{name} (x {count})") } else { (*name).to_owned() };
        sheet.row(vec![name, rate(*forwarded), time(*latency)]);
    }
    page.section(
        "Bridges",
        "what they forward; the wait behind a bridge is that of the medium there",
        sheet.lines(),
    )
}
