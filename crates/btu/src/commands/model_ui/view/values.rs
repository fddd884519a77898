//! The left side: every value that can be changed, under its group.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::Paragraph;

use btu_network::Parameter;

use super::{CHOSEN, Palette, TITLE, clipped, width_of};
use crate::commands::model_ui::state::State;

/// Draws the values round the chosen one.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let (lines, chosen) = lines(state, area.width, palette);
    let height = usize::from(area.height);
    let hidden = lines.len().saturating_sub(height);
    // The chosen line stays in the middle where it can.
    let skipped = chosen.saturating_sub(height / 2).min(hidden);
    let shown: Vec<Text<'_>> = lines.into_iter().skip(skipped).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

/// All lines, and the place of the chosen one.
fn lines(state: &State, width: u16, palette: Palette) -> (Vec<Text<'static>>, usize) {
    let (mut lines, mut chosen, mut group) = (Vec::new(), 0, String::new());
    let filter = state.filter.text().trim();
    if !filter.is_empty() {
        lines.push(Text::styled(
            clipped(&format!("with `{filter}` (esc: all)"), width.into()),
            palette.warning(),
        ));
    }
    let visible = state.visible();
    if visible.is_empty() {
        lines.push(Text::styled("no key has these words", palette.quiet()));
    }
    for parameter in visible {
        let (of, leaf) = parted(&parameter.key);
        if of != group {
            of.clone_into(&mut group);
            lines.push(Text::styled(clipped(of, width.into()), TITLE));
        }
        if parameter.key == state.chosen {
            chosen = lines.len();
        }
        lines.push(line(state, parameter, leaf, width.into(), palette));
    }
    (lines, chosen)
}

/// The group, `segments.ether`, and the rest, `rate`.
fn parted(key: &str) -> (&str, &str) {
    let mut dots = key.match_indices('.').map(|(place, _)| place);
    let (first, second) = (dots.next(), dots.next());
    second.or(first).map_or(("", key), |place| (&key[..place], &key[place + 1..]))
}

fn line(
    state: &State,
    parameter: &Parameter,
    leaf: &str,
    width: usize,
    palette: Palette,
) -> Text<'static> {
    let (is_chosen, is_changed) = (parameter.key == state.chosen, state.is_changed(&parameter.key));
    let mark =
        format!("{}{}", if is_chosen { '>' } else { ' ' }, if is_changed { '*' } else { ' ' });
    let leaf = clipped(leaf, width.saturating_sub(12));
    let room = width.saturating_sub(3 + width_of(&leaf));
    let value = clipped(&shown(state.text(parameter)), room);
    let text = format!("{mark}{leaf} {value:>room$}");
    let style = match (is_changed, parameter.written) {
        (true, _) => palette.changed(),
        (false, true) => ratatui::style::Style::new(),
        (false, false) => palette.quiet(),
    };
    Text::from(Span::styled(text, if is_chosen { style.patch(CHOSEN) } else { style }))
}

/// A frame in thirty years counts as zero.
fn shown(text: &str) -> String {
    if text == "1e-9" { "0".to_owned() } else { text.to_owned() }
}
