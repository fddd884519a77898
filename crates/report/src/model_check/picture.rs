//! The check as a picture: curves above, what separates them below.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};

use super::{CheckCase, CheckFlow, CheckPoint, ModelCheck};

/// More curves in one picture cannot be told apart.
const MOST_PAIRS: usize = 3;

/// Errors beyond this many per cent are cut off below the curves: they would press all others flat.
const MOST_ERROR: f64 = 100.0;

/// Predicted and simulated mean delays over what was turned, and the prediction's error below. Of many flows the first few.
pub fn check_picture(check: &ModelCheck) -> Picture {
    let pairs: Vec<(&CheckCase, &CheckFlow)> =
        check.cases.iter().flat_map(|case| case.flows.iter().map(move |flow| (case, flow))).collect();
    let mut notes = vec![check.how.clone()];
    if pairs.len() > MOST_PAIRS {
        notes.push(format!("{} more are left out", pairs.len() - MOST_PAIRS));
    }
    let shown = &pairs[..pairs.len().min(MOST_PAIRS)];
    let several = check.cases.iter().any(|case| case.flows.len() > 1);
    let names: Vec<String> = shown.iter().map(|(case, flow)| suffix(case, flow, several)).collect();
    let flows: Vec<(&CheckFlow, &str)> =
        shown.iter().zip(&names).map(|((_, flow), name)| (*flow, name.as_str())).collect();
    let values = || flows.iter().flat_map(|(flow, _)| flow.points.iter().map(|point| point.value));
    let x = |label: &str| {
        let (first, last) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let axis = Axis::linear(label);
        if last - first > 50.0 && first >= 0.0 && last <= 100.0 { axis.within(0.0, 100.0) } else { axis }
    };
    Picture {
        title: format!("Mean delay predicted and simulated: {}", check.network),
        notes,
        panels: vec![curves(&flows, x("")), residuals(&flows, x(&check.turned))],
    }
}

/// What a pair's names end with.
fn suffix(case: &CheckCase, flow: &CheckFlow, several: bool) -> String {
    let parts = [(several, &flow.name), (!case.name.is_empty(), &case.name)];
    parts.iter().filter(|(said, _)| *said).flat_map(|(_, name)| [", ", name.as_str()]).collect()
}

fn curves(flows: &[(&CheckFlow, &str)], x: Axis) -> Panel {
    let pair = |(flow, name): &(&CheckFlow, &str)| {
        let predicted =
            |point: &CheckPoint| Point::new(point.value, point.predicted.map_or(f64::NAN, |delay| delay * 1e3));
        let simulated = |point: &CheckPoint| Point { interval: None, ..simulated_point(point) };
        let with_interval = |point: &CheckPoint| {
            let interval = point.settled().and_then(|simulated| simulated.interval);
            Point { interval: interval.map(|ends| (ends.low * 1e3, ends.high * 1e3)), ..simulated(point) }
        };
        [
            series(format!("predicted{name}"), Mark::Line, flow, predicted),
            series(format!("simulated{name}"), Mark::Points, flow, with_interval),
        ]
    };
    Panel {
        x,
        y: Axis::logarithmic("mean delay (ms)"),
        height: 330,
        across: vec![],
        series: flows.iter().flat_map(pair).collect(),
    }
}

fn simulated_point(point: &CheckPoint) -> Point {
    Point::new(point.value, point.settled().map_or(f64::NAN, |simulated| simulated.value * 1e3))
}

fn residuals(flows: &[(&CheckFlow, &str)], x: Axis) -> Panel {
    let error = |point: &CheckPoint| {
        let error = point.error().map(|error| error.scaled(100.0));
        let interval = error.and_then(|error| error.interval).map(|ends| (ends.low, ends.high));
        Point { interval, ..Point::new(point.value, error.map_or(f64::NAN, |error| error.value)) }
    };
    let drawn: Vec<Series> =
        flows.iter().map(|(flow, name)| series(format!("simulated{name}"), Mark::LinePoints, flow, error)).collect();
    let worst =
        drawn.iter().flat_map(|series| &series.points).map(|point| point.y.abs()).filter(|error| error.is_finite());
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

fn series(name: String, mark: Mark, flow: &CheckFlow, point: impl Fn(&CheckPoint) -> Point) -> Series {
    Series { name, mark, points: flow.points.iter().map(point).collect() }
}

#[cfg(test)]
mod tests {
    use btu_stats::{Estimate, Interval};

    use super::*;

    fn flow(name: &str) -> CheckFlow {
        let point = |value: f64| CheckPoint {
            value,
            utilisation: Some(value / 100.0),
            predicted: (value < 90.0).then_some(0.001),
            simulated: Some(Estimate { value: 0.0011, interval: Some(Interval::around(0.0011, 1e-5)) }),
            overloaded: false,
        };
        CheckFlow { name: name.to_owned(), points: [5.0, 50.0, 95.0].map(point).to_vec() }
    }

    fn check(names: &[&str]) -> ModelCheck {
        let case =
            |name: &str| CheckCase { name: name.to_owned(), flows: names.iter().map(|name| flow(name)).collect() };
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
        let expected = ["predicted", "simulated", "predicted, ideal contention", "simulated, ideal contention"];
        assert_eq!(names(&picture), expected);
        assert_eq!(picture.panels[1].series.len(), 2);
        let document = btu_chart::svg(&picture);
        assert!(expected.iter().all(|name| document.contains(&format!("data-series=\"{name}\""))));
        assert_eq!(document, btu_chart::svg(&check_picture(&check(&["everyone"]))));
    }

    #[test]
    fn the_first_few_of_many_flows() {
        let picture = check_picture(&check(&["a", "b"]));
        assert_eq!(names(&picture).len(), 2 * MOST_PAIRS);
        assert_eq!(names(&picture)[4], "predicted, a, ideal contention");
        assert_eq!(picture.notes[1], "1 more are left out");
    }
}
