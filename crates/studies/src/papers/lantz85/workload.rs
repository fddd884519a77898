//! The picture of the vector benchmark: a polygon with 36 corners, every corner joined to every
//! other.

use serde::Serialize;

use super::ITEM_BYTES;
use btu_suite::app;
use btu_suite::app::vector_pixels;

/// The benchmark's size, drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Workload {
    /// Vectors between any two corners.
    pub vectors: u32,
    /// Sum of their lengths, each cut to whole pixels, with corners at whole pixels.
    pub pixels: u64,
    /// Bytes that adding them takes.
    pub bytes: f64,
}

/// Draws the pictures and counts their items.
pub(super) fn draw() -> Workload {
    let vectors = app::Workload::Vectors.items().len() as u32;
    Workload { vectors, pixels: vector_pixels(), bytes: f64::from(vectors) * ITEM_BYTES }
}
