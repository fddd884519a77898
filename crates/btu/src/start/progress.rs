//! Progress on standard error: the current cell and the time left, on terminals only.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use btu_chart::bitmap_braille;
use btu_contract::app::{VIEW_HEIGHT, VIEW_WIDTH, View};
use btu_contract::sample::Interval;
use btu_control::controller::{Observer, Phase, Progress};
use btu_report::interval_lines;
use btu_testbed::note;
use btu_units::Span;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::cli::Common;
use crate::results::shown::Form;
use crate::terminal::print;

/// A bar that is redrawn between cells, and during one only for requested lines, so that drawing
/// does not disturb the measurement.
pub(crate) struct Bar {
    drawn: ProgressBar,
    shown: bool,
    watch: ProgressDisplay,
    /// The cell that is measured, and its block.
    cell: (String, u32),
    /// The line about it.
    message: String,
}

/// Where the progress of a cell is shown while it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressDisplay {
    /// Progress is never shown.
    Never,
    /// The terminal: a line each second on standard error.
    Terminal,
    /// The terminal: what the display of the cell shows, in characters of dots.
    Picture,
    /// A program: a line of JSON a second on standard output.
    JsonLines,
}

impl ProgressDisplay {
    /// The form of the result.
    pub(crate) fn form(self, common: &Common) -> Form {
        if self == Self::JsonLines { Form::JsonLine } else { Form::of(common) }
    }
}

/// The interval of lines.
const EVERY: Span = Span::from_seconds(1);

/// The interval of pictures.
const PICTURE_EVERY: Span = Span::from_milliseconds(100);

/// Lines and columns of a terminal that tells no size.
pub(crate) const USUAL_LINES: u16 = 24;
pub(crate) const USUAL_COLUMNS: u16 = 80;

/// Lines of the screen that are not of the picture: progress, and the cursor's line.
const OTHER_LINES: u16 = 3;

/// An interval as a line of JSON.
#[derive(Serialize)]
struct IntervalLine<'a> {
    kind: &'static str,
    cell: &'a str,
    block: u32,
    #[serde(flatten)]
    interval: &'a Interval,
}

impl Bar {
    /// A bar, or nothing when `quiet` or when standard error is not a terminal.
    pub(crate) fn new(quiet: bool, watch: ProgressDisplay) -> Self {
        let shown = !quiet && stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let drawn = ProgressBar::with_draw_target(Some(1), target);
        drawn.set_style(style("{msg}"));
        Self { drawn, shown, watch, cell: (String::new(), 0), message: String::new() }
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.drawn.finish_and_clear();
    }

    /// Whether a user sees it.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown
    }

    /// Where the progress of a cell is shown.
    pub(crate) fn watch(&self) -> ProgressDisplay {
        self.watch
    }

    fn say(&self, text: String) {
        self.drawn.set_style(style("{msg}"));
        self.drawn.set_message(text);
        self.drawn.tick();
    }
}

/// Columns of the terminal on standard error.
fn columns() -> u16 {
    let size = terminal_size::terminal_size_of(stderr());
    size.map_or(USUAL_COLUMNS, |(columns, _)| columns.0)
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants of this file; a wrong one falls back to a plain bar.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━╌")
}

impl Observer for Bar {
    fn phase(&mut self, phase: Phase) {
        // A bar that was removed would not be drawn again.
        self.drawn.reset();
        match phase {
            Phase::Raise(stations) => {
                self.say(format!(
                    "starting the network: {stations} stations in network namespaces"
                ));
            }
            Phase::Reserve => self.say("reserving the hosts".to_owned()),
            Phase::Check => self.say("checking the network against what was asked for".to_owned()),
            Phase::Calibrate(done, of, seconds) => {
                let left = seconds.map(|left| clock(Duration::from_secs_f64(left.max(0.0))));
                let left = left.map_or_else(String::new, |left| format!(", {left} left"));
                self.say(format!("calibrating {} of {of}{left}", done + 1));
            }
            Phase::Measure => self.drawn.set_style(style("{bar:24} {pos}/{len}  {msg}")),
            Phase::Lower => self.say("taking everything down".to_owned()),
        }
    }

    fn progress(&mut self, progress: &Progress) {
        self.drawn.set_length(progress.expected as u64);
        self.drawn.set_position(progress.done as u64);
        self.message = message(progress, columns());
        self.drawn.set_message(self.message.clone());
        self.cell = (progress.cell.clone(), progress.block.unwrap_or_default());
    }

