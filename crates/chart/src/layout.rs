//! The layout of a picture.

use crate::drawing::{Anchor, Drawing, Shape, Text};
use crate::legend::Legend;
use crate::panel::{Frame, draw};
use crate::picture::Picture;

/// The picture's width in pixels.
const WIDTH: f64 = 860.0;
/// Room for the numbers and the label of the axis that goes up.
const LEFT: f64 = 84.0;
/// Room at the right.
const RIGHT: f64 = 28.0;

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
