//! Text of others (programs, peers, files) as it can be shown: every crate that shows some asks here.

/// Whether a terminal acts on a character instead of showing it: it moves, erases, or changes the
/// direction of the text that follows (embeddings, overrides and isolates of Unicode Standard Annex
/// 9, and the Arabic letter mark), or is not seen where a reader looks for what is there (line and paragraph
/// separators, tags). The marks of both directions stay: texts of such languages need them.
pub const fn controls(letter: char) -> bool {
    let is_control = matches!(letter, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}');
    let is_hidden =
        matches!(letter, '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{e0000}'..='\u{e007f}');
    is_control || is_hidden || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, with `?` for each character that [`controls`].
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if controls(letter) { '?' } else { letter }).collect()
}

/// The text with `?` for each character that [`controls`] but the ends of its lines and tabs.
pub fn plain_lines(text: &str) -> String {
    let harmless = |letter| matches!(letter, '\n' | '\t') || !controls(letter);
    text.chars().map(|letter| if harmless(letter) { letter } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_replaced() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{7}", "?[31mred?"),
            ("evil\u{202e}txt\u{2069}", "evil?txt?"),
            ("a\r\nb\tc\u{9b}1m", "a??b?c?1m"),
            ("a\u{2028}b\u{e0041}\u{61c}", "a?b??"),
            ("naïve, 10 µs, \u{200f}שלום", "naïve, 10 µs, \u{200f}שלום"),
        ] {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(plain_lines("a\r\n\u{1b}b\tc\u{202e}"), "a?\n?b\tc?");
    }

    proptest! {
        #[test]
        fn no_control_is_left(text in "\\PC{0,8}[\0-\u{a0}\u{2020}-\u{2070}]{0,8}") {
            prop_assert!(!plain(&text).contains(controls));
            prop_assert_eq!(plain(&text).chars().count(), text.chars().count());
            prop_assert!(text.chars().filter(|letter| letter.is_control()).all(controls));
        }
    }
}
