//! What names a part of a drawing: its place in the list of its kind.

use serde::{Deserialize, Serialize};

/// Place of a segment in [`Drawing::segments`](crate::Drawing::segments).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SegmentId(pub u32);

/// Place of a station in [`Drawing::stations`](crate::Drawing::stations).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StationId(pub u32);

/// Place of a bridge in [`Drawing::bridges`](crate::Drawing::bridges).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BridgeId(pub u32);

/// Place of a link in [`Drawing::links`](crate::Drawing::links).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub u32);
