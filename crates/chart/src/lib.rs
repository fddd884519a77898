//! Pictures: panels one below the other, each with series of points, lines and intervals.
//!
//! Data goes in; SVG text or lines for a terminal come out. A picture gives identical
//! bytes on every machine: coordinates are rounded to hundredths, and no code reads a clock, a
//! locale or the machine's fonts.

#![forbid(unsafe_code)]

mod axis;
mod drawing;
mod layout;
mod legend;
mod panel;
mod picture;
mod svg;
mod terminal;

pub use axis::{Axis, Growth};
pub use picture::{Mark, Panel, Picture, Point, Series};
pub use svg::svg;
pub use terminal::{ROWS_AROUND, bitmap_braille, mark, terminal, terminal_below};
