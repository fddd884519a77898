//! A paper's statement, compared with its own numbers.

use serde::Serialize;

/// A sentence of a paper next to the result of the paper's tables or programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Its place: a section, a table, a figure.
    pub place: &'static str,
    /// Its text, shortened.
    pub said: &'static str,
    /// The result of the numbers.
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
