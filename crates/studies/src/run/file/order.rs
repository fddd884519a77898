//! `[order]`: how often and how long.

use btu_network::Fields;
use btu_units::{Probability, Span};

/// Most blocks of a plan.
const MOST_BLOCKS: u32 = 1000;

/// The repetitions of every combination, and the time limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// So many blocks at least.
    pub blocks: u32,
    /// The wanted half width of every interval over its value; `None` means exactly `blocks`.
    pub until: Option<f64>,
    /// So many blocks at most.
    pub at_most_blocks: u32,
    /// No block beyond the first is begun or continued after this time.
    pub at_most: Span,
    /// The resolution of a fraction; absent where every combination is measured.
    pub resolution: Option<u32>,
}

impl Default for Order {
    fn default() -> Self {
        let at_most = Span::from_seconds(24 * 3600);
        Self { blocks: 5, until: None, at_most_blocks: 5, at_most, resolution: None }
    }
}

impl Order {
    /// The value under `order`, or the default; `None` if it is wrong.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let usual = Self::default();
        let Some(item) = fields.get("order") else { return Some(usual) };
        let fields = item.fields()?;
        let blocks = fields.whole("blocks", 1..=MOST_BLOCKS).unwrap_or(usual.blocks);
        let until = fields.get("until").and_then(|item| {
            let share: Probability = item.quantity()?;
            let is_one = share.share() > 0.0 && share.share() < 1.0;
            if !is_one {
                item.problem("an interval's half width over its value is wanted, such as \"5 %\"");
            }
            is_one.then(|| share.share())
        });
        let most = fields.whole("at_most_blocks", 1..=MOST_BLOCKS);
        let at_most = fields
            .quantity_in("at_most", Span::from_seconds(1)..=usual.at_most)
            .unwrap_or(usual.at_most);
        let resolution = fields.whole("resolution", 3..=16);
        // The leads and deadlines of programs are read where they are needed.
        let lead = fields.get("lead");
        let deadline = fields.get("deadline");
        drop((lead, deadline));
        if let Some(item) = fields.get("at_most_blocks")
            && most.is_some_and(|most| most < blocks)
        {
            item.problem(format!("fewer blocks at most than at least, which are {blocks}"));
        }
        fields.finish();
        let at_most_blocks = most.unwrap_or(if until.is_some() { blocks.max(20) } else { blocks });
        Some(Self { blocks, until, at_most_blocks, at_most, resolution })
    }
}
