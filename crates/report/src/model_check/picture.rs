//! The check as a picture: curves above, their differences below.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};

use super::{AnswerKind, CheckCase, CheckFlow, CheckPoint, ModelCheck};

/// More curves in one picture cannot be told apart.
const MOST_PAIRS: usize = 3;

/// Errors beyond this many per cent are cut off below the curves: they would make all others too
/// small to read.
const MOST_ERROR: f64 = 100.0;

/// A flow of a case, and the suffix of the names of its series.
struct Drawn<'a> {
    answers: &'a [AnswerKind],
    flow: &'a CheckFlow,
    suffix: String,
}

/// Mean delays by all answers over the changed value, and the prediction's errors below. Of many
/// flows the first few.
pub fn check_picture(check: &ModelCheck) -> Picture {
    let several = check.cases.iter().any(|case| case.flows.len() > 1);
    let mut all: Vec<Drawn<'_>> = Vec::new();
    for case in &check.cases {
        let flows = case.flows.iter();
        all.extend(flows.map(|flow| Drawn {
            answers: &case.answers,
            flow,
            suffix: suffix(case, flow, several),
        }));
    }
    let mut notes = vec![check.how.clone()];
    if all.len() > MOST_PAIRS {
        notes.push(format!(
            "curves of the first {MOST_PAIRS} of {} flows; the table has all",
            all.len()
        ));
        all.truncate(MOST_PAIRS);
    }
    let values = || all.iter().flat_map(|drawn| drawn.flow.points.iter().map(|point| point.value));
    let x = |label: &str| {
        let (first, last) = values()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let axis = Axis::linear(label);
        if last - first > 50.0 && first >= 0.0 && last <= 100.0 {
            axis.within(0.0, 100.0)
        } else {
            axis
        }
    };
    Picture {
        title: format!("Mean delay {}: {}", answers(check), check.network),
        notes,
        panels: vec![curves(&all, x("")), residuals(&all, x(&check.turned))],
    }
}

/// `predicted and simulated`, `predicted, simulated and measured`.
fn answers(check: &ModelCheck) -> String {
    let has = |kind: &AnswerKind| check.cases.iter().any(|case| case.answers.contains(kind));
    let kind: Vec<&str> = [AnswerKind::Simulated, AnswerKind::Measured]
        .iter()
        .filter(|kind| has(kind))
        .map(|kind| kind.name())
        .collect();
    let separator = if kind.len() > 1 { ", " } else { " and " };
    format!("predicted{separator}{}", kind.join(" and "))
}

/// The suffix of the names of a flow's series.
fn suffix(case: &CheckCase, flow: &CheckFlow, several: bool) -> String {
    let parts = [(several, &flow.name), (!case.name.is_empty(), &case.name)];
    parts.iter().filter(|(said, _)| *said).flat_map(|(_, name)| [", ", name.as_str()]).collect()
}

