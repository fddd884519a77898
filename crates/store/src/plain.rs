//! Texts without control characters for a terminal.

/// Whether a terminal would act on a character instead of showing it: move, erase, or change the
/// direction of the following text (Unicode Standard Annex 9), so that the screen shows another
/// text than the stored one. The end of a line and a tab are harmless.
pub(crate) fn controls(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || turns(c)
}

/// Whether a word holds a character that [`controls`], or a line end.
pub(crate) fn is_plain(word: &str) -> bool {
    !word.contains(|c: char| c.is_control() || turns(c))
}

/// Embeddings, overrides and isolates, which reach over other texts.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
