//! Text of others (programs, peers, files) as it can be shown or copied into a shell: every crate that
//! shows some asks here.

/// Whether a terminal acts on a character instead of showing it: it moves, erases, or changes the
/// direction of the text that follows (embeddings, overrides and isolates of Unicode Standard Annex
/// 9, and the Arabic letter mark), or is not seen where a reader looks for what is there (line and paragraph
/// separators, tags, characters without a width such as U+200B); or it is none, and may not stand in XML (Unicode, section
/// 23.7; XML 1.0, section 2.2). The marks of both directions stay, and those that join letters or part them (U+200C,
/// U+200D): texts of some languages need them.
pub const fn controls(letter: char) -> bool {
    let is_control = matches!(letter, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}');
    let is_none = matches!(letter, '\u{fdd0}'..='\u{fdef}') || letter as u32 & 0xfffe == 0xfffe;
    let is_hidden = matches!(letter, '\u{2028}' | '\u{2029}' | '\u{e0000}'..='\u{e007f}');
    let has_no_width = matches!(letter, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}');
    let turns = matches!(letter, '\u{61c}' | '\u{202a}'..='\u{202e}');
    is_control || is_none || is_hidden || has_no_width || turns
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

/// Whether a spreadsheet program may take a text for a formula, by its first letter, which may be a full-width one.
pub fn begins_formula(text: &str) -> bool {
    text.starts_with([
        '=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ])
}

/// `word` as a shell takes it: unchanged if no character has a meaning to a shell, else in
/// quotation marks.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-+:,@=".contains(c);
    // At its beginning, some shells look for a program behind `=`.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_replaced() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{7}", "?[31mred?"),
            ("evil\u{202e}txt\u{2069}", "evil?txt?"),
            ("a\r\nb\tc\u{9b}1m", "a??b?c?1m"),
            ("a\u{2028}b\u{e0041}\u{61c}", "a?b??"),
            ("a\u{ffff}b\u{fffe}c\u{fdd0}\u{1fffe}\u{10ffff}\u{fffd}", "a?b?c???\u{fffd}"),
            ("a\u{200b}b\u{ad}c\u{2060}d\u{feff}e\u{180e}f\u{fff9}", "a?b?c?d?e?f?"),
            ("naïve, 10 µs, \u{200f}שלום", "naïve, 10 µs, \u{200f}שלום"),
            ("می\u{200c}خواهم, \u{2800}\u{2801}", "می\u{200c}خواهم, \u{2800}\u{2801}"),
        ] {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(plain_lines("a\r\n\u{1b}b\tc\u{202e}"), "a?\n?b\tc?");
    }

    #[test]
    fn full_width_signs_begin_formulas_too() {
        for text in ["=1", "+1", "-1", "@a", "\tx", "\rx", "＝cmd|x", "＋1", "－1", "＠a"] {
            assert!(begins_formula(text), "{text}");
        }
        assert!(!begins_formula("1+1") && !begins_formula("") && !begins_formula("a=b"));
    }

    proptest! {
        #[test]
        fn no_control_is_left(text in "\\PC{0,8}[\0-\u{a0}\u{2020}-\u{2070}]{0,8}") {
            prop_assert!(!plain(&text).contains(controls));
            prop_assert_eq!(plain(&text).chars().count(), text.chars().count());
            prop_assert!(text.chars().filter(|letter| letter.is_control()).all(controls));
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, quoted) in [
            ("10", "10"),
            ("10 Mb/s", "'10 Mb/s'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("alpha=192.0.2.1:7417@198.51.100.1", "alpha=192.0.2.1:7417@198.51.100.1"),
            ("=ls", "'=ls'"),
            ("quick$(id)", "'quick$(id)'"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A shell reads every quoted word as the original word.
        #[test]
        fn a_shell_reads_the_word_itself(word in "[^\0]{0,20}") {
            let said = Command::new("sh").args(["-c", &format!("printf %s {}", shell_word(&word))]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
