//! Pages that cover the view: help, and warnings in full.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Borders, Clear, Padding, Paragraph, Wrap};

use super::{Palette, TITLE};
use crate::commands::model_ui::keys::HELP;
use crate::commands::model_ui::state::State;

/// The effects of all keys.
pub(super) fn help(frame: &mut Frame<'_>, area: Rect, place: u16, palette: Palette) {
    let mut lines: Vec<Text<'_>> = Vec::new();
    for (keys, what) in HELP {
        lines.push(Text::from(vec![Span::styled(format!("{keys:<17}"), TITLE), Span::raw(*what)]));
    }
    lines.push(Text::default());
    for line in [
        "* changed; pale: not in the file, the standard; > in a table: at least.",
        "data: frames' own bits; used: with all that goes with them.",
        "The dotted line of the curve marks the current value.",
    ] {
        lines.push(Text::styled(line, palette.quiet()));
    }
    page(frame, area, "Keys (esc closes)", lines, place);
}

/// Every warning with its observation and its meaning.
pub(super) fn warnings(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &State,
    place: u16,
    palette: Palette,
) {
    let warnings = &state.answer.prediction.warnings;
    let mut lines: Vec<Text<'_>> = Vec::new();
    for warning in warnings {
        lines.push(Text::styled(warning.place.clone(), palette.warning()));
        lines.push(Text::raw(format!("{}.", warning.message)));
        lines.push(Text::default());
    }
    if warnings.is_empty() {
        lines.push(Text::raw(
            "Nothing speaks against these numbers beyond what the closed forms take for granted:",
        ));
        lines.push(Text::default());
    }
    for formula in &state.answer.prediction.formulas {
        lines.push(Text::styled(
            format!("{}: {}. Assumes: {}.", formula.name, formula.source, formula.assumptions),
            palette.quiet(),
        ));
    }
    page(frame, area, "Warnings and closed forms (esc closes)", lines, place);
}

fn page(frame: &mut Frame<'_>, area: Rect, title: &'static str, lines: Vec<Text<'_>>, place: u16) {
    let width = area.width.min(100);
    let middle = Rect { x: area.x + (area.width - width) / 2, width, ..area };
    let frame_of_page =
        Block::new().borders(Borders::ALL).title(title).padding(Padding::horizontal(1));
    // Scrolling past the end would leave an empty page.
    let most = lines.len().saturating_sub(1) as u16;
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .scroll((place.min(most), 0))
        .block(frame_of_page);
    frame.render_widget(Clear, middle);
    frame.render_widget(text, middle);
}
