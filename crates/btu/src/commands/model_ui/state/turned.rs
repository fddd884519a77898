//! The effects of keys: on the chosen value, the values themselves, and the curve.

use btu_network::Quantity;

use super::{NO_TRANSFER, Note, ShownDelay, State, TRANSFER};
use crate::commands::model_ui::turning::{ParameterStep, turned};

/// The first size of a transfer.
const FIRST_TRANSFER: &str = "1 MB";

impl State {
    /// Moves the choice by this number of places.
    pub(crate) fn go(&mut self, places: isize) {
        let visible = self.visible();
        let here = visible.iter().position(|at| at.key == self.chosen).unwrap_or(0);
        let next = here.saturating_add_signed(places).min(visible.len().saturating_sub(1));
        let Some(key) = visible.get(next).map(|at| at.key.clone()) else { return };
        if key != self.chosen {
            self.chosen = key;
            self.is_stale |= !self.along_load;
        }
    }

    /// After a change of the filter: chooses a visible value.
    pub(crate) fn filtered(&mut self) {
        self.go(0);
    }

    pub(crate) fn turn(&mut self, turn: ParameterStep) {
        let Some(parameter) = self.chosen_parameter() else { return };
        let (key, quantity, text) =
            (parameter.key.clone(), parameter.quantity, self.text(parameter).to_owned());
        let next = if key == TRANSFER && text == NO_TRANSFER {
            turn.up.then(|| FIRST_TRANSFER.to_owned())
        } else {
            turned(quantity, &text, turn)
        };
        match next {
            Some(next) => self.set(&key, next),
            None if quantity == Quantity::Words => {
                self.say("this is not a single quantity: type it with e");
            }
            None => self.say("no further step that way: type a value with e"),
        }
    }

    /// Puts a value under a key.
    pub(crate) fn set(&mut self, key: &str, text: String) {
        let is_first = self.first.iter().any(|at| at.key == key && at.text == text);
        if is_first {
            self.changes.remove(key);
        } else {
            self.changes.insert(key.to_owned(), text);
        }
        if key == TRANSFER {
            self.figure =
                if self.transfer().is_some() { ShownDelay::Transfer } else { self.figure };
        }
        self.is_stale = true;
    }

    /// Restores the last accepted values, without waiting for an answer.
    pub(crate) fn take_back(&mut self) {
        self.changes = self.accepted.clone();
        self.is_stale = true;
    }

    pub(crate) fn reset(&mut self) {
        let Some(key) = self.chosen_parameter().map(|at| at.key.clone()) else { return };
        if self.changes.remove(&key).is_some() {
            self.is_stale = true;
        } else {
            self.say("this value has not been changed");
        }
    }

    pub(crate) fn reset_all(&mut self) {
        let number = self.changes.len();
        if number > 0 {
            self.changes.clear();
            self.is_stale = true;
            self.say(&format!("{number} changed back"));
        }
    }

    pub(crate) fn toggle_axis(&mut self) {
        self.along_load = !self.along_load;
        self.is_stale = true;
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.note = Some(Note { text: text.to_owned(), is_problem: false });
    }

    /// The next figure: all frames, each flow, the transfer.
    pub(crate) fn next_figure(&mut self) {
        let flows = self.answer.prediction.flows.len();
        self.figure = match self.figure {
            ShownDelay::All if flows > 1 => ShownDelay::Flow(0),
            ShownDelay::Flow(place) if place + 1 < flows => ShownDelay::Flow(place + 1),
            ShownDelay::All | ShownDelay::Flow(_) if self.answer.prediction.transfer.is_some() => {
                ShownDelay::Transfer
            }
            _ => ShownDelay::All,
        };
    }
}
