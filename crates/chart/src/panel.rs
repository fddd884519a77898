//! A panel: grid, axes, series.

use crate::axis::{Axis, Scale, Tick, ticks};
use crate::drawing::{Anchor, Colour, Group, Ink, PathStep, Rectangle, Shape, Text};
use crate::legend::{colour, dot};
use crate::picture::{Mark, Panel, Picture, Point, Series};

/// The place of a panel, in pixels.
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
            // On a logarithmic axis an interval may reach below the range.
            Some((self.up(low).unwrap_or(self.bottom() + self.frame.height), self.up(high)?))
        });
        Some(Spot { x: self.across(point.x)?, y: self.up(point.y)?, interval })
    }
}

/// Draws a panel; returns its height, labels included.
pub(crate) fn draw(out: &mut Vec<Shape>, picture: &Picture, panel: &Panel, frame: &Frame) -> f64 {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let heights = points().map(|point| point.y).chain(panel.across.iter().copied());
    let field =
        Field { frame, x: panel.x.scale(points().map(|point| point.x)), y: panel.y.scale(heights) };
    grid(out, panel, &field);
    let Frame { left, right, top, height, number } = *frame;
    let inside = Rectangle { left, top, width: right - left, height };
    let names = picture.names();
    for drawn in &panel.series {
        let place = names.iter().position(|name| *name == drawn.name).unwrap_or(0);
        let shapes = series(drawn, place, &field);
        out.push(Shape::Series(Group {
            name: drawn.name.clone(),
            panel: number,
            clip: inside,
            shapes,
        }));
    }
    out.push(Shape::Frame {
        inside,
        ink: Ink::Stroke { colour: "#666", width: Some(1.0), round_joins: false },
    });
    height + if panel.x.label.is_empty() { 16.0 } else { 52.0 }
}

fn grid(out: &mut Vec<Shape>, panel: &Panel, field: &Field) {
    let Frame { left, right, top, .. } = *field.frame;
    let bottom = field.bottom();
    let line = |(x, y), to, colour| Shape::Path {
        steps: vec![PathStep::Move(x, y), to],
        ink: Ink::line(colour),
    };
    for tick in ticks(&field.x) {
        let Some(x) = field.across(tick.value) else { continue };
        out.push(line((x, top), PathStep::Up(bottom), ink(&tick)));
        out.extend(number(&panel.x, tick, x, bottom + 16.0, Anchor::Middle));
    }
    for tick in ticks(&field.y) {
        let Some(y) = field.up(tick.value) else { continue };
        out.push(line((left, y), PathStep::Across(right), ink(&tick)));
        out.extend(number(&panel.y, tick, left - 7.0, y + 4.0, Anchor::End));
    }
    for y in panel.across.iter().filter_map(|value| field.up(*value)) {
        out.push(line((left, y), PathStep::Across(right), "#666"));
    }
    out.extend(label(&panel.x, f64::midpoint(left, right), bottom + 36.0, false));
    out.extend(label(&panel.y, 22.0, f64::midpoint(top, bottom), true));
}

/// Lines with a number are darker.
fn ink(tick: &Tick) -> Colour {
    if tick.number.is_some() { "#dcdcdc" } else { "#f0f0f0" }
}

fn number(axis: &Axis, tick: Tick, x: f64, y: f64, anchor: Anchor) -> Option<Shape> {
    let words = tick.number.filter(|_| !axis.label.is_empty())?;
    Some(Shape::Text(Text { x, y, size: 11.0, anchor, colour: "#333", upwards: false, words }))
}

fn label(axis: &Axis, x: f64, y: f64, upwards: bool) -> Option<Shape> {
    let words = Some(axis.label.clone()).filter(|label| !label.is_empty())?;
    Some(Shape::Text(Text {
        x,
        y,
        size: 12.0,
        anchor: Anchor::Middle,
        colour: "#333",
        upwards,
        words,
    }))
}

fn series(series: &Series, place: usize, field: &Field) -> Vec<Shape> {
    let spots: Vec<Option<Spot>> = series.points.iter().map(|point| field.spot(point)).collect();
    let colour = colour(place);
    match series.mark {
        Mark::Line => bands(&spots, colour).into_iter().chain(line(&spots, colour, 2.0)).collect(),
        Mark::Points => bars_and_dots(&spots, place),
        Mark::LinePoints => {
            line(&spots, colour, 1.0).into_iter().chain(bars_and_dots(&spots, place)).collect()
        }
    }
}

/// One path, broken where a point is missing.
fn line(spots: &[Option<Spot>], colour: Colour, width: f64) -> Option<Shape> {
    let mut steps = Vec::new();
    let mut begins = true;
    for spot in spots {
        if let Some(Spot { x, y, .. }) = *spot {
            steps.push(if begins { PathStep::Move(x, y) } else { PathStep::Line(x, y) });
        }
        begins = spot.is_none();
    }
    let ink = Ink::Stroke { colour, width: Some(width), round_joins: true };
    (!steps.is_empty()).then_some(Shape::Path { steps, ink })
}

/// Between the ends of the intervals, a piece for each run of points that have one.
fn bands(spots: &[Option<Spot>], colour: Colour) -> Vec<Shape> {
    let ends: Vec<Option<(f64, f64, f64)>> = spots
        .iter()
        .map(|spot| spot.and_then(|spot| spot.interval.map(|(low, high)| (spot.x, low, high))))
        .collect();
    let band = |run: &[Option<(f64, f64, f64)>]| {
        let upper = run.iter().flatten().map(|&(x, _, high)| (x, high));
        let lower = run.iter().rev().flatten().map(|&(x, low, _)| (x, low));
        Shape::Polygon {
            corners: upper.chain(lower).collect(),
            ink: Ink::Fill { colour, opacity: Some(0.18) },
        }
    };
    ends.split(Option::is_none).filter(|run| run.len() > 1).map(band).collect()
}

fn bars_and_dots(spots: &[Option<Spot>], place: usize) -> Vec<Shape> {
    let mut out = Vec::new();
    for spot in spots.iter().flatten() {
        out.extend(spot.interval.map(|(low, high)| bar(spot.x, low, high, colour(place))));
        out.push(dot(place, spot.x, spot.y));
    }
    out
}

/// An interval, with a foot and a head.
fn bar(x: f64, low: f64, high: f64, colour: Colour) -> Shape {
    let (left, right) = (x - 3.5, x + 3.5);
    let shaft = [PathStep::Move(x, low), PathStep::Up(high)];
    let ends =
        [low, high].into_iter().flat_map(|y| [PathStep::Move(left, y), PathStep::Across(right)]);
    Shape::Path { steps: shaft.into_iter().chain(ends).collect(), ink: Ink::line(colour) }
}
