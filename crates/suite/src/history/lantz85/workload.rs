//! The picture of the vector benchmark: a polygon with 36 corners, every corner joined to every other.

use std::f64::consts::TAU;

use serde::Serialize;

use super::ITEM_BYTES;

const CORNERS: u32 = 36;
const RADIUS_PIXELS: f64 = 350.0;

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

/// Draws it.
pub(super) fn draw() -> Workload {
    let corner = |index: u32| {
        let angle = TAU * f64::from(index) / f64::from(CORNERS);
        ((RADIUS_PIXELS * angle.cos()).round(), (RADIUS_PIXELS * angle.sin()).round())
    };
    let corners: Vec<(f64, f64)> = (0..CORNERS).map(corner).collect();
    let pairs = corners.iter().enumerate().flat_map(|(index, from)| corners[..index].iter().map(move |to| (from, to)));
    let lengths = pairs.map(|(from, to)| (from.0 - to.0).hypot(from.1 - to.1) as u64);
    let vectors = CORNERS * (CORNERS - 1) / 2;
    Workload { vectors, pixels: lengths.sum(), bytes: f64::from(vectors) * ITEM_BYTES }
}
