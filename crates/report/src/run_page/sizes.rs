//! BTU by message size: Figure 3a and Table A17 of the paper.

use btu_stats::Estimate;
use btu_studies::rate::{Rating, SizeRating};

use super::{MEGABIT, RunReport};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Scale, Section, Series, Table,
};

type Choice = fn(&SizeRating) -> Option<&Rating>;

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let sizes = &report.verdict.per_size;
    if sizes.iter().all(|size| size.rating.is_none() && size.idle.is_none()) {
        return None;
    }
    let note =
        "Geometric mean over the components, loaded also over the loads (Figure 3a of the paper).";
    let figure = Figure {
        name: "btu-by-message-size".to_owned(),
        title: "BTU by message size".to_owned(),
        panels: vec![panel(report)],
        layout: Layout::SideBySide,
        table: table(sizes),
    };
    Section::of("By message size", note, vec![Block::Figure(figure)])
}

fn panel(report: &RunReport) -> Panel {
    let ratings: [(&str, Role, Choice); 2] = [
        ("loaded", Role::Loaded, |size| size.rating.as_ref()),
        ("alone", Role::Idle, |size| size.idle.as_ref()),
    ];
    let own = ratings.into_iter().map(|(name, role, choice)| Series {
        name: name.to_owned(),
        role,
        mark: Drawn::LinePoints,
        points: report
            .verdict
            .per_size
            .iter()
            .filter_map(|size| point(size, choice(size)?))
            .collect(),
    });
    let series = own.chain(others(report)).filter(|series| !series.points.is_empty());
    let marks = report.plan.messages.iter().map(|size| size.count() as f64).collect();
    Panel {
        title: String::new(),
        x: Axis { label: "message size, B".to_owned(), scale: Scale::At(marks) },
        y: Axis::logarithmic("BTU, Mb/s"),
        series: series.collect(),
    }
}

fn point(size: &SizeRating, rating: &Rating) -> Option<Point> {
    let Estimate { value, interval } = rating.btu_bits_per_second;
    let interval = interval.map(|interval| (interval.low / MEGABIT, interval.high / MEGABIT));
    (value > 0.0).then(|| Point { x: size.message.count() as f64, y: value / MEGABIT, interval })
}

/// Curves of other studies that count bits per second over bytes.
fn others(report: &RunReport) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let points = report.stored.studies.iter().flat_map(|study| study.reference_points());
    for point in points.filter(|point| (point.x_unit, point.unit) == ("bytes", "bits/s")) {
        let Some(x) = point.x else { continue };
        if series.last().is_none_or(|last| last.name != point.label) {
            let role = Role::Member(2 + series.len());
            series.push(Series {
                name: point.label.to_owned(),
                role,
                mark: Drawn::LinePoints,
                points: Vec::new(),
            });
        }
        series
            .last_mut()
            .into_iter()
            .for_each(|last| last.points.push(Point::new(x, point.y / MEGABIT)));
    }
    series
}

fn table(sizes: &[SizeRating]) -> Table {
    let head = [
        "message size, B",
        "loaded",
        "loaded, AM",
        "loaded, HM",
        "alone",
        "alone, AM",
        "alone, HM",
    ];
    let mut table = Table::new("BTU by message size, Mb/s (as Table A17)", &head, 1);
    for size in sizes {
        let cells = [size.rating.as_ref(), size.idle.as_ref()].into_iter().flat_map(three_means);
        table.rows.push(std::iter::once(Cell::count(size.message.count())).chain(cells).collect());
    }
    table
}

fn three_means(rating: Option<&Rating>) -> [Cell; 3] {
    let mean = |of: fn(&Rating) -> f64| Cell::number(rating.map(|rating| of(rating) / MEGABIT));
    [
        Cell::estimate(rating.map(|rating| &rating.btu_bits_per_second), MEGABIT),
        mean(|rating| rating.arithmetic_mean_bits_per_second),
        mean(|rating| rating.harmonic_mean_bits_per_second),
    ]
}
