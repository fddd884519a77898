//! The rating next to the results of other studies, if the user asked for them.

use btu_stats::Estimate;
use btu_studies::papers::Study;
use btu_studies::papers::btu95::corrected;

use super::{MEGABIT, RunReport, row};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Section, Series, Table,
};

/// The study or run of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Machines1995,
    OtherStudies,
    ThisRun,
}

impl Group {
    const ALL: [Self; 3] = [Self::Machines1995, Self::OtherStudies, Self::ThisRun];

    const fn name(self) -> &'static str {
        match self {
            Self::Machines1995 => "BTU, 1995",
            Self::OtherStudies => "other studies, best throughput",
            Self::ThisRun => "this run",
        }
    }

    const fn role(self) -> Role {
        match self {
            Self::Machines1995 => Role::Reference,
            Self::OtherStudies => Role::Member(4),
            Self::ThisRun => Role::Loaded,
        }
    }
}

/// A machine or a network with its result.
struct RatedSystem {
    name: String,
    group: Group,
    megabits_per_second: Estimate,
}

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let rating = report.verdict.rating.as_ref()?;
    let mut places = references(report.stored.studies);
    if places.is_empty() {
        return None;
    }
    let here = |name: &str, estimate: Estimate| RatedSystem {
        name: name.to_owned(),
        group: Group::ThisRun,
        megabits_per_second: scaled(&estimate),
    };
    places.extend(
        report.verdict.idle.as_ref().map(|idle| here("this run, alone", idle.btu_bits_per_second)),
    );
    places.push(here("this run", rating.btu_bits_per_second));
    let figure = figure(&places, rating.btu_bits_per_second.value / MEGABIT);
    Section::of("Where it stands", &note(report.stored.studies), vec![Block::Figure(figure)])
}

fn note(studies: &[Study]) -> String {
    let machines = "The machines of 1995 moved 4 MB over 10 Mb/s Ethernet; their ratings are corrected: geometric means \
                    throughout, from the raw rows.";
    let machines = studies.contains(&Study::Btu95).then_some(machines);
    machines.into_iter().chain(["The axis is logarithmic."]).collect::<Vec<_>>().join(" ")
}

fn scaled(estimate: &Estimate) -> Estimate {
    let interval = estimate.interval.map(|interval| interval.map(|end| end / MEGABIT));
    Estimate { value: estimate.value / MEGABIT, interval }
}

/// Results of other studies, from the slowest on; none where the user did not ask for them.
fn references(studies: &[Study]) -> Vec<RatedSystem> {
    let of_1995 = if studies.contains(&Study::Btu95) { corrected() } else { Vec::new() };
    let machines = of_1995.into_iter().map(|machine| RatedSystem {
        name: format!("{}, 1995", machine.machine),
        group: Group::Machines1995,
        megabits_per_second: bare(machine.bits_per_second / MEGABIT),
    });
    let others = studies
        .iter()
        .filter(|study| **study != Study::Btu95)
        .flat_map(|study| study.reference_points());
    // A value of a whole curve: its maximum.
    let others = others.filter(|point| point.x.is_none() && point.unit == "bits/s").map(|point| {
        RatedSystem {
            name: point.label.to_owned(),
            group: Group::OtherStudies,
            megabits_per_second: bare(point.y / MEGABIT),
        }
    });
    let mut places: Vec<RatedSystem> = machines.chain(others).collect();
    places.sort_by(|a, b| a.megabits_per_second.value.total_cmp(&b.megabits_per_second.value));
    places
}

fn bare(value: f64) -> Estimate {
    Estimate { value, interval: None }
}

fn figure(places: &[RatedSystem], rating: f64) -> Figure {
    let names = places.iter().map(|place| place.name.clone()).collect();
    let series = Group::ALL.map(|group| Series {
        name: group.name().to_owned(),
        role: group.role(),
        mark: Drawn::Points,
        points: of_group(places, group),
    });
    let panel = Panel {
        title: String::new(),
        x: Axis::logarithmic("rating, Mb/s"),
        y: Axis::words("", names),
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
    };
    Figure {
        name: "standing".to_owned(),
        title: "This run and what others found".to_owned(),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table: table(places, rating),
    }
}

fn of_group(places: &[RatedSystem], group: Group) -> Vec<Point> {
    let of_it = places.iter().enumerate().filter(|(_, place)| place.group == group);
    let point = |(at, place): (usize, &RatedSystem)| {
        let Estimate { value, interval } = place.megabits_per_second;
        Point {
            x: value,
            y: at as f64,
            interval: interval.map(|interval| (interval.low, interval.high)),
        }
    };
    of_it.map(point).collect()
}

fn table(places: &[RatedSystem], rating: f64) -> Table {
    let mut table = Table::new("Ratings, Mb/s", &["", "Mb/s", "this run is so many times it"], 1);
    for place in places.iter().rev() {
        let cells = [
            Cell::estimate(Some(&place.megabits_per_second), 1.0),
            Cell::number(Some(rating / place.megabits_per_second.value)),
        ];
        table.rows.push(row(&[&place.name], cells));
    }
    table
}
