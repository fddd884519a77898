//! The upper part of the right side: warnings, segments and links, flows, and the transfer.

use btu_model::predict::{
    LinePrediction, PacedTransfer, Prediction, TransferLimit, TransferPrediction,
};
use btu_model::{Answer, Warning};
use btu_report::alike_segments;
use btu_report::figures::{answer, digits, percent, rate, short, time, whole_or};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line as Text;
use ratatui::widgets::Paragraph;

use super::table::{self, TableColumn};
use super::{Palette, TITLE, clipped};
use crate::commands::model_ui::state::State;

/// Lines that remain for the curve.
const CURVE: usize = 9;

/// Draws the tables; returns how many lines they took.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) -> u16 {
    let prediction = &state.answer.prediction;
    let width = usize::from(area.width);
    let mut lines = warnings(prediction, width, palette);
    let transfer =
        prediction.transfer.as_ref().map(|at| transfer(at, width, palette)).unwrap_or_default();
    let media = media(prediction);
    // Two heads, and an empty line before the curve.
    let room = usize::from(area.height).saturating_sub(CURVE + lines.len() + transfer.len() + 3);
    let (of_media, of_flows) = shares(room, media.len(), prediction.flows.len());
    lines.extend(media_table(&media, of_media, width, palette));
    lines.extend(flow_table(prediction, of_flows, width, palette));
    lines.extend(transfer);
    lines.push(Text::default());
    let used = lines.len().min(area.height.into());
    frame.render_widget(Paragraph::new(lines), area);
    used as u16
}

/// The rows of two tables in `room`: as many as they need, else about half each.
fn shares(room: usize, first: usize, second: usize) -> (usize, usize) {
    let half = room / 2;
    let of_second = second.min(half.max(room.saturating_sub(first)));
    (first.min(room - of_second), of_second)
}

/// One line: the places, and the kind.
fn warnings(prediction: &Prediction, width: usize, palette: Palette) -> Vec<Text<'static>> {
    if prediction.warnings.is_empty() {
        return Vec::new();
    }
    let word = |warning| match warning {
        Warning::Saturated => "saturated",
        Warning::Optimistic => "a lower bound",
        Warning::OutOfRange => "out of range",
    };
    let mut told: Vec<String> = prediction
        .warnings
        .iter()
        .map(|warning| format!("{} {}", warning.place, word(warning.warning)))
        .collect();
    told.dedup();
    let is_grave = prediction.warnings.iter().any(|warning| warning.warning == Warning::Saturated);
    let text = clipped(&format!("! {}", told.join(", ")), width.saturating_sub(8)) + " (w why)";
    vec![Text::styled(text, if is_grave { palette.problem() } else { palette.warning() })]
}

/// A row of the table of segments and links.
struct Medium {
    name: String,
    packets: f64,
    cells: [String; 4],
    /// Share of time, to find the busiest.
    busy: f64,
}

/// Segments, equal ones once, and each direction of a link that carries frames.
fn media(prediction: &Prediction) -> Vec<Medium> {
    let segments =
        alike_segments(&prediction.segments).into_iter().map(|(segment, alike)| Medium {
            name: if alike > 1 {
                format!("{} (x {alike})", segment.name)
            } else {
                segment.name.clone()
            },
            packets: segment.offered_packets_per_second,
            cells: cells(
                [segment.utilisation_data, segment.utilisation_data_and_collisions],
                [segment.waiting_seconds, segment.delay_seconds],
            ),
            busy: segment.utilisation_data.value.unwrap_or(0.0),
        });
    let links =
        prediction.links.iter().filter(|link| link.offered_packets_per_second > 0.0).map(of_link);
    segments.chain(links).collect()
}

fn of_link(link: &LinePrediction) -> Medium {
    Medium {
        name: if link.alike > 1 {
            format!("{} (x {})", link.name, link.alike)
        } else {
            link.name.clone()
        },
        packets: link.offered_packets_per_second,
        cells: cells(
            [link.utilisation_data, link.utilisation],
            [link.waiting_seconds, link.delay_seconds],
        ),
        busy: link.utilisation_data.value.unwrap_or(0.0),
    }
}

/// Two shares and two times.
fn cells(shares: [Answer; 2], times: [Answer; 2]) -> [String; 4] {
    let ([data, used], [wait, delay]) = (shares, times);
    [short(data, percent), short(used, percent), short(wait, time), short(delay, time)]
}

