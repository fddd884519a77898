//! Draws the view: values on the left, results on the right, one line above and one below.

mod chart;
mod pages;
mod table;
mod tables;
#[cfg(test)]
pub(super) mod tests;
mod values;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use super::line::InputLine;
use super::state::{Mode, State};

/// The least size for the whole view.
const LEAST: (u16, u16) = (80, 24);

/// The style of headings.
const TITLE: Style = Style::new().add_modifier(Modifier::BOLD);
/// The style of the chosen value.
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Other styles, with or without colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) colour: bool,
}

impl Palette {
    fn of(self, colour: Color, plain: Modifier) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new().add_modifier(plain) }
    }

    fn quiet(self) -> Style {
        self.of(Color::DarkGray, Modifier::DIM)
    }

    /// The style of a changed value.
    fn changed(self) -> Style {
        self.of(Color::Green, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    fn warning(self) -> Style {
        self.of(Color::Yellow, Modifier::empty())
    }

    fn problem(self) -> Style {
        self.of(Color::Red, Modifier::BOLD)
    }
}

/// Draws the whole view.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(frame, area);
    }
    let [head, body, foot] = [
        Rect { height: 1, ..area },
        Rect { y: area.y + 1, height: area.height - 2, ..area },
        Rect { y: area.bottom() - 1, height: 1, ..area },
    ];
    frame.render_widget(title(state, palette, head.width), head);
    let left = (area.width * 2 / 5).clamp(31, 52);
    let values = Rect { width: left, ..body };
    let answers = Rect { x: body.x + left + 1, width: body.width - left - 1, ..body };
    values::draw(frame, values, state, palette);
    let rule = Block::new().borders(Borders::LEFT).border_style(palette.quiet());
    frame.render_widget(rule, Rect { x: body.x + left, width: 1, ..body });
    let used = tables::draw(frame, answers, state, palette);
    let rest = Rect { y: answers.y + used, height: answers.height.saturating_sub(used), ..answers };
    chart::draw(frame, rest, state, palette);
    bottom(frame, foot, state, palette);
    match state.mode {
        Mode::Help(place) => pages::help(frame, body, place, palette),
        Mode::Warnings(place) => pages::warnings(frame, body, state, place, palette),
        _ => {}
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let text = format!(
        "This view needs {} columns and {} lines; here are {} and {}. Make the window larger, or quit with q.",
        LEAST.0, LEAST.1, area.width, area.height
    );
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

/// The name of the network, the number of changes, and the key for help.
fn title(state: &State, palette: Palette, width: u16) -> Text<'static> {
    let changed = match (state.changes.len(), state.is_unsaved()) {
        (0, _) => String::new(),
        (number, true) => format!("{number} changed, not saved"),
        (number, false) => format!("{number} changed, saved"),
    };
    let keys = "? help  q quit";
    let name = clipped(&format!("btu model {}", state.name), usize::from(width).saturating_sub(46));
    let gap = usize::from(width).saturating_sub(width_of(&name) + 3 + changed.len() + keys.len());
    Text::from(vec![
        Span::styled(name, TITLE),
        Span::raw("   "),
        Span::styled(changed, palette.changed()),
        Span::raw(" ".repeat(gap)),
        Span::styled(keys, palette.quiet()),
    ])
}

/// The prompt, else a message, else the most useful keys.
fn bottom(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    match &state.mode {
        Mode::Filter => prompt(frame, area, "only keys with: ", &state.filter, None, palette),
        Mode::Value { line, problem, .. } => {
            let key = clipped(&format!("{} = ", state.chosen), usize::from(area.width / 2));
            prompt(frame, area, &key, line, problem.as_deref(), palette);
        }
        Mode::Path { line, problem } => {
            prompt(frame, area, "write to: ", line, problem.as_deref(), palette);
        }
        Mode::Overwrite(path) => {
            let text = format!("{} is there already. Write over it? y n", path.display());
            frame.render_widget(Text::styled(text, palette.problem()), area);
        }
        _ => frame.render_widget(message(state, palette), area),
    }
    if let (
        Mode::Value { problem: Some(problem), .. } | Mode::Path { problem: Some(problem), .. },
        true,
    ) = (&state.mode, area.y > 3)
    {
        told_above(frame, area, problem, palette);
    }
}

fn message(state: &State, palette: Palette) -> Text<'static> {
    match &state.note {
        Some(note) => {
            Text::styled(note.text.clone(), if note.is_problem { palette.problem() } else { TITLE })
        }
        None => Text::styled(
            "left right turn  < > finely  e type  r reset  / filter  tab f curve  s save",
            palette.quiet(),
        ),
    }
}

/// A line that is typed, with its cursor. A long one is shown around the cursor.
fn prompt(
    frame: &mut Frame<'_>,
    area: Rect,
    label: &str,
    line: &InputLine,
    problem: Option<&str>,
    palette: Palette,
) {
    let room = usize::from(area.width).saturating_sub(width_of(label) + 1);
    let (before, behind) = line.split();
    let skipped = width_of(before).saturating_sub(room.saturating_sub(1));
    let shown: String = before.chars().skip(skipped).chain(behind.chars()).take(room).collect();
    let style = if problem.is_some() { palette.problem() } else { TITLE };
    frame.render_widget(
        Text::from(vec![Span::styled(label.to_owned(), style), Span::raw(shown)]),
        area,
    );
    let column = width_of(label) + width_of(before) - skipped;
    frame.set_cursor_position(Position { x: area.x + column as u16, y: area.y });
}

/// The mistake in the typed text, in as many lines above the prompt as needed.
fn told_above(frame: &mut Frame<'_>, area: Rect, problem: &str, palette: Palette) {
    let lines =
        Paragraph::new(problem.to_owned()).style(palette.problem()).wrap(Wrap { trim: true });
    let height = (width_of(problem) as u16).div_ceil(area.width.saturating_sub(12)).clamp(1, 4);
    let place = Rect { y: area.y - height, height, ..area };
    frame.render_widget(ratatui::widgets::Clear, place);
    frame.render_widget(lines, place);
}

/// Columns that `text` takes; every character here is one column wide.
fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most this number of columns.
fn clipped(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(std::iter::once('…')).collect()
}
