//! The answer to a question asked backwards.

use btu_model::predict::Found;

use super::figures::{digits, time};

/// What was looked for, and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MostFound {
    /// What was turned: the key.
    pub key: String,
    /// What stands behind its values.
    pub unit: String,
    /// What must not be exceeded: `mean delay`, `transfer time`.
    pub figure: String,
    /// The bound, in seconds.
    pub bound_seconds: f64,
    /// The least and the greatest value that were tried.
    pub tried: [f64; 2],
    /// What was found.
    pub found: Found,
    /// The figure there, in seconds.
    pub figure_seconds: Option<f64>,
}

/// One sentence; ends with `\n`.
pub fn most_text(most: &MostFound) -> String {
    let MostFound { key, figure, .. } = most;
    let bound = time(most.bound_seconds);
    let value = |value: f64| {
        let number = if value.fract() == 0.0 { format!("{value}") } else { digits(value, 6) };
        if most.unit.is_empty() { number } else { format!("{number} {}", most.unit) }
    };
    let there = most.figure_seconds.map_or_else(String::new, |seconds| format!(" (there it is {})", time(seconds)));
    match most.found {
        Found::UpTo(found) => format!("The {figure} stays within {bound} up to {key} = {}{there}.\n", value(found)),
        Found::Never => format!(
            "There is no answer: even with {key} = {} the {figure} exceeds {bound}{there}.\n",
            value(most.tried[0])
        ),
        Found::Always => format!(
            "No limit was found: even with {key} = {}, the largest value tried, the {figure} stays within {bound}{there}.\n",
            value(most.tried[1])
        ),
    }
}
