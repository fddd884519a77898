//! The screen while a run goes on: progress, and the signature as far as it is known below it.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

use btu_report::{Graph, NamedSignature, PLOT_ROWS, TextOptions, pipe_plot};

use crate::progress::Steps;
use crate::terminal;

/// Lines of a plot that are no rows between its axes: labels, numbers, legend, and the progress above.
const AROUND: usize = 7;

/// Fewer rows show nothing.
const LEAST_ROWS: usize = 4;

/// Progress on a terminal; nothing elsewhere, or when quiet.
pub(super) struct Screen {
    pub(super) steps: Steps,
    is_shown: bool,
}

impl Screen {
    pub(super) fn new(quiet: bool) -> Self {
        Self { steps: Steps::new(quiet), is_shown: !quiet && stderr().is_terminal() }
    }

    /// Shows that so many sizes are done, `before` of them before `begun`; `with` calls the drawer with the signatures, and is
    /// not called where nothing is drawn. Nothing is measured meanwhile.
    pub(super) fn show(
        &self,
        done: usize,
        before: usize,
        of: usize,
        begun: Instant,
        text: &str,
        with: impl FnOnce(&dyn Fn(&[NamedSignature]) -> Vec<String>) -> Vec<String>,
    ) {
        let lines = match self.room() {
            Some((options, rows)) => with(&|signatures| pipe_plot(Graph::Signature, signatures, false, rows, &options)),
            None => Vec::new(),
        };
        self.steps.show_over(done - before, of - before, begun, text, &lines);
    }

    /// How a plot shall look, and how many rows there are for it; `None` where none is shown.
    fn room(&self) -> Option<(TextOptions, usize)> {
        let (width, height) = self.is_shown.then(|| terminal_size::terminal_size_of(stderr())).flatten()?;
        let rows = usize::from(height.0).saturating_sub(AROUND).min(PLOT_ROWS);
        let options = TextOptions { colour: terminal::colour_of(&stderr()), width: usize::from(width.0) };
        (rows >= LEAST_ROWS && width.0 >= 80).then_some((options, rows))
    }
}
