//! A paper's statement, compared with its own numbers.

use serde::Serialize;

/// A sentence of a paper next to what the paper's tables or programs give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Where it stands: a section, a table, a figure.
    pub place: &'static str,
    /// What it says, shortened.
    pub said: &'static str,
    /// What the numbers give.
    pub found: String,
    /// Whether the two agree, as far as the printed digits go.
    pub holds: bool,
}

impl Claim {
    pub(super) fn new(
        place: &'static str,
        said: &'static str,
        found: impl Into<String>,
        holds: bool,
    ) -> Self {
        Self { place, said, found: found.into(), holds }
    }
}
