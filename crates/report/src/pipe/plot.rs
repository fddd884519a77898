//! The signature in a terminal: a quick view, also over a slow line and during the run.

use btu_chart::{Panel, mark, terminal};

use super::picture::{Graph, NamedSignature, panel};
use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::columns;

/// Rows between the axes of a result.
pub const ROWS: usize = 14;

/// The graph of one or several signatures in braille dots with this number of rows between the
/// axes, and a legend for several series.
pub fn pipe_plot(
    graph: Graph,
    runs: &[NamedSignature],
    references: bool,
    rows: usize,
    options: &TextOptions,
) -> Vec<String> {
    let panel = panel(graph, runs, references);
    let mut lines = plotted(&panel, rows, options);
    if panel.series.len() > 1 {
        lines.extend(legend(&panel, options));
    }
    lines
}

/// A panel with this number of rows between its axes.
pub(crate) fn plotted(panel: &Panel, rows: usize, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    terminal(panel, options.columns().min(110), rows, |place, text| paint.series(place, text))
}

/// The names of a panel's series, as many in a line as fit.
pub(crate) fn legend(panel: &Panel, options: &TextOptions) -> Vec<String> {
    let (width, paint) = (options.columns(), Paint(options.colour));
    let names = panel.series.iter().enumerate();
    let names =
        names.map(|(place, series)| (place, format!("{} {}", mark(panel, place), series.name)));
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (place, name) in names {
        let (painted, taken) = (format!("  {}", paint.series(place, &name)), columns(&name) + 2);
        match lines.last_mut() {
            Some((line, length)) if *length + taken <= width => {
                line.push_str(&painted);
                *length += taken;
            }
            _ => lines.push((painted, taken)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}
