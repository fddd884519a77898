//! A sweep: a table of its results, for readers and as CSV.

use btu_model::Answer;
use btu_model::predict::{Prediction, TransferPrediction};

use super::figures::{digits, percent, short, time};
use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::{Sheet, wrap};

/// Predictions along one key.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepTable {
    /// The key of the changed value in the network file.
    pub key: String,
    /// The unit of its values; empty for plain numbers.
    pub unit: String,
    /// The values and their predictions.
    pub points: Vec<(f64, Prediction)>,
}

/// One column: its kind, and its value at a point.
pub(super) struct SweepColumn {
    pub(super) head: String,
    pub(super) kind: ColumnContent,
    value: Box<dyn Fn(&Prediction) -> Answer>,
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnContent {
    /// How long the transfer takes.
    Transfer,
    /// A flow's mean delay.
    FlowDelay,
    /// The mean delay over a segment or link.
    PartDelay,
    /// The share of time that a segment or link is used.
    Used,
}

impl ColumnContent {
    /// The unit of plain numbers.
    const fn unit(self) -> &'static str {
        if matches!(self, Self::Used) { "share" } else { "s" }
    }
}

impl SweepColumn {
    /// Its value there, in the kind's unit.
    pub(super) fn of(&self, prediction: &Prediction) -> Answer {
        (self.value)(prediction)
    }
}

/// The whole table; lines end with `\n`.
pub fn sweep_text(table: &SweepTable, options: &TextOptions) -> String {
    // The number of columns that fit next to the value itself; at least 3.
    let most = (options.columns().saturating_sub(12) / 16).max(3);
    let paint = Paint(options.colour);
    let Some((_, first)) = table.points.first() else { return String::new() };
    let all = columns(first);
    let shown = &all[..all.len().min(most)];
    let value = if table.unit.is_empty() { "value".to_owned() } else { table.unit.clone() };
    let head = std::iter::once(value).chain(shown.iter().map(|column| column.head.clone()));
    let mut sheet = Sheet::new(head.collect(), 0);
    for (value, prediction) in &table.points {
        let cells = shown.iter().map(|column| cell(column, prediction));
        sheet.row(std::iter::once(trimmed(*value)).chain(cells).collect());
    }
    let mut lines = vec![format!("{} {}", paint.title("Sweep of"), paint.strong(&table.key))];
    lines.extend(sheet.lines());
    if all.len() > shown.len() {
        let rest = format!("... and {} more columns: --csv has them all", all.len() - shown.len());
        lines.extend(wrap(&rest, options.columns(), 2).iter().map(|line| paint.quiet(line)));
    }
    lines.join("\n") + "\n"
}

/// The whole table as comma-separated values (RFC 4180): seconds, shares and rates as plain
/// numbers, empty if there is no value.
pub fn sweep_csv(table: &SweepTable) -> String {
    let Some((_, first)) = table.points.first() else { return String::new() };
    let columns = columns(first);
    let unit = if table.unit.is_empty() { String::new() } else { format!(" ({})", table.unit) };
    let head =
        columns.iter().map(|column| quoted(&format!("{} ({})", column.head, column.kind.unit())));
    let mut lines = vec![
        std::iter::once(quoted(&format!("{}{unit}", table.key)))
            .chain(head)
            .collect::<Vec<_>>()
            .join(","),
    ];
    for (value, prediction) in &table.points {
        let plain = |column: &SweepColumn| {
            column.of(prediction).value.map_or_else(String::new, |value| value.to_string())
        };
        let cells = columns.iter().map(plain);
        lines.push(std::iter::once(value.to_string()).chain(cells).collect::<Vec<_>>().join(","));
    }
    lines.join("\r\n") + "\r\n"
}

fn cell(column: &SweepColumn, prediction: &Prediction) -> String {
    let answer = column.of(prediction);
    if column.kind == ColumnContent::Used { short(answer, percent) } else { short(answer, time) }
}

fn trimmed(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { digits(value, 6) }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The transfer first, then the delay of each flow, then each segment, each link.
pub(super) fn columns(first: &Prediction) -> Vec<SweepColumn> {
    const MOST: usize = 200;
    let mut columns = Vec::new();
    let column = |head: String, kind, value: Box<dyn Fn(&Prediction) -> Answer>| SweepColumn {
        head,
        kind,
        value,
    };
    if let Some(asked) = &first.transfer {
        type TransferFigure = fn(&TransferPrediction) -> Option<Answer>;
        let tcp: (&str, TransferFigure) = ("TCP", |at| Some(at.bulk.seconds));
        let paced: [(&str, TransferFigure); 2] = [
            ("simple", |at| Some(Answer::of(at.paced.as_ref()?.simple_seconds))),
            ("aggregate", |at| Some(at.paced.as_ref()?.aggregate_seconds)),
        ];
        let paced = paced.into_iter().filter(|_| asked.paced.is_some());
        for (head, figure) in [tcp].into_iter().chain(paced) {
            let value = move |at: &Prediction| {
                at.transfer.as_ref().and_then(figure).unwrap_or(Answer::OUT_OF_RANGE)
            };
            columns.push(column(head.to_owned(), ColumnContent::Transfer, Box::new(value)));
        }
    }
    for (place, flow) in first.flows.iter().take(MOST).enumerate() {
        let delay = move |at: &Prediction| {
            at.flows.get(place).map_or(Answer::OUT_OF_RANGE, |flow| flow.delay_seconds)
        };
        columns.push(column(
            format!("{} delay", flow.name),
            ColumnContent::FlowDelay,
            Box::new(delay),
        ));
    }
    for (place, segment) in first.segments.iter().take(MOST).enumerate() {
        let used = move |at: &Prediction| {
            at.segments.get(place).map_or(Answer::OUT_OF_RANGE, |at| at.utilisation_data)
        };
        let delay = move |at: &Prediction| {
            at.segments.get(place).map_or(Answer::OUT_OF_RANGE, |at| at.delay_seconds)
        };
        columns.push(column(format!("{} data", segment.name), ColumnContent::Used, Box::new(used)));
        columns.push(column(
            format!("{} delay", segment.name),
            ColumnContent::PartDelay,
            Box::new(delay),
        ));
    }
    for (place, link) in first.links.iter().take(MOST).enumerate() {
        let used = move |at: &Prediction| {
            at.links.get(place).map_or(Answer::OUT_OF_RANGE, |at| at.utilisation)
        };
        let delay = move |at: &Prediction| {
            at.links.get(place).map_or(Answer::OUT_OF_RANGE, |at| at.delay_seconds)
        };
        columns.push(column(format!("{} used", link.name), ColumnContent::Used, Box::new(used)));
        columns.push(column(
            format!("{} delay", link.name),
            ColumnContent::PartDelay,
            Box::new(delay),
        ));
    }
    columns
}
