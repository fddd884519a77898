//! Pictures: panels one below the other, each with series of points, lines and intervals.
//!
//! Data in, SVG text, PNG bytes or lines for a terminal out. The same picture gives the same bytes
//! on every machine: coordinates are rounded to hundredths, nothing reads a clock, a locale or the
//! machine's fonts.

#![forbid(unsafe_code)]

mod axis;
mod bitmap;
mod drawing;
mod font;
mod layout;
mod legend;
mod panel;
mod picture;
mod png;
mod scale;
mod svg;
mod terminal;

pub use axis::{Axis, Growth};
pub use bitmap::bitmap_png;
pub use picture::{Mark, Panel, Picture, Point, Series};
pub use png::{PngError, png};
pub use svg::svg;
pub use terminal::{mark, terminal};
