//! SVG of a picture.

use std::fmt::Write;

use crate::legend::Legend;
use crate::panel::{Frame, draw};
use crate::picture::Picture;

/// The picture's width in pixels.
const WIDTH: f64 = 860.0;
/// Room for the numbers and the label of the axis that goes up.
const LEFT: f64 = 84.0;
/// Room at the right.
const RIGHT: f64 = 28.0;

/// Okabe and Ito's colours (2008), which people with every kind of colour vision tell apart; without yellow, which is too
/// light on white.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// The picture as an SVG document.
pub fn svg(picture: &Picture) -> String {
    let legend = Legend::of(picture, LEFT, WIDTH - RIGHT);
    let notes_top = 34.0;
    let legend_top = notes_top + 17.0 * picture.notes.len() as f64 + 10.0;
    let mut top = legend_top + legend.height() + 12.0;
    let mut body = String::new();
    head(&mut body, picture, notes_top);
    legend.draw(&mut body, picture, legend_top);
    for (number, panel) in picture.panels.iter().enumerate() {
        let frame = Frame { number, left: LEFT, right: WIDTH - RIGHT, top, height: f64::from(panel.height) };
        top += draw(&mut body, picture, panel, &frame);
    }
    let title = escaped(&picture.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{top:.0}\" viewBox=\"0 0 {WIDTH:.0} {top:.0}\" \
         role=\"img\" aria-label=\"{title}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <g font-family=\"DejaVu Sans,Verdana,sans-serif\" fill=\"none\">\n{body}</g>\n</svg>\n"
    )
}

fn head(out: &mut String, picture: &Picture, notes_top: f64) {
    let title = escaped(&picture.title);
    let _ = writeln!(out, r##"<text x="{LEFT}" y="28" font-size="17" fill="#111">{title}</text>"##);
    for (row, note) in picture.notes.iter().enumerate() {
        let y = notes_top + 17.0 * row as f64 + 13.0;
        let _ = writeln!(out, r##"<text x="{LEFT}" y="{y:.2}" font-size="12" fill="#555">{}</text>"##, escaped(note));
    }
}

/// The colour of the series that comes at this place in the legend.
pub(crate) fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// A point of the series at this place: circle, square, triangle or diamond.
pub(crate) fn dot(out: &mut String, place: usize, x: f64, y: f64) {
    let ink = colour(place);
    let _ = match place % 4 {
        0 => writeln!(out, r#"<circle cx="{x:.2}" cy="{y:.2}" r="3.5" fill="{ink}"/>"#),
        1 => writeln!(out, r#"<rect x="{:.2}" y="{:.2}" width="7" height="7" fill="{ink}"/>"#, x - 3.5, y - 3.5),
        2 => writeln!(out, r#"<path d="M{x:.2} {:.2}l4.5 8h-9z" fill="{ink}"/>"#, y - 5.0),
        _ => writeln!(out, r#"<path d="M{x:.2} {:.2}l4.5 4.5l-4.5 4.5l-4.5 -4.5z" fill="{ink}"/>"#, y - 4.5),
    };
}

/// `text` as XML wants it; what XML cannot hold is left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::Document;

    use super::*;
    use crate::{Axis, Mark, Panel, Point, Series};

    fn picture() -> Picture {
        let points = [(0.1, 1.0), (0.5, 2.0), (0.7, f64::NAN), (0.9, 80.0)];
        let points: Vec<Point> =
            points.map(|(x, y)| Point { interval: Some((y * 0.9, y * 1.1)), ..Point::new(x, y) }).into();
        let series = |name: &str, mark| Series { name: name.to_owned(), mark, points: points.clone() };
        let upper = Panel {
            x: Axis::linear(""),
            y: Axis::logarithmic("mean delay (ms)"),
            height: 300,
            across: vec![],
            series: vec![series("predicted", Mark::Line), series("simulated <&\"> \u{7}", Mark::Points)],
        };
        let lower = Panel {
            x: Axis::linear("load (%)"),
            y: Axis::linear("error (%)"),
            height: 120,
            across: vec![0.0],
            series: vec![series("simulated <&\"> \u{7}", Mark::LinePoints)],
        };
        Picture { title: "A & B".to_owned(), notes: vec!["x < y".to_owned()], panels: vec![upper, lower] }
    }

    #[test]
    fn it_is_well_formed_and_has_every_series_once_in_the_legend() {
        let text = svg(&picture());
        let document = Document::parse(&text).unwrap();
        let texts: Vec<&str> =
            document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
        for wanted in ["A & B", "x < y", "predicted", "simulated <&\"> ", "mean delay (ms)", "load (%)", "error (%)"] {
            assert_eq!(texts.iter().filter(|text| **text == wanted).count(), 1, "{wanted}: {texts:?}");
        }
        let groups = document.descendants().filter(|node| node.attribute("data-series").is_some()).count();
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
        let line = document.descendants().find(|node| node.attribute("data-series") == Some("predicted")).unwrap();
        let paths: Vec<&str> = line.descendants().filter_map(|node| node.attribute("d")).collect();
        assert!(paths.iter().any(|path| path.matches('M').count() == 2), "{paths:?}");
    }

    #[test]
    fn an_empty_picture_is_a_picture() {
        let text = svg(&Picture { title: String::new(), notes: vec![], panels: vec![] });
        Document::parse(&text).unwrap();
    }
}
