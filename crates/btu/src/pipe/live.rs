//! The screen during a run: progress, and below it the signature as far as it is known.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

use btu_report::{Graph, NamedSignature, PLOT_ROWS, TextOptions, pipe_plot};
use btu_units::Span;

use crate::progress::Steps;
use crate::terminal;

/// Lines of a plot that are no rows between its axes: labels, numbers, a legend of two lines, and
/// the progress above.
const AROUND: usize = 8;

/// Fewer rows show nothing.
const LEAST_ROWS: usize = 4;

/// No plot is narrower.
const LEAST_COLUMNS: usize = 80;

/// Progress on a terminal; nothing elsewhere, or when quiet.
pub(super) struct Screen {
    pub(super) steps: Steps,
    is_shown: bool,
}

impl Screen {
    pub(super) fn new(quiet: bool) -> Self {
        Self { steps: Steps::new(quiet), is_shown: !quiet && stderr().is_terminal() }
    }

    /// Shows the number of sizes that are done since `begun`, in the time for all if it is limited;
    /// `plotted` calls the drawer with the
    /// signatures, and is not called without a drawing. No measurement runs meanwhile.
    pub(super) fn show(
        &self,
        sizes: (usize, usize),
        timing: (Instant, Option<Span>),
        text: &str,
        plotted: impl FnOnce(&dyn Fn(&[NamedSignature]) -> Vec<String>) -> Vec<String>,
    ) {
        let Some((width, height)) = self.size() else { return };
        let rows = height.saturating_sub(AROUND).min(PLOT_ROWS);
        let options = TextOptions { colour: terminal::colour_of(&stderr()), width };
        let is_drawn = rows >= LEAST_ROWS && width >= LEAST_COLUMNS;
        let draw = |signatures: &[NamedSignature]| {
            pipe_plot(Graph::Throughput, signatures, false, rows, &options)
        };
        let lines = if is_drawn { plotted(&draw) } else { Vec::new() };
        self.steps.show_over(sizes, timing, text, width, &lines);
    }

    /// Columns and lines of the terminal; `None` without a display.
    fn size(&self) -> Option<(usize, usize)> {
        let (width, height) =
            self.is_shown.then(|| terminal_size::terminal_size_of(stderr())).flatten()?;
        Some((usize::from(width.0), usize::from(height.0)))
    }
}
