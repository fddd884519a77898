//! The patterns that find a value in what a program printed: the last match of the last line that
//! has one.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// Largest compiled pattern, in bytes: a pattern of a stored plan may come from an untrusted
/// source.
const LARGEST: usize = 1 << 20;

/// Most octets that are searched for further matches in the line that has the value. A search is
/// linear, and looks to the end of the line at worst, so the time of many grows with the square of
/// the line: no line of 2 KiB comes to this, however often it matches.
const MOST_SEARCHED: usize = 2 << 20;

/// A regular expression, compiled when it is first needed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Result<Regex, String>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// A pattern that can be looked for.
    ///
    /// # Errors
    /// It is no regular expression, or too large; why, on one line.
    pub(super) fn new(text: String) -> Result<Self, String> {
        let pattern = Self::from(text);
        pattern.compiled().map(drop)?;
        Ok(pattern)
    }

    /// As it is written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    fn compiled(&self) -> Result<&Regex, String> {
        self.compiled.get_or_init(|| compile(&self.text)).as_ref().map_err(Clone::clone)
    }

    /// The first group of the last match in the last line that has one, or all of the match where
    /// the pattern has no group; `None` if no line matches.
    ///
    /// # Errors
    /// It cannot be compiled, or it matches too often in that line.
    pub(super) fn last_in<'t>(&self, text: &'t str) -> Result<Option<&'t str>, String> {
        let regex = self.compiled()?;
        let Some(line) = text.lines().rev().find(|line| regex.is_match(line)) else {
            return Ok(None);
        };
        let at = self.last_match(regex, line)?;
        let found = regex.captures_at(line, at);
        let part = found.as_ref().and_then(|found| found.get(1).or_else(|| found.get(0)));
        Ok(Some(part.map_or("", |part| part.as_str())))
    }

    /// Where the last match of a line begins, which has one.
    fn last_match(&self, regex: &Regex, line: &str) -> Result<usize, String> {
        let (mut last, mut searched) = (0, 0);
        for found in regex.find_iter(line) {
            last = found.start();
            searched += line.len() - last;
            if searched > MOST_SEARCHED {
                return Err(format!(
                    "`{}` matches too often in a line of {} B: write more of the line into it",
                    self.text,
                    line.len()
                ));
            }
        }
        Ok(last)
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(LARGEST).multi_line(true).build();
    built.map_err(|error| match error {
        regex::Error::Syntax(why) => {
            let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is no regular expression: {last}")
        }
        _ => format!("`{text}` is too large a regular expression"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text.to_owned()).expect(text)
    }

    #[test]
    fn the_last_match_of_the_last_line_that_has_one_is_found() {
        for (wanted, text, found) in [
            ("^([0-9.]+) MB/s$", "12.5 MB/s\n99.25 MB/s\nthat is all\n", Some("99.25")),
            ("[0-9]+", "1\na 7 b 8 c\n\n", Some("8")),
            ("(a)?b", "b", Some("b")),
            ("x", "a\nb\n", None),
            ("", "", None),
            ("$", "a\r\n", Some("")),
        ] {
            assert_eq!(pattern(wanted).last_in(text), Ok(found), "{wanted}");
        }
        assert!(
            Pattern::new("(".to_owned()).unwrap_err().starts_with("`(` is no regular expression: ")
        );
        assert!(Pattern::new("(a{1000}){1000}".to_owned()).unwrap_err().contains("too large"));
    }

    /// Each search of this pattern looks at all that follows, and then takes one digit: a line of
    /// 65,000 of them was searched for three minutes.
    #[test]
    fn no_text_is_searched_for_long() {
        let hard = pattern(".*[^0-9]|[0-9]");
        let refused = hard.last_in(&"1".repeat(65_000)).unwrap_err();
        assert!(refused.contains("matches too often in a line of 65000 B"), "{refused}");
        // Of many lines one is searched for all its matches.
        let line = "1".repeat(2000) + "\n";
        assert_eq!(hard.last_in(&line.repeat(32)), Ok(Some("1")));
        // A line of a usual kind is as long as it likes.
        let line = format!("{} rate: 12 kB/s", "x".repeat(60_000));
        assert_eq!(pattern(".*rate: ([0-9]+)").last_in(&line), Ok(Some("12")));
    }

    proptest! {
        /// As a search for all matches finds it.
        #[test]
        fn it_is_what_a_whole_search_finds(wanted in "[ab(|)*+?.]{1,6}", line in "[ab ]{0,12}") {
            let Ok(pattern) = Pattern::new(wanted) else { return Ok(()) };
            let regex = pattern.compiled().unwrap();
            let all = regex.captures_iter(&line).last();
            let expected = all.map(|found| found.get(1).or(found.get(0)).unwrap().as_str());
            if !line.is_empty() {
                prop_assert_eq!(pattern.last_in(&line), Ok(expected));
            }
        }
    }
}