fn media_table(
    media: &[Medium],
    most: usize,
    width: usize,
    palette: Palette,
) -> Vec<Text<'static>> {
    let mut shown: Vec<&Medium> = media.iter().collect();
    let is_cut = shown.len() > most;
    if is_cut {
        shown.sort_by(|left, right| right.busy.total_cmp(&left.busy));
        shown.truncate(most.saturating_sub(1));
    }
    let names: Vec<String> = shown.iter().map(|medium| medium.name.clone()).collect();
    let cells = |place: usize| shown.iter().map(|medium| medium.cells[place].clone()).collect();
    let packets = shown.iter().map(|medium| rate(medium.packets)).collect();
    let columns = [
        TableColumn::new("packets/s", 4, packets),
        TableColumn::new("data", 1, cells(0)),
        TableColumn::new("used", 2, cells(1)),
        TableColumn::new("wait", 5, cells(2)),
        TableColumn::new("delay", 0, cells(3)),
    ];
    let mut lines = table::lines("Media", &names, &columns, width, palette);
    if is_cut {
        let rest = media.len() - shown.len();
        lines.push(Text::styled(format!("... and {rest} less busy"), palette.quiet()));
    }
    lines
}

fn flow_table(
    prediction: &Prediction,
    most: usize,
    width: usize,
    palette: Palette,
) -> Vec<Text<'static>> {
    let flows = &prediction.flows;
    if flows.is_empty() {
        return vec![Text::styled(
            "The file draws no traffic: nothing to predict.",
            palette.warning(),
        )];
    }
    let shown = &flows[..if flows.len() > most { most.saturating_sub(1) } else { flows.len() }];
    let names: Vec<String> = shown.iter().map(|flow| flow.name.clone()).collect();
    let mut columns = vec![
        TableColumn::new("senders", 4, shown.iter().map(|flow| flow.senders.to_string()).collect()),
        TableColumn::new(
            "each /s",
            2,
            shown.iter().map(|flow| short(flow.packets_per_second_each, rate)).collect(),
        ),
        TableColumn::new(
            "bits",
            6,
            shown.iter().map(|flow| whole_or(flow.mean_packet_bits, 6)).collect(),
        ),
        TableColumn::new(
            "Mb/s",
            3,
            shown.iter().map(|flow| short(flow.carried_bits_per_second, megabits)).collect(),
        ),
        TableColumn::new(
            "delay",
            0,
            shown.iter().map(|flow| short(flow.delay_seconds, time)).collect(),
        ),
    ];
    if flows.iter().any(|flow| flow.response_seconds.is_some()) {
        let response = shown
            .iter()
            .map(|flow| flow.response_seconds.map_or_else(String::new, |at| short(at, time)));
        columns.push(TableColumn::new("response", 1, response.collect()));
    }
    if flows.iter().any(|flow| flow.arriving_share < 1.0) {
        columns.push(TableColumn::new(
            "arrives",
            5,
            shown.iter().map(|flow| percent(flow.arriving_share)).collect(),
        ));
    }
    let mut lines = table::lines("Flows", &names, &columns, width, palette);
    if shown.len() < flows.len() {
        lines.push(Text::styled(
            format!("... and {} more", flows.len() - shown.len()),
            palette.quiet(),
        ));
    }
    lines
}

fn megabits(bits: f64) -> String {
    if bits < 1.0 { "0".to_owned() } else { digits(bits / 1e6, 4) }
}

/// The time by TCP; at a declared rate the two delays, the limiting one, and the point from which
/// the other one limits.
fn transfer(transfer: &TransferPrediction, width: usize, palette: Palette) -> Vec<Text<'static>> {
    let size = btu_units::Bytes::new(transfer.size_bytes as u64);
    let bulk = &transfer.bulk;
    let what = format!("Transfer of {size} from {} to {}", bulk.from, bulk.to);
    let mut lines = vec![
        Text::styled(clipped(&what, width), TITLE),
        Text::raw(format!("TCP {}", answer(bulk.seconds, time))),
    ];
    if let Some(paced) = &transfer.paced {
        lines.extend(at_rate(paced, width, palette));
    }
    lines
}

fn at_rate(paced: &PacedTransfer, width: usize, palette: Palette) -> Vec<Text<'static>> {
    let (limit, style) = match paced.limit {
        TransferLimit::Software => ("the software limits", TITLE),
        TransferLimit::Network => ("the network limits", palette.warning()),
        TransferLimit::Saturated => ("the network is saturated", palette.problem()),
    };
    let each = rate(paced.packets_per_second);
    let mut lines = vec![
        Text::styled(
            clipped(&format!("at {}'s {each} packets/s: {limit}", paced.flow), width),
            style,
        ),
        Text::raw(format!(
            "simple {}   aggregate {}",
            time(paced.simple_seconds),
            answer(paced.aggregate_seconds, time)
        )),
    ];
    if let Some(at) = &paced.overtaken {
        let text = format!(
            "cross at {} packets/s of {} ({})",
            rate(at.whole_packets_per_second),
            at.flow,
            digits(at.packets_per_second, 6)
        );
        lines.push(Text::raw(clipped(&text, width)));
    }
    lines
}
