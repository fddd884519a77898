//! A drawing in the making: what is known of it while the groups of the file are written out.

use super::names::Names;
use super::problem::Problems;
use super::written::Written;
use crate::drawing::{Attachment, Drawing};

/// A station during expansion: some of its values are not known yet.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) name: String,
    /// Index of its group in the file.
    pub(super) group: usize,
    pub(super) plug: Option<Attachment>,
    /// Whether its place on the cable was written.
    pub(super) placed: bool,
}

/// A drawing in the making.
#[derive(Debug)]
pub(super) struct DrawingBuilder<'a> {
    pub(super) written: &'a Written,
    pub(super) drawing: Drawing,
    pub(super) seats: Vec<Seat>,
    pub(super) names: Names,
    pub(super) problems: &'a Problems,
    /// For each bridge and link, the index of its group in the file.
    pub(super) bridge_groups: Vec<usize>,
    pub(super) link_groups: Vec<usize>,
    /// Entries written out so far; see [`ENTRIES`](super::limits::ENTRIES).
    pub(super) entries: usize,
    pub(super) opportunities: usize,
}
