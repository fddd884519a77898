//! Texts without control characters for a terminal: nothing else is stored, and whatever is stored
//! can be exported and imported again.

use std::borrow::Cow;

pub(crate) use btu_units::plain_lines as shown;

/// The longest label, in bytes.
pub(crate) const LONGEST_LABEL: usize = 500;

/// Whether a terminal would act on a character. The end of a line and a tab are harmless.
pub(crate) const fn controls(c: char) -> bool {
    !matches!(c, '\n' | '\t') && btu_units::controls(c)
}

/// Whether a word holds a character that [`controls`], or a line end.
pub(crate) fn is_plain(word: &str) -> bool {
    !word.contains(btu_units::controls)
}

/// A text of JSON, in which no string controls a terminal. A carriage return alone, which would
/// overwrite the line, becomes the end of a line, as programs mean it that print their progress.
pub(crate) fn cleaned(json: &str) -> Cow<'_, str> {
    if !hides_controls(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        let (before, escape) = rest.split_at(place);
        out.push_str(&shown(before));
        let length = Escape::of(escape).push(escape, &mut out);
        rest = escape.get(length..).unwrap_or_default();
    }
    Cow::Owned(out + &shown(rest))
}

/// Like [`cleaned`], with each string on one line.
pub(crate) fn cleaned_lines(json: &str) -> String {
    // In JSON, a line feed in a string is an escape; a backslash before it is one, too.
    let one = |part: &str| part.replace("\\r\\n", " ").replace("\\n", " ");
    cleaned(json).split("\\\\").map(one).collect::<Vec<_>>().join("\\\\")
}

/// Whether a text of JSON has control characters, bare or as escapes, beyond the ends of lines and
/// tabs: names and messages of runs are shown on terminals.
pub(crate) fn hides_controls(json: &str) -> bool {
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        let (before, escape) = rest.split_at(place);
        let kind = Escape::of(escape);
        if !matches!(kind, Escape::Harmless(_)) || before.contains(controls) {
            return true;
        }
        rest = escape.get(kind.length()..).unwrap_or_default();
    }
    rest.contains(controls)
}

/// An escape in a string of JSON (RFC 8259, section 7), by what it stands for.
enum Escape {
    /// Of this length: the character behind the backslash belongs to it, and may be a backslash.
    Harmless(usize),
    /// A carriage return that no line feed follows.
    Return(usize),
    /// What controls a terminal.
    Control(usize),
}

impl Escape {
    fn of(escape: &str) -> Self {
        let code = escape
            .strip_prefix("\\u")
            .and_then(|code| u32::from_str_radix(code.get(..4)?, 16).ok())
            .and_then(char::from_u32);
        match (escape.as_bytes().get(1), code) {
            (Some(b'u'), Some('\r')) => Self::Return(6),
            (Some(b'u'), Some(code)) if controls(code) => Self::Control(6),
            (Some(b'r'), _) if !escape.starts_with("\\r\\n") => Self::Return(2),
            (Some(b'b' | b'f'), _) => Self::Control(2),
            // Behind the backslash may be any character in a text that is no JSON.
            _ => Self::Harmless(1 + escape.chars().nth(1).map_or(0, char::len_utf8)),
        }
    }

    const fn length(&self) -> usize {
        match self {
            Self::Harmless(length) | Self::Return(length) | Self::Control(length) => *length,
        }
    }

    /// Appends what stands for it; returns its length.
    fn push(&self, escape: &str, out: &mut String) -> usize {
        match self {
            Self::Harmless(length) => out.push_str(escape.get(..*length).unwrap_or_default()),
            Self::Return(_) => out.push_str("\\n"),
            Self::Control(_) => out.push('?'),
        }
        self.length()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_seen_through() {
        for (text, clean) in [
            ("\u{1b}[2J", "?[2J"),
            (r"a\u001b[2J", "a?[2J"),
            (r"\u009b", "?"),
            (r"x\b", "x?"),
            (r"\\\u0007", r"\\?"),
            ("\u{7f}", "?"),
            ("\u{202e}", "?"),
            (r"\u2066", "?"),
            ("a\rb", "a?b"),
            (r"a\rb", r"a\nb"),
            (r"\u000d", r"\n"),
        ] {
            assert!(hides_controls(text), "{text:?}");
            assert_eq!(cleaned(text), clean);
        }
        for text in [
            "",
            "plain",
            r"\n\t\r\n",
            r"\\u001b",
            r#"\"quoted\""#,
            r"\u00e9",
            r"\ud83d\ude00",
            "\\",
            r"\é",
        ] {
            assert!(!hides_controls(text), "{text:?}");
            assert_eq!(cleaned(text), text);
        }
    }

    proptest! {
        /// Any text that is stored as JSON is clean afterwards, and still the JSON of a text.
        #[test]
        fn what_is_cleaned_is_clean(text in "[\0-\u{a0}\u{2020}-\u{2070}\\\\\"]{0,40}|\\PC{0,40}") {
            let clean = cleaned(&serde_json::to_string(&text).unwrap()).into_owned();
            prop_assert!(!hides_controls(&clean), "{:?}", clean);
            let read: String = serde_json::from_str(&clean).unwrap();
            prop_assert!(!read.replace("\r\n", "\n").contains(controls), "{:?}", read);
            prop_assert_eq!(cleaned(&clean).into_owned(), clean.clone());
            // Nothing else is changed.
            let same = |(was, is): (char, char)| was == is || controls(was);
            prop_assert!(text.chars().zip(read.chars()).all(same), "{:?} {:?}", text, read);
            // And what is no JSON is survived.
            prop_assert!(!hides_controls(&cleaned(&text)), "{:?}", text);
        }
    }
}
