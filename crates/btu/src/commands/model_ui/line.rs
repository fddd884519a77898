//! A line of input that the user is typing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Longest text that can be typed: as long as a text in a network file, and any path.
const LONGEST: usize = 1000;

/// Its text and where the next character goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct InputLine {
    text: String,
    /// Octets before the cursor; always between characters.
    cursor: usize,
}

impl InputLine {
    /// A line with this text, and the cursor behind it.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor and the text behind it.
    pub(super) fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Takes a key, if it is one for typing.
    pub(super) fn press(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => *self = Self::default(),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !control && !c.is_control() && self.text.len() < LONGEST => {
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
            }
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor = self.before();
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => {
                self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
            }
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_goes_where_the_cursor_is() {
        let mut line = InputLine::of("10 Mb/s");
        let codes = [
            KeyCode::Home,
            KeyCode::Delete,
            KeyCode::Char('µ'),
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Char('5'),
        ];
        for code in codes {
            line.press(KeyEvent::from(code));
        }
        assert_eq!((line.text(), line.split().0), ("µ50 Mb/s", "µ5"));
        for code in [
            KeyCode::Backspace,
            KeyCode::Backspace,
            KeyCode::Backspace,
            KeyCode::Left,
            KeyCode::End,
        ] {
            line.press(KeyEvent::from(code));
        }
        assert_eq!(line.split(), ("0 Mb/s", ""));
        line.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        line.press(KeyEvent::from(KeyCode::Delete));
        line.press(KeyEvent::from(KeyCode::Right));
        assert_eq!(line, InputLine::default());
    }
}
