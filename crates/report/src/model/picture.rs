//! A sweep as a picture: delays, transfers and utilisations.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};
use btu_model::Warning;
use btu_model::predict::Prediction;

use super::sweep::{ColumnContent, SweepColumn, SweepTable, columns};

/// More curves in one panel would need more colours than readers can distinguish.
const MOST_CURVES: usize = 3;

/// The part of a sweep that a panel shows.
struct SweepPart {
    kind: ColumnContent,
    label: &'static str,
    logarithmic: bool,
    scale: f64,
}

const PANELS: [SweepPart; 3] = [
    SweepPart {
        kind: ColumnContent::Transfer,
        label: "transfer (s)",
        logarithmic: true,
        scale: 1.0,
    },
    SweepPart {
        kind: ColumnContent::FlowDelay,
        label: "mean delay (ms)",
        logarithmic: true,
        scale: 1e3,
    },
    SweepPart {
        kind: ColumnContent::Used,
        label: "time used (%)",
        logarithmic: false,
        scale: 100.0,
    },
];

/// The curves of a sweep: simple and aggregate delay where there is a transfer, the flows' mean
/// delays, the shares of time that media and lines are used. Of many the first few. A curve ends
/// where there is no value: from saturation on.
pub fn sweep_picture(table: &SweepTable) -> Picture {
    let columns = table.points.first().map(|(_, first)| columns(first)).unwrap_or_default();
    let mut notes = Vec::new();
    let mut panels: Vec<Panel> =
        PANELS.iter().filter_map(|shown| panel(shown, &columns, table, &mut notes)).collect();
    if let Some(last) = panels.last_mut() {
        last.x.label = if table.unit.is_empty() {
            table.key.clone()
        } else {
            format!("{} ({})", table.key, table.unit)
        };
    }
    let bounds = |(_, prediction): &(f64, Prediction)| {
        columns.iter().any(|column| column.of(prediction).warning == Some(Warning::Optimistic))
    };
    if let Some((value, _)) = table.points.iter().find(|point| bounds(point)) {
        notes.push(format!(
            "from {value} on some delays are lower bounds: real stations back off longer"
        ));
    }
    let name = table.points.first().map_or("", |(_, first)| first.network.as_str());
    Picture { title: format!("Predicted: {name}"), notes, panels }
}

fn panel(
    shown: &SweepPart,
    columns: &[SweepColumn],
    table: &SweepTable,
    notes: &mut Vec<String>,
) -> Option<Panel> {
    let all: Vec<&SweepColumn> =
        columns.iter().filter(|column| column.kind == shown.kind).collect();
    if all.len() > MOST_CURVES {
        notes.push(format!("{}: the first {MOST_CURVES} of {}", shown.label, all.len()));
    }
    let series: Vec<Series> = all
        .iter()
        .take(MOST_CURVES)
        .map(|column| curve(column, shown.scale, &table.points))
        .collect();
    let y =
        if shown.logarithmic { Axis::logarithmic(shown.label) } else { Axis::linear(shown.label) };
    (!series.is_empty()).then(|| Panel {
        x: Axis::linear(""),
        y,
        height: 220,
        across: vec![],
        series,
    })
}

fn curve(column: &SweepColumn, scale: f64, points: &[(f64, Prediction)]) -> Series {
    let point = |(value, prediction): &(f64, Prediction)| {
        Point::new(*value, column.of(prediction).value.map_or(f64::NAN, |found| found * scale))
    };
    Series {
        name: column.head.clone(),
        mark: Mark::Line,
        points: points.iter().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use btu_model::predict::{Question, Transfer, predict_with};
    use btu_network::{Drawing, library_text};
    use btu_units::Bytes;

    use super::*;

    fn table(name: &str, key: &str, values: &[f64], transfer: bool) -> SweepTable {
        let size = Bytes::new(20_000_000);
        let transfer = transfer.then_some(Transfer { size, ..Transfer::default() });
        let at = |value: &f64| {
            let settings = [(key, value.to_string())];
            let settings = settings.each_ref().map(|(key, value)| (*key, value.as_str()));
            let drawing = Drawing::read_with(library_text(name).unwrap(), name, &settings).unwrap();
            (
                *value,
                predict_with(&drawing, &Question { transfer: transfer.clone(), sizes: None })
                    .unwrap(),
            )
        };
        SweepTable {
            key: key.to_owned(),
            unit: String::new(),
            points: values.iter().map(at).collect(),
        }
    }

    fn labels(picture: &Picture) -> Vec<&str> {
        picture.panels.iter().map(|panel| panel.y.label.as_str()).collect()
    }

    /// The study's figure 11, in its own numbers: 14.21 s at 200, 113.17 s at 1000, nothing beyond
    /// saturation.
    #[test]
    fn citi_s_figure_11() {
        let table = table(
            "citi-1989-light",
            "traffic.background.packets_per_s",
            &[200.0, 1000.0, 1100.0],
            true,
        );
        let picture = sweep_picture(&table);
        assert_eq!(labels(&picture), ["transfer (s)", "mean delay (ms)", "time used (%)"]);
        let aggregate = &picture.panels[0].series[2];
        assert_eq!(aggregate.name, "aggregate");
        let near =
            |place: usize, expected: f64| (aggregate.points[place].y - expected).abs() < 5e-3;
        assert!(
            near(0, 14.21) && near(1, 113.17) && aggregate.points[2].y.is_nan(),
            "{:?}",
            aggregate.points
        );
        assert_eq!(picture.panels[2].x.label, "traffic.background.packets_per_s");
        let used = &picture.panels[2].series[0].points;
        assert!(used[0].y < used[1].y && used[1].y < 100.0, "{used:?}");
    }

    #[test]
    fn the_first_of_many_and_where_delays_are_lower_bounds() {
        let picture = sweep_picture(&table("campus", "stations.host.count", &[10.0, 20.0], false));
        assert_eq!(labels(&picture), ["mean delay (ms)", "time used (%)"]);
        assert!(picture.panels.iter().all(|panel| panel.series.len() <= MOST_CURVES));
        assert!(
            picture.notes.iter().any(|note| note.starts_with("time used (%): the first 3 of ")),
            "{:?}",
            picture.notes
        );
        let picture =
            sweep_picture(&table("ethernet-shared-10", "stations.host.count", &[4.0, 24.0], false));
        assert!(
            picture.notes.is_empty() || picture.notes[0].contains("lower bounds"),
            "{:?}",
            picture.notes
        );
    }

    #[test]
    fn no_points_no_panels() {
        let empty = SweepTable { key: "k".to_owned(), unit: String::new(), points: Vec::new() };
        assert!(sweep_picture(&empty).panels.is_empty());
    }
}
