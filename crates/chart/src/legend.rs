//! The legend: one row of names, or as many as are needed.

use crate::drawing::{Anchor, Colour, Ink, PathStep, Shape, Text};
use crate::picture::{Mark, Picture};

/// Okabe and Ito's colours (2008), which people with every kind of colour vision can distinguish;
/// without yellow, which is too light on white.
const COLOURS: [Colour; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// The height of a row.
const ROW: f64 = 18.0;

/// A name and its place.
struct LegendEntry<'a> {
    name: &'a str,
    x: f64,
    row: u32,
}

/// The legend, arranged in rows.
pub(crate) struct Legend<'a> {
    entries: Vec<LegendEntry<'a>>,
}

impl<'a> Legend<'a> {
    /// The legend of all series of `picture`, between these two places.
    pub(crate) fn of(picture: &'a Picture, left: f64, right: f64) -> Self {
        let mut entries = Vec::new();
        let (mut x, mut row) = (left, 0);
        for name in picture.names() {
            let width = 36.0 + 7.2 * name.chars().count() as f64 + 16.0;
            if x + width > right && x > left {
                (x, row) = (left, row + 1);
            }
            entries.push(LegendEntry { name, x, row });
            x += width;
        }
        Self { entries }
    }

    /// Its height in pixels.
    pub(crate) fn height(&self) -> f64 {
        self.entries.last().map_or(0.0, |entry| f64::from(entry.row + 1) * ROW)
    }

    /// Draws it from `top` on.
    pub(crate) fn draw(&self, out: &mut Vec<Shape>, picture: &Picture, top: f64) {
        for (place, entry) in self.entries.iter().enumerate() {
            let y = top + f64::from(entry.row) * ROW + ROW / 2.0;
            let mark = mark_of(picture, entry.name);
            if mark != Some(Mark::Points) {
                let steps = vec![PathStep::Move(entry.x, y), PathStep::Across(entry.x + 26.0)];
                let ink =
                    Ink::Stroke { colour: colour(place), width: Some(2.0), round_joins: false };
                out.push(Shape::Path { steps, ink });
            }
            if mark != Some(Mark::Line) {
                out.push(dot(place, entry.x + 13.0, y));
            }
            out.push(Shape::Text(Text {
                x: entry.x + 33.0,
                y: y + 4.0,
                size: 12.0,
                anchor: Anchor::Start,
                colour: "#333",
                upwards: false,
                words: entry.name.to_owned(),
            }));
        }
    }
}

fn mark_of(picture: &Picture, name: &str) -> Option<Mark> {
    let mut all = picture.panels.iter().flat_map(|panel| &panel.series);
    all.find(|series| series.name == name).map(|series| series.mark)
}

/// The colour of the series that comes at this place in the legend.
pub(crate) fn colour(place: usize) -> Colour {
    COLOURS[place % COLOURS.len()]
}

/// A point of the series at this place: circle, square, triangle or diamond.
pub(crate) fn dot(place: usize, x: f64, y: f64) -> Shape {
    let ink = Ink::fill(colour(place));
    match place % 4 {
        0 => Shape::Circle { x, y, radius: 3.5, ink },
        1 => Shape::Square { left: x - 3.5, top: y - 3.5, side: 7.0, ink },
        2 => {
            let steps = vec![
                PathStep::Move(x, y - 5.0),
                PathStep::By(4.5, 8.0),
                PathStep::By(-9.0, 0.0),
                PathStep::Close,
            ];
            Shape::Path { steps, ink }
        }
        _ => {
            let sides = [
                PathStep::By(4.5, 4.5),
                PathStep::By(-4.5, 4.5),
                PathStep::By(-4.5, -4.5),
                PathStep::Close,
            ];
            Shape::Path {
                steps: [PathStep::Move(x, y - 4.5)].into_iter().chain(sides).collect(),
                ink,
            }
        }
    }
}
