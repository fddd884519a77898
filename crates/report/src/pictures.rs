//! A report's figures as one SVG picture without any script, a panel below the other.

use btu_chart as chart;

use crate::html::{self, Drawn, Figure, Layout, Page, Panel, Scale, figures};

/// The figures with numbers on their axes, as a file's content; `None` when there is none.
pub fn svg(page: &Page) -> Option<String> {
    let panels: Vec<chart::Panel> = figures(page)
        .flat_map(|figure| figure.panels.iter().map(move |panel| (figure, panel)))
        .filter_map(|(figure, panel)| {
            let name = if panel.title.is_empty() { &figure.title } else { &panel.title };
            drawn(figure, panel, &format!("{name}: {}", panel.x.label))
        })
        .collect();
    let marks: Vec<&str> = page.marks.iter().map(|mark| mark.word.as_str()).collect();
    let notes =
        [page.title.clone(), marks.join(", ")].into_iter().chain(page.remarks.iter().cloned());
    let notes = notes.filter(|note| !note.is_empty()).collect();
    let picture = chart::Picture { title: page.headline.clone(), notes, panels };
    (!picture.panels.is_empty()).then(|| chart::svg(&picture))
}

/// A panel with numbers on both axes, and this label below; words and bars are better shown as a
/// table.
pub(crate) fn drawn(figure: &Figure, panel: &Panel, label: &str) -> Option<chart::Panel> {
    let series: Vec<chart::Series> = panel.series.iter().filter_map(series).collect();
    let x = axis(&panel.x, label)?;
    let x = match common(figure) {
        Some((first, last)) => x.within(first, last),
        None => x,
    };
    (!series.is_empty()).then_some(chart::Panel {
        x,
        y: axis(&panel.y, &panel.y.label)?,
        height: 220,
        across: Vec::new(),
        series,
    })
}

/// The range of the common axis of panels that lie one below the other, from zero as in the page.
fn common(figure: &Figure) -> Option<(f64, f64)> {
    let is_linear = |panel: &Panel| panel.x.scale == Scale::Linear;
    let is_common = figure.layout == Layout::Below && figure.panels.len() > 2;
    if !is_common || !figure.panels.iter().all(is_linear) {
        return None;
    }
    let series = figure.panels.iter().flat_map(|panel| &panel.series);
    let last = series.flat_map(|series| &series.points).map(|point| point.x).reduce(f64::max)?;
    Some((0.0, last))
}

fn axis(axis: &html::Axis, label: &str) -> Option<chart::Axis> {
    match axis.scale {
        Scale::Linear => Some(chart::Axis::linear(label)),
        Scale::Logarithmic | Scale::At(_) => Some(chart::Axis::logarithmic(label)),
        Scale::Words(_) => None,
    }
}

fn series(series: &html::Series) -> Option<chart::Series> {
    let mark = match series.mark {
        Drawn::Line => chart::Mark::Line,
        Drawn::LinePoints => chart::Mark::LinePoints,
        Drawn::Points => chart::Mark::Points,
        Drawn::Stack => return None,
    };
    let points = series.points.iter().map(|point| chart::Point {
        x: point.x,
        y: point.y,
        interval: point.interval,
    });
    Some(chart::Series { name: series.name.clone(), mark, points: points.collect() })
}
