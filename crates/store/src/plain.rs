//! Texts that do nothing to a terminal.

/// Whether a character, shown on a terminal, would do something instead of standing there: move,
/// erase, or turn the direction of what follows (Unicode Standard Annex 9), so that something else
/// is read than what is written. The end of a line and a tab do no more than what they are for.
pub(crate) fn controls(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || turns(c)
}

/// Whether a word holds a character that [`controls`], or is no word because it goes on in the next
/// line.
pub(crate) fn is_plain(word: &str) -> bool {
    !word.contains(|c: char| c.is_control() || turns(c))
}

/// Embeddings, overrides and isolates, which reach over other texts.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
