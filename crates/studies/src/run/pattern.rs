//! The patterns that find a value in what a program printed: the last match of the last line that
//! has one.

use std::cell::Cell;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// Largest compiled pattern, in bytes: enough for two words of Unicode (`\w+`) and a number. A pattern of a stored
/// plan may come from an untrusted source, and each octet of a search may take a step in every state of it.
const LARGEST: usize = 128 << 10;

/// Most octets that are searched from one [`afresh`] on. A search for the last match looks to the end of
/// the line each time, so its time grows with the square of the line: no line of 1 KiB comes to this.
const MOST_SEARCHED: usize = 512 << 10;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(MOST_SEARCHED) };
}

/// Begins to count anew what is searched: for each value of a cell that was measured, and once for a
/// whole run that is read, whose values are stored unless it is an old one.
pub(super) fn afresh() {
    LEFT.set(MOST_SEARCHED);
}

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
        let mut of_line = None;
        for line in text.lines().rev() {
            self.spend(line.len())?;
            if regex.is_match(line) {
                of_line = Some(line);
                break;
            }
        }
        let Some(line) = of_line else { return Ok(None) };
        let at = self.last_match(regex, line)?;
        self.spend(line.len() - at)?;
        let found = regex.captures_at(line, at);
        let part = found.as_ref().and_then(|found| found.get(1).or_else(|| found.get(0)));
        Ok(Some(part.map_or("", |part| part.as_str())))
    }

    /// Where the last match of a line begins, which has one.
    fn last_match(&self, regex: &Regex, line: &str) -> Result<usize, String> {
        let mut last = 0;
        for found in regex.find_iter(line) {
            last = found.start();
            self.spend(line.len() - last)?;
        }
        Ok(last)
    }

    /// Counts the octets of a search before it.
    fn spend(&self, octets: usize) -> Result<(), String> {
        let left = LEFT.get().checked_sub(octets);
        LEFT.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(|| {
            format!("`{}` takes too long to look for: write more of the line into it", self.text)
        })
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(LARGEST).multi_line(true).build();
    built.map_err(|error| match error {
        regex::Error::Syntax(why) => {
            let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is not a regular expression: {last}")
        }
        _ => format!(
            "`{text}` is too large a regular expression: `[A-Za-z0-9_]` takes less room than `\\w`, and `.*` less than many repetitions"
        ),
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
            Pattern::new("(".to_owned())
                .unwrap_err()
                .starts_with("`(` is not a regular expression: ")
        );
        assert!(Pattern::new("(a{1000}){1000}".to_owned()).unwrap_err().contains("too large"));
    }

    /// Each search of this pattern looks at all that follows, and then takes one digit: a line of
    /// 65,000 of them was searched for three minutes.
    #[test]
    fn no_text_is_searched_for_long() {
        let hard = pattern(".*[^0-9]|[0-9]");
        let refused = hard.last_in(&"1".repeat(65_000)).unwrap_err();
        assert!(refused.contains("takes too long to look for"), "{refused}");
        // Nothing more is searched of the same run.
        assert!(pattern("1").last_in("1").is_err());
        afresh();
        assert_eq!(pattern("1").last_in("1"), Ok(Some("1")));
        // Nor is a pattern of many states looked for.
        assert!(Pattern::new("(?:[0-9a-z]?){2000} ([0-9])".to_owned()).is_err());
        assert!(Pattern::new(r"^\w+\s+\w+\s+(\d+)".to_owned()).is_ok());
        // Of many lines one is searched for all its matches.
        afresh();
        let line = "1".repeat(1000) + "\n";
        assert_eq!(hard.last_in(&line.repeat(32)), Ok(Some("1")));
        // A line of a usual kind is as long as it likes.
        afresh();
        let line = format!("{} rate: 12 kB/s", "x".repeat(60_000));
        assert_eq!(pattern(".*rate: ([0-9]+)").last_in(&line), Ok(Some("12")));
    }

    proptest! {
        /// As a search for all matches finds it.
        #[test]
        fn it_is_what_a_whole_search_finds(wanted in "[ab(|)*+?.]{1,6}", line in "[ab ]{0,12}") {
            afresh();
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