    fn notice(&mut self, text: &str) {
        if self.shown {
            self.drawn.println(text);
        } else {
            note!("{text}");
        }
    }

    fn every(&self) -> Option<Span> {
        match self.watch {
            // Reports draw them, whether or not a user sees them now.
            ProgressDisplay::JsonLines | ProgressDisplay::Terminal => Some(EVERY),
            ProgressDisplay::Picture if self.shown => Some(PICTURE_EVERY),
            ProgressDisplay::Picture | ProgressDisplay::Never => None,
        }
    }

    fn view(&mut self, view: &View) {
        let size = terminal_size::terminal_size_of(stderr());
        let lines = size.map_or(USUAL_LINES, |(_, lines)| lines.0).saturating_sub(OTHER_LINES);
        let picture = bitmap_braille(VIEW_WIDTH, VIEW_HEIGHT, &view.bits(), lines);
        self.drawn.set_message(format!("{}\n{}", self.message, picture.join("\n")));
        self.drawn.tick();
    }

    fn interval(&mut self, interval: &Interval) {
        let (cell, block) = (self.cell.0.as_str(), self.cell.1);
        if self.watch == ProgressDisplay::JsonLines {
            let line =
                serde_json::to_string(&IntervalLine { kind: "interval", cell, block, interval });
            // A reader that is gone is detected when the result is printed.
            let _ = line.map(|line| print(&line));
        }
        if self.shown {
            for line in interval_lines(cell, interval, columns().into()) {
                self.drawn.println(line);
            }
        }
    }
}

/// What follows the bar and its counts, in lines of at most so many columns: a longer one would take two
/// lines of the terminal, of which one would be left behind.
fn message(progress: &Progress, columns: u16) -> String {
    let columns = usize::from(columns);
    let left = clock(Duration::from_secs_f64(progress.seconds_left.max(0.0)));
    let block = progress.block.map(|block| format!("block {}  ", block + 1)).unwrap_or_default();
    let line = format!("{left} left  {block}{}", progress.cell);
    let counts = format!("{}/{}", progress.done, progress.expected).len();
    let line = cut(&line, columns.saturating_sub(BAR + counts + 3));
    if progress.so_far.is_empty() {
        return line;
    }
    format!("{line}\n{}", cut(&progress.so_far, columns))
}

/// Columns of the bar.
const BAR: usize = 24;

/// As much of a text as fits.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// The time after which a simulation's progress is shown: short waits need none.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A simulation's bar: the share of its virtual time that is done, and the time left.
pub(crate) struct SimulationBar {
    bar: ProgressBar,
    begun: Instant,
}

impl SimulationBar {
    /// A bar, or nothing when `quiet` or when standard error is not a terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = !quiet && stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        bar.set_style(style("{bar:24} {msg}"));
        Self { bar, begun: Instant::now() }
    }

    /// Shows that this share of the work is done.
    pub(crate) fn show(&self, share: f64) {
        let gone = self.begun.elapsed();
        if gone < TIMEOUT {
            return;
        }
        self.bar.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        let left = if share > 0.0 {
            format!("{} left", clock(gone.mul_f64((1.0 - share).max(0.0) / share)))
        } else {
            "simulating".to_owned()
        };
        self.bar.set_message(left);
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A line on the current step of a command.
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// A bar, or nothing when `quiet` or when standard error is not a terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = !quiet && stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        bar.set_style(style("{msg}"));
        Self { bar }
    }

    /// Shows the current step.
    pub(crate) fn say(&self, text: String) {
        self.bar.set_style(style("{msg}"));
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats a duration as `2:05` or `1:02:05`.
fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_fits() {
        let progress = Progress {
            block: Some(1),
            cell: "structured-rectangles stop-and-wait tcp-nagle".repeat(2),
            done: 44,
            expected: 405,
            seconds_left: 3.0,
            so_far: "x".repeat(200),
        };
        for columns in [50, 80] {
            let message = message(&progress, columns);
            let lines: Vec<usize> = message.lines().map(|line| line.chars().count()).collect();
            let bar = format!("{:BAR$} 44/405  ", "").len();
            let most = usize::from(columns);
            assert!(bar + lines[0] <= most && lines[1] <= most, "{message}");
            assert!(message.starts_with("0:03 left"), "{message}");
        }
    }

    #[test]
    fn time_left_reads_like_a_clock() {
        assert_eq!(clock(Duration::from_secs(125)), "2:05");
        assert_eq!(clock(Duration::from_secs(3725)), "1:02:05");
    }
}
