//! The keys and their effects.

use std::path::PathBuf;

use btu_units::Bytes;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::line::InputLine;
use super::state::{Mode, NO_TRANSFER, Note, State, TRANSFER, Wish};
use super::turning::ParameterStep;

/// The number of values that a page key skips.
const PAGE: isize = 10;

/// Every key with its effect, for the help.
pub(super) const HELP: &[(&str, &str)] = &[
    ("up down, k j", "choose a value (page up, page down, home, end too)"),
    ("left right, h l", "turn it down or up by steps of 1, 2 and 5"),
    ("< >", "turn it by about 5 % (shift with left and right too)"),
    ("e, enter", "type a value; what the file does not take is refused, and says why"),
    ("r, R", "put this value back, or all"),
    ("/", "show only keys with these words; esc shows all again"),
    ("tab", "the curve along the load of the busiest medium, or along the chosen value"),
    ("f", "the curve of all frames, of each flow, of the transfer"),
    ("w", "warnings in full"),
    ("s", "write a network file with the changed values"),
    ("q", "quit; changes are printed as a command line"),
];

impl State {
    /// Changes the state by a key.
    pub(super) fn press(&mut self, key: KeyEvent) {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.wish = Some(Wish::Interrupt);
            return;
        }
        self.note = None;
        match self.mode.clone() {
            Mode::Browse => self.browse(key),
            Mode::Filter => self.filter(key),
            Mode::Value { line, is_checked, .. } => self.value(line, is_checked, key),
            Mode::Path { line, .. } => self.path(line, key),
            Mode::Overwrite(path) => self.overwrite(path, key),
            Mode::Help(place) => self.mode = scrolled(key, place).map_or(Mode::Browse, Mode::Help),
            Mode::Warnings(place) => {
                self.mode = scrolled(key, place).map_or(Mode::Browse, Mode::Warnings);
            }
        }
    }

    fn browse(&mut self, key: KeyEvent) {
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let turn = |up, fine| ParameterStep { up, fine };
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::PageUp => self.go(-PAGE),
            KeyCode::PageDown => self.go(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX),
            KeyCode::Left => self.turn(turn(false, shift)),
            KeyCode::Right => self.turn(turn(true, shift)),
            KeyCode::Char('h') => self.turn(turn(false, false)),
            KeyCode::Char('l') => self.turn(turn(true, false)),
            KeyCode::Char('<' | 'H') => self.turn(turn(false, true)),
            KeyCode::Char('>' | 'L') => self.turn(turn(true, true)),
            KeyCode::Char('e') | KeyCode::Enter => self.edit(),
            KeyCode::Char('r') => self.reset(),
            KeyCode::Char('R') => self.reset_all(),
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Esc => {
                self.filter = InputLine::default();
                self.filtered();
            }
            KeyCode::Tab | KeyCode::BackTab => self.toggle_axis(),
            KeyCode::Char('f') => self.next_figure(),
            KeyCode::Char('w') => self.mode = Mode::Warnings(0),
            KeyCode::Char('s') => self.begin_saving(),
            KeyCode::Char('?') | KeyCode::F(1) => self.mode = Mode::Help(0),
            KeyCode::Char('q') => self.wish = Some(Wish::Quit),
            _ => {}
        }
    }

    fn filter(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => self.mode = Mode::Browse,
            KeyCode::Esc => {
                self.filter = InputLine::default();
                self.mode = Mode::Browse;
            }
            KeyCode::Up => self.go(-1),
            KeyCode::Down => self.go(1),
            _ => self.filter.press(key),
        }
        self.filtered();
    }

    fn edit(&mut self) {
        if let Some(parameter) = self.chosen_parameter() {
            let text = self.text(parameter);
            let line = if text == NO_TRANSFER { InputLine::default() } else { InputLine::of(text) };
            self.mode = Mode::Value { line, problem: None, is_checked: false };
        }
    }

    fn value(&mut self, mut line: InputLine, is_checked: bool, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => {
                if is_checked {
                    self.take_back();
                    self.held.clear();
                }
                self.mode = Mode::Browse;
            }
            // The answer to the last one is pending.
            _ if is_checked => self.held.push(key),
            KeyCode::Enter => self.enter(line),
            _ => {
                line.press(key);
                self.mode = Mode::Value { line, problem: None, is_checked: false };
            }
        }
    }

    /// Puts in the typed value; the prompt closes when the file has accepted it.
    fn enter(&mut self, line: InputLine) {
        let key = self.chosen.clone();
        let mut text = line.text().trim().to_owned();
        if key == TRANSFER {
            if text.is_empty() {
                NO_TRANSFER.clone_into(&mut text);
            }
            match text.parse::<Bytes>() {
                Ok(size) if size > Bytes::ZERO => {}
                _ if text == NO_TRANSFER => {}
                Ok(_) => {
                    return self.mistyped(
                        line,
                        "a transfer of nothing takes no time: leave it empty for none",
                    );
                }
                Err(error) => return self.mistyped(line, &error.to_string()),
            }
        } else if text.is_empty() {
            return self.mistyped(line, "type a value, or leave with esc; r puts the old one back");
        }
        self.set(&key, text);
        self.mode = Mode::Value { line, problem: None, is_checked: true };
    }

    fn mistyped(&mut self, line: InputLine, problem: &str) {
        self.mode = Mode::Value { line, problem: Some(problem.to_owned()), is_checked: false };
    }

    fn begin_saving(&mut self) {
        let stem = &self.answer.prediction.network;
        self.mode =
            Mode::Path { line: InputLine::of(&format!("{stem}-changed.toml")), problem: None };
    }

    fn path(&mut self, mut line: InputLine, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => self.mode = Mode::Browse,
            KeyCode::Enter if line.text().trim().is_empty() => {
                self.mode =
                    Mode::Path { line, problem: Some("type a path, or leave with esc".to_owned()) };
            }
            KeyCode::Enter => {
                self.wish =
                    Some(Wish::Save { path: PathBuf::from(line.text().trim()), over: false });
                self.mode = Mode::Path { line, problem: None };
            }
            _ => {
                line.press(key);
                self.mode = Mode::Path { line, problem: None };
            }
        }
    }

    fn overwrite(&mut self, path: PathBuf, key: KeyEvent) {
        match key.code {
            KeyCode::Char('y' | 'Y') => self.wish = Some(Wish::Save { path, over: true }),
            KeyCode::Char('n' | 'N') | KeyCode::Esc | KeyCode::Enter => {
                let text = path.display().to_string();
                self.mode = Mode::Path { line: InputLine::of(&text), problem: None };
            }
            _ => self.note = Some(Note { text: "y or n".to_owned(), is_problem: false }),
        }
    }
}

/// The place in a page after a key; `None` after one that closes it.
fn scrolled(key: KeyEvent, place: u16) -> Option<u16> {
    match key.code {
        KeyCode::Down | KeyCode::Char('j') => Some(place.saturating_add(1)),
        KeyCode::Up | KeyCode::Char('k') => Some(place.saturating_sub(1)),
        KeyCode::PageDown => Some(place.saturating_add(10)),
        KeyCode::PageUp => Some(place.saturating_sub(10)),
        KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?' | 'w' | ' ') => None,
        _ => Some(place),
    }
}
