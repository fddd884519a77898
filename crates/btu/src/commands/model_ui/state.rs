//! The state of the view, and how keys change it. It has no terminal, clock or thread.

mod told;
mod turned;

use std::path::PathBuf;

use btu_network::{Parameter, Quantity};
use btu_units::Bytes;
use ratatui::crossterm::event::KeyEvent;

pub(super) use super::asking::TRANSFER;
use super::asking::{Ask, Changes, ModelAnswer};
use super::curve::{Axis, Curve};
use super::line::InputLine;

/// The text without a transfer.
pub(super) const NO_TRANSFER: &str = "none";

/// All data of the view.
#[derive(Debug)]
pub(super) struct State {
    /// The request of the command line.
    pub(super) name: String,
    /// As it began, for resetting.
    first: Vec<Parameter>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) changes: Changes,
    /// The last state that the file accepted.
    accepted: Changes,
    /// The key of the chosen value.
    pub(super) chosen: String,
    pub(super) filter: InputLine,
    pub(super) mode: Mode,
    /// Whether the curve goes along the load instead of the chosen key.
    pub(super) along_load: bool,
    pub(super) figure: ShownDelay,
    pub(super) note: Option<Note>,
    pub(super) answer: ModelAnswer,
    pub(super) curve: Option<Curve>,
    /// Number of the newest question.
    asked: u64,
    /// Whether a new request is needed.
    is_stale: bool,
    saved: Changes,
    /// Keys that arrived while a typed value was checked.
    pub(super) held: Vec<KeyEvent>,
    pub(super) wish: Option<Wish>,
}

/// The current meaning of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// The user chooses and changes values.
    Browse,
    /// A filter is typed.
    Filter,
    /// A value is typed.
    Value {
        line: InputLine,
        problem: Option<String>,
        is_checked: bool,
    },
    /// A path is typed.
    Path {
        line: InputLine,
        problem: Option<String>,
    },
    /// Whether to write over a file.
    Overwrite(PathBuf),
    /// Pages to read, and how far they are scrolled.
    Help(u16),
    Warnings(u16),
}

/// The delay that the curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownDelay {
    /// The delay of all frames.
    All,
    /// The delay of the flow with this index.
    Flow(usize),
    /// The simple and the aggregate delay.
    Transfer,
}

/// A line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_problem: bool,
}

/// Actions outside of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Save {
        path: PathBuf,
        over: bool,
    },
    Quit,
    /// The user pressed Ctrl-C.
    Interrupt,
}

/// The result of saving.
#[derive(Debug)]
pub(super) enum Saved {
    Done(String),
    /// The file exists already.
    Exists(PathBuf),
    Failed(String),
}

impl State {
    /// The view as it opens.
    pub(super) fn new(
        name: &str,
        answer: ModelAnswer,
        transfer: Option<Bytes>,
        flow: Option<&str>,
    ) -> Self {
        let flow =
            flow.and_then(|name| answer.prediction.flows.iter().position(|flow| flow.name == name));
        let figure = match (transfer, flow) {
            (Some(_), _) => ShownDelay::Transfer,
            (None, Some(flow)) => ShownDelay::Flow(flow),
            (None, None) => ShownDelay::All,
        };
        let size = transfer.map_or_else(
            || NO_TRANSFER.to_owned(),
            |size| Quantity::Size.written(size.count() as f64),
        );
        let own = Parameter {
            key: TRANSFER.to_owned(),
            text: size,
            quantity: Quantity::Size,
            written: transfer.is_some(),
        };
        let first: Vec<Parameter> =
            std::iter::once(own).chain(answer.parameters.iter().cloned()).collect();
        // Users usually change a rate of traffic first.
        let first_of = |prefix: &str| {
            first.iter().find(|at| at.key.starts_with(prefix) && at.quantity != Quantity::Words)
        };
        let rate = |at: &&Parameter| {
            matches!(at.quantity, Quantity::Load | Quantity::Frames | Quantity::Rate)
        };
        let chosen = first.iter().filter(|at| at.key.starts_with("traffic.")).find(rate);
        let chosen = chosen
            .or_else(|| first_of("segments."))
            .or_else(|| first_of(""))
            .map(|at| at.key.clone());
        Self {
            name: name.to_owned(),
            parameters: first.clone(),
            first,
            changes: Changes::new(),
            accepted: Changes::new(),
            chosen: chosen.unwrap_or_default(),
            filter: InputLine::default(),
            mode: Mode::Browse,
            along_load: true,
            figure,
            note: None,
            answer,
            curve: None,
            asked: 0,
            is_stale: true,
            saved: Changes::new(),
            held: Vec::new(),
            wish: None,
        }
    }

    /// The next request, if there is a new one. Keys that arrived together make one request.
    pub(super) fn ask(&mut self) -> Option<Ask> {
        if !std::mem::take(&mut self.is_stale) {
            return None;
        }
        self.asked += 1;
        let mut changes = self.changes.clone();
        changes.remove(TRANSFER);
        Some(Ask { number: self.asked, changes, transfer: self.transfer(), axis: self.axis() })
    }

    /// The current value under a key, changed or not.
    pub(super) fn text<'a>(&'a self, parameter: &'a Parameter) -> &'a str {
        // Changes that wait for an answer are not in the list yet; reset ones still are.
        let first =
            || self.first.iter().find(|at| at.key == parameter.key).map(|at| at.text.as_str());
        self.changes
            .get(&parameter.key)
            .map(String::as_str)
            .or_else(first)
            .unwrap_or(&parameter.text)
    }

    pub(super) fn is_changed(&self, key: &str) -> bool {
        self.changes.contains_key(key)
    }

    /// Whether there are unsaved changes.
    pub(super) fn is_unsaved(&self) -> bool {
        self.changes != self.saved && !self.changes.is_empty()
    }

    /// The chosen value, unless the filter hides it: hidden values cannot be changed.
    pub(super) fn chosen_parameter(&self) -> Option<&Parameter> {
        self.visible().into_iter().find(|at| at.key == self.chosen)
    }

    /// The values that pass the filter.
    pub(super) fn visible(&self) -> Vec<&Parameter> {
        let words: Vec<String> =
            self.filter.text().split_whitespace().map(str::to_lowercase).collect();
        let passes =
            |at: &&Parameter| words.iter().all(|word| at.key.to_lowercase().contains(word));
        self.parameters.iter().filter(passes).collect()
    }

    /// The size of the transfer, if there is one.
    fn transfer(&self) -> Option<Bytes> {
        self.parameters.first().and_then(|own| self.text(own).parse().ok())
    }

    fn axis(&self) -> Axis {
        if self.along_load {
            return Axis::Load;
        }
        let value = |at: &Parameter| at.quantity.value(self.text(at));
        match self.chosen_parameter().and_then(|at| Some((at, value(at)?))) {
            Some((at, value)) => Axis::Key { key: at.key.clone(), quantity: at.quantity, value },
            None => Axis::None,
        }
    }
}
