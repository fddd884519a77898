//! Draws a picture as PNG, with a font of its own, so that it looks the same on every machine.

use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
};

use crate::drawing::{Colour, Drawing, Ink, PathStep, Rectangle, Shape};
use crate::font;
use crate::layout::drawing;
use crate::picture::Picture;

/// Pixels for each pixel of the SVG, so that text is sharp on fine screens.
const FINENESS: f32 = 2.0;

/// The highest picture in pixels of the SVG: it takes some 220 MB while it is painted.
const HIGHEST: f64 = 32_000.0;

/// A picture that could not be turned into a PNG.
#[derive(Debug, Error)]
pub enum PngError {
    /// It is too high.
    #[error(
        "a picture {height:.0} pixels high cannot be painted, {HIGHEST:.0} at most: write it as SVG instead"
    )]
    TooHigh {
        /// In pixels of the SVG.
        height: f64,
    },
    /// The PNG encoder failed.
    #[error("the picture cannot be encoded as PNG: {0}")]
    Encoding(String),
}

/// The picture as PNG, twice as wide and high as its SVG.
///
/// # Errors
/// A picture too high to be painted; see [`PngError`].
pub fn png(picture: &Picture) -> Result<Vec<u8>, PngError> {
    let Drawing { width, height, shapes, .. } = drawing(picture);
    let pixels = |length: f64| (length.round() as f32 * FINENESS) as u32;
    let pixmap = (height <= HIGHEST).then(|| Pixmap::new(pixels(width), pixels(height))).flatten();
    let pixmap = pixmap.ok_or(PngError::TooHigh { height })?;
    let mut canvas = Canvas { pixmap, clip: None };
    canvas.pixmap.fill(Color::WHITE);
    canvas.draw(&shapes);
    canvas.pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

/// The pixels, and the part of them that may be painted.
struct Canvas {
    pixmap: Pixmap,
    clip: Option<Mask>,
}

impl Canvas {
    fn draw(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            if let Shape::Series(group) = shape {
                self.clip_to(group.clip);
                self.draw(&group.shapes);
                self.clip = None;
            } else if let Some((path, ink)) = outline(shape) {
                self.paint(&path, ink);
            }
        }
    }

    fn clip_to(&mut self, clip: Rectangle) {
        let mask = Mask::new(self.pixmap.width(), self.pixmap.height()).zip(rectangle(clip));
        self.clip = mask.map(|(mut mask, path)| {
            mask.fill_path(&path, FillRule::Winding, true, scale());
            mask
        });
    }

    fn paint(&mut self, path: &Path, ink: Ink) {
        let mask = self.clip.as_ref();
        let mut paint = Paint { anti_alias: true, ..Paint::default() };
        match ink {
            Ink::Fill { colour, opacity } => {
                paint.set_color(rgb(colour, opacity));
                self.pixmap.fill_path(path, &paint, FillRule::Winding, scale(), mask);
            }
            Ink::Stroke { colour, width, round_joins } => {
                paint.set_color(rgb(colour, None));
                let line_join = if round_joins { LineJoin::Round } else { LineJoin::Miter };
                let stroke =
                    Stroke { width: width.unwrap_or(1.0) as f32, line_join, ..Stroke::default() };
                self.pixmap.stroke_path(path, &paint, &stroke, scale(), mask);
            }
        }
    }
}

fn scale() -> Transform {
    Transform::from_scale(FINENESS, FINENESS)
}

/// The path of a shape and its paint. `None` for an invisible shape, and for a series, which has
/// several paths.
fn outline(shape: &Shape) -> Option<(Path, Ink)> {
    match shape {
        Shape::Path { steps, ink } => Some((path(steps)?, *ink)),
        Shape::Polygon { corners, ink } => {
            let mut steps: Vec<PathStep> =
                corners.iter().map(|&(x, y)| PathStep::Line(x, y)).collect();
            steps.push(PathStep::Close);
            let &(x, y) = corners.first()?;
            steps[0] = PathStep::Move(x, y);
            Some((path(&steps)?, *ink))
        }
        Shape::Circle { x, y, radius, ink } => {
            Some((PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32)?, *ink))
        }
        Shape::Square { left, top, side, ink } => Some((
            rectangle(Rectangle { left: *left, top: *top, width: *side, height: *side })?,
            *ink,
        )),
        Shape::Frame { inside, ink } => Some((rectangle(*inside)?, *ink)),
        Shape::Text(text) => Some((font::outline(text)?, Ink::fill(text.colour))),
        Shape::Series(_) => None,
    }
}

