//! Tests that the document is well formed and contains everything once.

use roxmltree::Document;

use super::*;
use crate::{Axis, Mark, Panel, Point, Series};

fn picture() -> Picture {
    let points = [(0.1, 1.0), (0.5, 2.0), (0.7, f64::NAN), (0.9, 80.0)];
    let points: Vec<Point> = points
        .map(|(x, y)| Point { interval: Some((y * 0.9, y * 1.1)), ..Point::new(x, y) })
        .into();
    let series = |name: &str, mark| Series { name: name.to_owned(), mark, points: points.clone() };
    let upper = Panel {
        x: Axis::linear(""),
        y: Axis::logarithmic("mean delay (ms)"),
        height: 300,
        across: vec![],
        series: vec![
            series("predicted", Mark::Line),
            series("simulated <&\"> \u{7}", Mark::Points),
        ],
    };
    let lower = Panel {
        x: Axis::linear("load (%)"),
        y: Axis::linear("error (%)"),
        height: 120,
        across: vec![0.0],
        series: vec![series("simulated <&\"> \u{7}", Mark::LinePoints)],
    };
    Picture {
        title: "A & B".to_owned(),
        notes: vec!["x < y".to_owned()],
        panels: vec![upper, lower],
    }
}

#[test]
fn it_is_well_formed_and_has_every_series_once_in_the_legend() {
    let text = svg(&picture());
    let document = Document::parse(&text).unwrap();
    let texts: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| node.text())
        .collect();
    for wanted in [
        "A & B",
        "x < y",
        "predicted",
        "simulated <&\"> ",
        "mean delay (ms)",
        "load (%)",
        "error (%)",
    ] {
        assert_eq!(texts.iter().filter(|text| **text == wanted).count(), 1, "{wanted}: {texts:?}");
    }
    let groups =
        document.descendants().filter(|node| node.attribute("data-series").is_some()).count();
    assert_eq!(groups, 3);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn the_same_data_gives_the_same_bytes() {
    assert_eq!(svg(&picture()), svg(&picture()));
}

#[test]
fn what_is_missing_breaks_the_line() {
    let text = svg(&picture());
    let document = Document::parse(&text).unwrap();
    let line = document
        .descendants()
        .find(|node| node.attribute("data-series") == Some("predicted"))
        .unwrap();
    let paths: Vec<&str> = line.descendants().filter_map(|node| node.attribute("d")).collect();
    assert!(paths.iter().any(|path| path.matches('M').count() == 2), "{paths:?}");
}

#[test]
fn an_empty_picture_is_a_picture() {
    let text = svg(&Picture { title: String::new(), notes: vec![], panels: vec![] });
    Document::parse(&text).unwrap();
}