fn curves(all: &[Drawn<'_>], x: Axis) -> Panel {
    let mut drawn = Vec::new();
    for Drawn { answers, flow, suffix } in all {
        let predicted = |point: &CheckPoint| {
            Point::new(point.value, point.predicted.map_or(f64::NAN, |delay| delay * 1e3))
        };
        drawn.push(series(format!("predicted{suffix}"), Mark::Line, flow, predicted));
        for &kind in *answers {
            let settled = |point: &CheckPoint| {
                let settled = point.settled(kind).map(|delay| delay.scaled(1e3));
                let interval =
                    settled.and_then(|delay| delay.interval).map(|ends| (ends.low, ends.high));
                Point {
                    interval,
                    ..Point::new(point.value, settled.map_or(f64::NAN, |delay| delay.value))
                }
            };
            drawn.push(series(format!("{}{suffix}", kind.name()), Mark::Points, flow, settled));
        }
    }
    Panel { x, y: Axis::logarithmic("mean delay (ms)"), height: 330, across: vec![], series: drawn }
}

fn residuals(all: &[Drawn<'_>], x: Axis) -> Panel {
    let mut drawn: Vec<Series> = Vec::new();
    for Drawn { answers, flow, suffix } in all {
        for &kind in *answers {
            let error = |point: &CheckPoint| {
                let error = point.error(kind).map(|error| error.scaled(100.0));
                let interval =
                    error.and_then(|error| error.interval).map(|ends| (ends.low, ends.high));
                Point {
                    interval,
                    ..Point::new(point.value, error.map_or(f64::NAN, |error| error.value))
                }
            };
            drawn.push(series(format!("{}{suffix}", kind.name()), Mark::LinePoints, flow, error));
        }
    }
    let worst = drawn
        .iter()
        .flat_map(|series| &series.points)
        .map(|point| point.y.abs())
        .filter(|error| error.is_finite());
    let beyond = worst.fold(0.0, f64::max) > MOST_ERROR;
    let y = Axis::linear("error of the prediction (%)");
    Panel {
        x,
        y: if beyond { y.within(-MOST_ERROR, MOST_ERROR) } else { y },
        height: 170,
        across: vec![0.0],
        series: drawn,
    }
}

fn series(
    name: String,
    mark: Mark,
    flow: &CheckFlow,
    point: impl Fn(&CheckPoint) -> Point,
) -> Series {
    Series { name, mark, points: flow.points.iter().map(point).collect() }
}

#[cfg(test)]
mod tests {
    use btu_stats::{Estimate, Interval};

    use super::super::measured::tests::measured;
    use super::*;

    fn flow(name: &str) -> CheckFlow {
        let point = |value: f64| CheckPoint {
            value,
            utilisation: Some(value / 100.0),
            predicted: (value < 90.0).then_some(0.001),
            simulated: Some(Estimate {
                value: 0.0011,
                interval: Some(Interval::around(0.0011, 1e-5)),
            }),
            overloaded: false,
            measured: None,
        };
        CheckFlow { name: name.to_owned(), points: [5.0, 50.0, 95.0].map(point).to_vec() }
    }

    fn check(names: &[&str]) -> ModelCheck {
        let case = |name: &str| CheckCase {
            name: name.to_owned(),
            answers: vec![AnswerKind::Simulated],
            flows: names.iter().map(|name| flow(name)).collect(),
        };
        ModelCheck {
            network: "lab".to_owned(),
            how: "5 replications".to_owned(),
            turned: "data load (%)".to_owned(),
            cases: vec![case(""), case("ideal contention")],
        }
    }

    fn names(picture: &Picture) -> Vec<&str> {
        picture.panels[0].series.iter().map(|series| series.name.as_str()).collect()
    }

    #[test]
    fn a_pair_of_curves_for_each_case() {
        let picture = check_picture(&check(&["everyone"]));
        let expected = [
            "predicted",
            "simulated",
            "predicted, ideal contention",
            "simulated, ideal contention",
        ];
        assert_eq!(names(&picture), expected);
        assert_eq!(picture.panels[1].series.len(), 2);
        let document = btu_chart::svg(&picture);
        assert!(expected.iter().all(|name| document.contains(&format!("data-series=\"{name}\""))));
        assert_eq!(document, btu_chart::svg(&check_picture(&check(&["everyone"]))));
    }

    #[test]
    fn a_curve_for_each_answer() {
        let mut check = check(&["everyone"]);
        check.cases.truncate(1);
        let case = &mut check.cases[0];
        case.answers.push(AnswerKind::Measured);
        for point in &mut case.flows[0].points {
            point.measured = Some(measured(0.0012, 1e-5, [0.0; 2]));
        }
        let picture = check_picture(&check);
        assert_eq!(names(&picture), ["predicted", "simulated", "measured"]);
        assert_eq!(picture.title, "Mean delay predicted, simulated and measured: lab");
        let residuals: Vec<&str> =
            picture.panels[1].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(residuals, ["simulated", "measured"]);
        assert!((picture.panels[0].series[2].points[0].y - 1.2).abs() < 1e-12);
    }

    #[test]
    fn the_first_few_of_many_flows() {
        let picture = check_picture(&check(&["a", "b"]));
        assert_eq!(names(&picture).len(), 2 * MOST_PAIRS);
        assert_eq!(names(&picture)[4], "predicted, a, ideal contention");
        assert_eq!(picture.notes[1], "curves of the first 3 of 4 flows; the table has all");
    }
}