fn path(steps: &[PathStep]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for step in steps {
        let (x, y) = path.last_point().map_or((0.0, 0.0), |point| (point.x, point.y));
        match *step {
            PathStep::Move(x, y) => path.move_to(x as f32, y as f32),
            PathStep::Line(x, y) => path.line_to(x as f32, y as f32),
            PathStep::Across(x) => path.line_to(x as f32, y),
            PathStep::Up(y) => path.line_to(x, y as f32),
            PathStep::By(right, down) => path.line_to(x + right as f32, y + down as f32),
            PathStep::Close => path.close(),
        }
    }
    path.finish()
}

fn rectangle(Rectangle { left, top, width, height }: Rectangle) -> Option<Path> {
    Rect::from_xywh(left as f32, top as f32, width as f32, height as f32)
        .map(PathBuilder::from_rect)
}

/// A colour of a style sheet; black if it is none.
fn rgb(colour: Colour, opacity: Option<f64>) -> Color {
    let digits = colour.trim_start_matches('#');
    let number = u32::from_str_radix(digits, 16).unwrap_or(0);
    let part = |place: u32| {
        if digits.len() == 3 {
            (number >> (4 * place) & 0xf) * 0x11
        } else {
            number >> (8 * place) & 0xff
        }
    };
    let mut paint = Color::from_rgba8(part(2) as u8, part(1) as u8, part(0) as u8, 255);
    paint.set_alpha(opacity.unwrap_or(1.0) as f32);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mark, Panel, Point, Series};

    /// Darkest of all pixels: white is 255.
    fn darkest(png: &[u8]) -> u8 {
        let pixmap = Pixmap::decode_png(png).unwrap();
        pixmap.pixels().iter().map(|pixel| pixel.green()).min().unwrap()
    }

    /// Text is painted although the machine's fonts are not used.
    #[test]
    fn text_is_painted_with_the_embedded_font() {
        let picture =
            |title: &str| Picture { title: title.to_owned(), notes: vec![], panels: vec![] };
        assert_eq!(darkest(&png(&picture("")).unwrap()), 255);
        let written = png(&picture("τ = 4.33 µs, ± 2 %")).unwrap();
        assert!(darkest(&written) < 100);
        assert_eq!(written, png(&picture("τ = 4.33 µs, ± 2 %")).unwrap());
    }

    /// A line far beyond its axis is visible inside the panel only, in its colour.
    #[test]
    fn series_stay_in_their_panel() {
        let points = [(0.0, -1000.0), (1.0, 1000.0)].map(|(x, y)| Point::new(x, y)).to_vec();
        let series = vec![Series { name: String::new(), mark: Mark::Line, points }];
        let y = Axis::linear("").within(0.0, 1.0);
        let panel = Panel { x: Axis::linear(""), y, height: 100, across: vec![], series };
        let painted =
            png(&Picture { title: String::new(), notes: vec![], panels: vec![panel] }).unwrap();
        let pixmap = Pixmap::decode_png(&painted).unwrap();
        // The panel begins below the title and the legend (its sample of the line ends at y = 62),
        // and is 100 high.
        let rows: Vec<u32> = (0..pixmap.height())
            .filter(|row| {
                (0..pixmap.width())
                    .any(|x| pixmap.pixel(x, *row).is_some_and(|p| p.red() < 60 && p.blue() > 120))
            })
            .filter(|row| *row > 2 * 63)
            .collect();
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        assert!(first >= 2 * 74 && last <= 2 * 174 && last - first > 190, "rows {first} to {last}");
    }

    #[test]
    fn what_is_too_high_is_refused() {
        let panel = Panel {
            x: Axis::linear(""),
            y: Axis::linear(""),
            height: 32_001,
            across: vec![],
            series: vec![],
        };
        let picture = Picture { title: String::new(), notes: vec![], panels: vec![panel] };
        assert!(matches!(png(&picture), Err(PngError::TooHigh { .. })));
    }

    #[test]
    fn colours_are_those_of_style_sheets() {
        assert_eq!(rgb("#333", None), Color::from_rgba8(0x33, 0x33, 0x33, 255));
        assert_eq!(rgb("#d55e00", None), Color::from_rgba8(0xd5, 0x5e, 0, 255));
    }
}
