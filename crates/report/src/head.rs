//! The data of a report in addition to the verdict.

use btu_contract::experiment::Warning;
use btu_units::Span;

/// The run of a report; every text is as the report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunHead {
    /// The run's name, as `btu show` takes it.
    pub id: String,
    /// Wall time of the start.
    pub started: String,
    /// The name of the network, as the report shows it.
    pub network: String,
    /// The name of the profile, as the report shows it.
    pub profile: String,
    /// The seed of order, payload and impairments.
    pub seed: u64,
    /// Processor, kernel, memory: one line.
    pub machine: String,
    /// The hosts of the run, a line for each with the way to its agent; none for a run on one
    /// machine.
    pub hosts: Vec<String>,
    /// The conditions that affect the result in addition to the network: the processors and their
    /// sleep states, TCP's congestion control; a phrase each.
    pub conditions: Vec<String>,
    /// The database the run is stored in.
    pub database: String,
    /// How long the run took.
    pub duration: Span,
    /// The time of a cell without work: the tool's own fixed cost.
    pub own_cost: Option<Span>,
    /// Warnings that were stored during the run: about the network, about a machine that changed.
    pub notes: Vec<String>,
    /// Other programs used the machine before or after the run; `None` of a rating, whose verdict
    /// says so.
    pub busy: Option<Warning>,
}

impl RunHead {
    /// The hosts, and the conditions that affect the result in addition to the network.
    pub(crate) fn about_hosts(&self) -> impl Iterator<Item = String> {
        self.hosts.iter().chain(&self.conditions).cloned()
    }
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Whether ANSI colours may be used; the caller checks `NO_COLOR` and whether there is a
    /// terminal.
    pub colour: bool,
    /// Columns of the terminal. Tables take 80 at least.
    pub width: usize,
}

/// The fewest columns for which texts are made.
const LEAST: usize = 80;

impl TextOptions {
    /// The number of columns to fill.
    pub(crate) fn columns(self) -> usize {
        self.width.max(LEAST)
    }

    /// Whether the terminal has no room for what texts are made for.
    pub(crate) fn is_narrow(self) -> bool {
        self.width < LEAST
    }

    /// Whether there is room for intervals in every cell of the tables.
    pub(crate) fn is_wide(self) -> bool {
        self.width >= 100
    }
}
