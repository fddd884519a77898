//! A panel: grid, axes, series.

use std::fmt::Write;

use crate::axis::{Axis, Tick, ticks};
use crate::picture::{Mark, Panel, Picture, Point, Series};
use crate::scale::Scale;
use crate::svg::{colour, dot, escaped};

/// Where a panel is drawn, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) number: usize,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) height: f64,
}

/// A frame with its scales.
struct Field<'a> {
    frame: &'a Frame,
    x: Scale,
    y: Scale,
}

/// A point on paper: its place and the ends of its interval.
#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    interval: Option<(f64, f64)>,
}

impl Field<'_> {
    fn bottom(&self) -> f64 {
        self.frame.top + self.frame.height
    }

    fn across(&self, value: f64) -> Option<f64> {
        Some(self.frame.left + self.x.place(value)? * (self.frame.right - self.frame.left))
    }

    fn up(&self, value: f64) -> Option<f64> {
        Some(self.bottom() - self.y.place(value)? * self.frame.height)
    }

    fn spot(&self, point: &Point) -> Option<Spot> {
        let interval = point.interval.and_then(|(low, high)| {
            // On a logarithmic axis an interval may reach below everything.
            Some((self.up(low).unwrap_or(self.bottom() + self.frame.height), self.up(high)?))
        });
        Some(Spot { x: self.across(point.x)?, y: self.up(point.y)?, interval })
    }
}

/// Draws a panel; how much height it took, labels and all.
pub(crate) fn draw(out: &mut String, picture: &Picture, panel: &Panel, frame: &Frame) -> f64 {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let heights = points().map(|point| point.y).chain(panel.across.iter().copied());
    let field = Field { frame, x: panel.x.scale(points().map(|point| point.x)), y: panel.y.scale(heights) };
    grid(out, panel, &field);
    let Frame { left, right, top, height, number } = *frame;
    let width = right - left;
    let _ = writeln!(
        out,
        r#"<clipPath id="panel-{number}"><rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}"/></clipPath>"#
    );
    let names = picture.names();
    for drawn in &panel.series {
        let place = names.iter().position(|name| *name == drawn.name).unwrap_or(0);
        let name = escaped(&drawn.name);
        let _ = writeln!(out, r#"<g data-series="{name}" clip-path="url(#panel-{number})">"#);
        series(out, drawn, place, &field);
        let _ = writeln!(out, "</g>");
    }
    let _ = writeln!(
        out,
        r##"<rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" stroke="#666" stroke-width="1"/>"##
    );
    height + if panel.x.label.is_empty() { 16.0 } else { 52.0 }
}

fn grid(out: &mut String, panel: &Panel, field: &Field) {
    let Frame { left, right, top, .. } = *field.frame;
    let bottom = field.bottom();
    for tick in ticks(&field.x) {
        let Some(x) = field.across(tick.value) else { continue };
        let _ = writeln!(out, r#"<path d="M{x:.2} {top:.2}V{bottom:.2}" stroke="{}"/>"#, ink(&tick));
        number(out, &panel.x, &tick, x, bottom + 16.0, "middle");
    }
    for tick in ticks(&field.y) {
        let Some(y) = field.up(tick.value) else { continue };
        let _ = writeln!(out, r#"<path d="M{left:.2} {y:.2}H{right:.2}" stroke="{}"/>"#, ink(&tick));
        number(out, &panel.y, &tick, left - 7.0, y + 4.0, "end");
    }
    for y in panel.across.iter().filter_map(|value| field.up(*value)) {
        let _ = writeln!(out, r##"<path d="M{left:.2} {y:.2}H{right:.2}" stroke="#666"/>"##);
    }
    let (x, y) = (f64::midpoint(left, right), bottom + 36.0);
    label(out, &panel.x, x, y, "");
    let (x, y) = (22.0, f64::midpoint(top, bottom));
    label(out, &panel.y, x, y, &format!(r#" transform="rotate(-90 {x:.2} {y:.2})""#));
}

/// Lines with a number are darker.
fn ink(tick: &Tick) -> &'static str {
    if tick.number.is_some() { "#dcdcdc" } else { "#f0f0f0" }
}

fn number(out: &mut String, axis: &Axis, tick: &Tick, x: f64, y: f64, anchor: &str) {
    let Some(number) = tick.number.as_ref().filter(|_| !axis.label.is_empty()) else { return };
    let _ = writeln!(
        out,
        r##"<text x="{x:.2}" y="{y:.2}" font-size="11" text-anchor="{anchor}" fill="#333">{number}</text>"##
    );
}

fn label(out: &mut String, axis: &Axis, x: f64, y: f64, turn: &str) {
    if axis.label.is_empty() {
        return;
    }
    let text = escaped(&axis.label);
    let _ = writeln!(
        out,
        r##"<text x="{x:.2}" y="{y:.2}" font-size="12" text-anchor="middle" fill="#333"{turn}>{text}</text>"##
    );
}

fn series(out: &mut String, series: &Series, place: usize, field: &Field) {
    let spots: Vec<Option<Spot>> = series.points.iter().map(|point| field.spot(point)).collect();
    let ink = colour(place);
    match series.mark {
        Mark::Line => {
            band(out, &spots, ink);
            line(out, &spots, ink, 2.0);
        }
        Mark::Points => bars_and_dots(out, &spots, place),
        Mark::LinePoints => {
            line(out, &spots, ink, 1.0);
            bars_and_dots(out, &spots, place);
        }
    }
}

/// One path, broken where a point is missing.
fn line(out: &mut String, spots: &[Option<Spot>], ink: &str, width: f64) {
    let mut path = String::new();
    let mut command = 'M';
    for spot in spots {
        match spot {
            Some(Spot { x, y, .. }) => {
                let _ = write!(path, "{command}{x:.2} {y:.2}");
                command = 'L';
            }
            None => command = 'M',
        }
    }
    if !path.is_empty() {
        let _ = writeln!(out, r#"<path d="{path}" stroke="{ink}" stroke-width="{width}" stroke-linejoin="round"/>"#);
    }
}

/// Between the ends of the intervals, a piece for each run of points that have one.
fn band(out: &mut String, spots: &[Option<Spot>], ink: &str) {
    let ends: Vec<Option<(f64, f64, f64)>> =
        spots.iter().map(|spot| spot.and_then(|spot| spot.interval.map(|(low, high)| (spot.x, low, high)))).collect();
    for run in ends.split(Option::is_none).filter(|run| run.len() > 1) {
        let upper = run.iter().flatten().map(|(x, _, high)| (x, high));
        let lower = run.iter().rev().flatten().map(|(x, low, _)| (x, low));
        let corners: Vec<String> = upper.chain(lower).map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        let _ = writeln!(out, r#"<polygon points="{}" fill="{ink}" fill-opacity="0.18"/>"#, corners.join(" "));
    }
}

fn bars_and_dots(out: &mut String, spots: &[Option<Spot>], place: usize) {
    let ink = colour(place);
    for spot in spots.iter().flatten() {
        if let Some((low, high)) = spot.interval {
            let (left, right) = (spot.x - 3.5, spot.x + 3.5);
            let _ = writeln!(
                out,
                r#"<path d="M{x:.2} {low:.2}V{high:.2}M{left:.2} {low:.2}H{right:.2}M{left:.2} {high:.2}H{right:.2}" stroke="{ink}"/>"#,
                x = spot.x
            );
        }
        dot(out, place, spot.x, spot.y);
    }
}
