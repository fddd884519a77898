//! A drawing in words.

use std::fmt::Write;

use btu_network::Drawing;

/// What `drawing` draws, one paragraph for each kind.
pub(super) fn of(drawing: &Drawing) -> String {
    let mut text = format!("{}: {}\n", drawing.name, drawing.about);
    let _ = writeln!(text, "{} stations", drawing.stations.len());
    text
}
