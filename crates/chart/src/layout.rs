//! The layout of a picture.

use crate::drawing::{Anchor, Colour, Drawing, Ink, PathStep, Shape, Text};
use crate::legend::Legend;
use crate::panel::{Frame, draw};
use crate::picture::Picture;

/// The picture's width in pixels.
const WIDTH: f64 = 860.0;
/// Room for the numbers and the label of the axis that goes up.
const LEFT: f64 = 84.0;
/// Room at the right.
const RIGHT: f64 = 28.0;

/// Okabe and Ito's colours (2008), which people with every kind of colour vision can distinguish;
/// without yellow, which is too light on white.
const COLOURS: [Colour; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// The picture on paper.
pub(crate) fn drawing(picture: &Picture) -> Drawing {
    let legend = Legend::of(picture, LEFT, WIDTH - RIGHT);
    let notes_top = 34.0;
    let legend_top = notes_top + 17.0 * picture.notes.len() as f64 + 10.0;
    let mut top = legend_top + legend.height() + 12.0;
    let mut shapes = head(picture, notes_top);
    legend.draw(&mut shapes, picture, legend_top);
    for (number, panel) in picture.panels.iter().enumerate() {
        let frame = Frame {
            number,
            left: LEFT,
            right: WIDTH - RIGHT,
            top,
            height: f64::from(panel.height),
        };
        top += draw(&mut shapes, picture, panel, &frame);
    }
    Drawing { width: WIDTH, height: top, title: picture.title.clone(), shapes }
}

/// Draws the title and the notes.
fn head(picture: &Picture, notes_top: f64) -> Vec<Shape> {
    let line = |y, size, colour, words: &str| {
        Shape::Text(Text {
            x: LEFT,
            y,
            size,
            anchor: Anchor::Start,
            colour,
            upwards: false,
            words: words.to_owned(),
        })
    };
    let title = line(28.0, 17.0, "#111", &picture.title);
    let notes = picture.notes.iter().enumerate();
    let notes =
        notes.map(|(row, note)| line(notes_top + 17.0 * row as f64 + 13.0, 12.0, "#555", note));
    std::iter::once(title).chain(notes).collect()
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
