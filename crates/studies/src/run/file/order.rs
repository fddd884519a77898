//! `[order]`: how often and how long.

use btu_network::Fields;
use btu_units::Span;

/// Most blocks of a plan.
const MOST_BLOCKS: u32 = 1000;

/// The repetitions of every combination, and the time limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The number of blocks.
    pub blocks: u32,
    /// No block beyond the first is begun or continued after this time.
    pub at_most: Span,
    /// The resolution of a fraction; absent where every combination is measured.
    pub resolution: Option<u32>,
}

impl Default for Order {
    fn default() -> Self {
        let at_most = Span::from_seconds(24 * 3600);
        Self { blocks: 5, at_most, resolution: None }
    }
}

impl Order {
    /// The value under `order`, or the default; `None` if it is wrong.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let usual = Self::default();
        let Some(item) = fields.get("order") else { return Some(usual) };
        let fields = item.fields()?;
        let blocks = fields.whole("blocks", 1..=MOST_BLOCKS).unwrap_or(usual.blocks);
        let at_most = fields
            .quantity_in("at_most", Span::from_seconds(1)..=usual.at_most)
            .unwrap_or(usual.at_most);
        let resolution = fields.whole("resolution", 3..=16);
        // The leads and deadlines of programs are read where they are needed.
        let lead = fields.get("lead");
        let deadline = fields.get("deadline");
        drop((lead, deadline));
        fields.finish();
        Some(Self { blocks, at_most, resolution })
    }
}
