//! The comments before the text of a network that a plan holds, so that the text is complete: the
//! settings, and the recordings that the file names.
//!
//! `# --set links.line.delay=20 ms` is a setting. `# trace drive.down=2 0 1 40` is the recording
//! that `trace = "drive.down"` names: for each opportunity the milliseconds since the one before
//! it, which takes a third of the room of its times.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::limits;
use super::trace::{Files, MOST};

/// Settings are stored in the text of a network, as comments before it.
pub const SETTING: &str = "# --set ";

/// Recordings are, too, behind the settings.
const RECORDING: &str = "# trace ";

/// The settings at the beginning of a text, keys and values.
pub fn settings_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map_while(|line| line.strip_prefix(SETTING))
        .filter_map(|line| line.split_once('='))
}

/// The comment for the recording `name` with these times in milliseconds, which do not go back;
/// `None` if a comment cannot have that name.
pub fn recording_comment(name: &str, times: &[u32]) -> Option<String> {
    if name.chars().any(char::is_control) {
        return None;
    }
    let mut line = format!("{RECORDING}{name}=");
    let mut before = 0;
    for &time in times {
        let _ = write!(line, "{} ", time.saturating_sub(before));
        before = time;
    }
    Some(line.trim_end().to_owned() + "\n")
}

/// The lines of recordings at the beginning of a text.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| line.starts_with(SETTING));
    lines.map_while(|line| line.strip_prefix(RECORDING))
}

/// Octets of a text without those of the recordings at its beginning, and of these.
pub(super) fn octets(text: &str) -> (usize, usize) {
    let recorded = lines(text).map(|line| RECORDING.len() + line.len() + 1).sum::<usize>();
    (text.len().saturating_sub(recorded), recorded.min(text.len()))
}

/// The recordings at the beginning of a text, by name; nothing in place of a damaged one.
#[derive(Debug)]
pub(super) struct Recordings<'a>(BTreeMap<&'a str, Option<&'a str>>);

impl<'a> Recordings<'a> {
    /// Looks at every number once: a file may name the same recording for many links.
    pub(super) fn of(text: &'a str) -> Self {
        let named = lines(text).filter_map(|line| line.rsplit_once('='));
        Self(named.map(|(name, gaps)| (name, is_sound(gaps).then_some(gaps))).collect())
    }

    /// The recording of this name in Mahimahi's form, or why it has none; `None` if it is not
    /// there.
    pub(super) fn get(&self, name: &str) -> Option<Result<String, String>> {
        let damaged = || "its copy before the network file is damaged".to_owned();
        Some(self.0.get(name)?.map(lines_of).ok_or_else(damaged))
    }
}

/// The traces of a file: recordings before it, and what `files` finds, of so many opportunities in
/// all. Short texts could otherwise be read as long traces of many links.
pub(super) struct Traces<'a> {
    recordings: Recordings<'a>,
    files: Files<'a>,
    left: Cell<usize>,
}

impl<'a> Traces<'a> {
    pub(super) fn of(text: &'a str, files: Files<'a>) -> Self {
        let left = Cell::new(limits::OPPORTUNITIES);
        Self { recordings: Recordings::of(text), files, left }
    }

    /// The trace of this name in Mahimahi's form.
    pub(super) fn get(&self, name: &str) -> Result<String, String> {
        if self.left.get() == 0 {
            return Err("the traces before it have too many opportunities".to_owned());
        }
        let found = self.recordings.get(name).unwrap_or_else(|| (self.files)(name))?;
        self.left.set(self.left.get().saturating_sub(found.lines().count()));
        Ok(found)
    }
}

/// Whether these are whole numbers, and their sum is a time.
fn is_sound(gaps: &str) -> bool {
    let mut gaps = gaps.split_whitespace().map(str::parse::<u32>);
    gaps.try_fold(0u32, |time, gap| time.checked_add(gap.ok()?)).is_some()
}

/// A line for each time.
fn lines_of(gaps: &str) -> String {
    let (mut time, mut text) = (0u32, String::new());
    for gap in gaps.split_whitespace().take(MOST + 1) {
        time = time.saturating_add(gap.parse().unwrap_or(0));
        let _ = writeln!(text, "{time}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_comes_back_from_its_comment() {
        let comment = recording_comment("a=b.down", &[2, 2, 3, 43]).unwrap();
        assert_eq!(comment, "# trace a=b.down=2 0 1 40\n");
        let text = format!("{SETTING}a.b=1\n{comment}[stations.a]\n# trace late=1\n");
        let recordings = Recordings::of(&text);
        assert_eq!(recordings.get("a=b.down"), Some(Ok("2\n2\n3\n43\n".to_owned())));
        assert_eq!(recordings.get("late"), None);
        assert_eq!(octets(&text), (text.len() - comment.len(), comment.len()));
        assert_eq!(settings_of(&text).collect::<Vec<_>>(), [("a.b", "1")]);
        assert_eq!(recording_comment("a\nb", &[1]), None);
    }

    /// A file may name it for each of its links.
    #[test]
    fn one_recording_does_not_become_too_many_traces() {
        let text = recording_comment("a", &[1, 2, 3, 4]).unwrap();
        let files = |_: &str| -> Result<String, String> { Err("there is no file".to_owned()) };
        let traces = Traces { left: Cell::new(10), ..Traces::of(&text, &files) };
        assert_eq!(traces.get("b").unwrap_err(), "there is no file");
        assert_eq!((0..8).take_while(|_| traces.get("a").is_ok()).count(), 3);
        assert!(traces.get("b").unwrap_err().contains("too many"));
    }

    #[test]
    fn a_damaged_copy_says_so() {
        for gaps in ["1 x", "-1", "4294967295 1"] {
            let text = format!("{RECORDING}a={gaps}\n");
            let why = Recordings::of(&text).get("a").unwrap().unwrap_err();
            assert!(why.contains("damaged"), "{why}");
        }
    }
}
