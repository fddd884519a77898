//! The signature in a terminal: a quick look, also over a slow line and while the run goes on.

use btu_chart::{mark, terminal};

use super::picture::{Graph, NamedSignature, panel};
use crate::head::TextOptions;
use crate::paint::Paint;

/// Rows between the axes.
const ROWS: usize = 14;

/// The graph of one or several signatures in braille dots, with a legend where there are several series.
pub fn pipe_plot(graph: Graph, runs: &[NamedSignature], references: bool, options: &TextOptions) -> Vec<String> {
    let panel = panel(graph, runs, references);
    let paint = Paint(options.colour);
    let mut lines = terminal(&panel, options.columns().min(110), ROWS, |place, text| paint.series(place, text));
    if panel.series.len() > 1 {
        for (place, series) in panel.series.iter().enumerate() {
            lines.push(paint.series(place, &format!("  {} {}", mark(&panel, place), series.name)));
        }
    }
    lines
}
