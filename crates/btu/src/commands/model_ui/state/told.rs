//! Applies what other threads report to the state: answers, curves, and the result of saving.

use super::{Mode, Note, Saved, ShownDelay, State};
use crate::commands::model_ui::asking::WorkerMessage;
use crate::commands::model_ui::line::InputLine;

impl State {
    /// Processes a message of the working thread.
    pub(crate) fn told(&mut self, told: WorkerMessage) {
        match told {
            WorkerMessage::Answer(number, Ok(answer)) => {
                let transfer = self.parameters.iter().take(1).cloned();
                self.parameters = transfer.chain(answer.parameters.iter().cloned()).collect();
                self.answer = *answer;
                self.mind_figure();
                if number == self.asked && !self.is_stale {
                    self.accepted = self.changes.clone();
                    if matches!(self.mode, Mode::Value { is_checked: true, .. }) {
                        self.mode = Mode::Browse;
                        self.press_held();
                    }
                }
            }
            // The next request may succeed or be refused, too.
            WorkerMessage::Answer(number, Err(problem))
                if number == self.asked && !self.is_stale =>
            {
                self.refused(&problem);
            }
            WorkerMessage::Curve(number, curve) if number == self.asked => self.curve = Some(curve),
            WorkerMessage::Answer(..) | WorkerMessage::Curve(..) => {}
        }
    }

    /// Processes the result of saving.
    pub(crate) fn saved(&mut self, saved: Saved) {
        match saved {
            Saved::Done(text) => {
                self.saved = self.changes.clone();
                self.mode = Mode::Browse;
                self.note = Some(Note { text, is_problem: false });
            }
            Saved::Exists(path) => self.mode = Mode::Overwrite(path),
            Saved::Failed(problem) => {
                let line = match &self.mode {
                    Mode::Path { line, .. } => line.clone(),
                    Mode::Overwrite(path) => InputLine::of(&path.display().to_string()),
                    _ => InputLine::default(),
                };
                self.mode = Mode::Path { line, problem: Some(problem) };
            }
        }
    }

    /// The keys after a value that is accepted now.
    fn press_held(&mut self) {
        for key in std::mem::take(&mut self.held) {
            self.press(key);
        }
    }

    /// The file does not accept the newest changes: restores the last accepted ones.
    fn refused(&mut self, problem: &str) {
        self.take_back();
        // The user meant them for the time after it.
        self.held.clear();
        match &mut self.mode {
            Mode::Value { problem: shown, is_checked, .. } => {
                (*shown, *is_checked) = (Some(problem.to_owned()), false);
            }
            _ => self.note = Some(Note { text: problem.to_owned(), is_problem: true }),
        }
    }

    /// A figure that no longer exists is replaced.
    fn mind_figure(&mut self) {
        let prediction = &self.answer.prediction;
        let is_there = match self.figure {
            ShownDelay::All => true,
            ShownDelay::Flow(place) => place < prediction.flows.len(),
            ShownDelay::Transfer => prediction.transfer.is_some(),
        };
        if !is_there {
            self.figure = ShownDelay::All;
        }
    }
}
