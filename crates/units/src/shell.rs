//! Quotes words of a command line that a user will copy into a shell. The words may come from
//! another person's file.

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
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

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
