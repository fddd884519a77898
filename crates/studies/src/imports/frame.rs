//! A program's JSON in a file that a shell made: in the encoding of Windows, between other lines of
//! the program, or as a stream of events.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::IgnoredAny;

use super::parse::{MOST_ENTRIES, shown};
use super::unknown;

/// The most lines of text that are kept.
const MOST_LINES: usize = 100;

/// Where an object begins.
static OPENING: LazyLock<Regex> = LazyLock::new(|| regex(r#"\{\s*(?:"|\z)"#));

/// A number that is none, as the C library prints it; a quote inside a string has a backslash.
static NO_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"([^\\]":\s*)-?(?:nan|inf)(\s*[,}])"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// The text of a file, without a byte order mark: UTF-8, or UTF-16 with a mark, which `>` of
/// Windows' PowerShell writes. `None` if it is neither.
pub fn text(octets: Vec<u8>) -> Option<String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let (units, []) = octets.as_chunks::<2>() else { return None };
        let units = units.iter().skip(1).map(|unit| read(*unit));
        char::decode_utf16(units).collect::<Result<_, _>>().ok()
    };
    match octets[..] {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, ..] => str::from_utf8(&octets[3..]).ok().map(str::to_owned),
        _ => String::from_utf8(octets).ok(),
    }
}

/// The one document of a text, and the lines around it.
///
/// # Errors
/// There is none, or more than one.
pub(super) fn framed(text: &str) -> Result<(String, Vec<String>), String> {
    let text = NO_NUMBER.replace_all(text, "${1}null$2");
    let (documents, lines) = split(&text)?;
    let is_event = |place: &&Range<usize>| text[(*place).clone()].starts_with("{\"event\":");
    let (events, mut others): (Vec<_>, Vec<_>) = documents.iter().partition(is_event);
    // Some versions of iperf3 print the same document twice (esnet/iperf issue 1716).
    others.dedup_by(|one, other| text[one.clone()] == text[other.clone()]);
    let document = match others[..] {
        [] => joined(events.into_iter().map(|place| &text[place.clone()]))?,
        // Lines of errors are those of the file.
        [one] => "\n".repeat(lines_before(&text, one)) + &text[one.clone()],
        [_, second, ..] => {
            let line = lines_before(&text, second) + 1;
            return Err(format!(
                "it holds more than one JSON document, the second one in line {line}: put each into a separate file"
            ));
        }
    };
    Ok((document, lines.into_iter().map(shown).collect()))
}

fn lines_before(text: &str, place: &Range<usize>) -> usize {
    text[..place.start].matches('\n').count()
}

/// The places of all documents, and the first lines of the text around them. What is no JSON to its
/// end ends with the text.
fn split(text: &str) -> Result<(Vec<Range<usize>>, Vec<&str>), String> {
    let (mut documents, mut lines, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(found) = OPENING.find_at(text, at) {
        let start = found.start();
        lines.push(&text[at..start]);
        let mut values =
            serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
        let is_whole = matches!(values.next(), Some(Ok(_)));
        at = if is_whole { start + values.byte_offset() } else { text.len() };
        documents.push(start..at);
        if documents.len() > MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} JSON documents"));
        }
    }
    lines.push(&text[at..]);
    let lines = lines.into_iter().flat_map(str::lines).filter(|line| !line.trim().is_empty());
    Ok((documents, lines.take(MOST_LINES).collect()))
}

/// The document that a stream of iperf3's events (`--json-stream`) stands for.
fn joined<'a>(events: impl Iterator<Item = &'a str>) -> Result<String, String> {
    let (mut start, mut intervals, mut end, mut error) = ("null", Vec::new(), "{}", "null");
    for event in events {
        let Some((name, data)) = event.split_once(",\"data\":") else { continue };
        let data = data.strip_suffix('}').unwrap_or(data);
        match name {
            "{\"event\":\"start\"" if start != "null" => {
                return Err("it holds more than one test: put each into a separate file".to_owned());
            }
            "{\"event\":\"start\"" => start = data,
            "{\"event\":\"interval\"" => intervals.push(data),
            "{\"event\":\"end\"" => end = data,
            "{\"event\":\"error\"" => error = data,
            _ => {}
        }
    }
    if start == "null" {
        return Err(unknown());
    }
    let intervals = intervals.join(",");
    Ok(format!("{{\"start\":{start},\"intervals\":[{intervals}],\"end\":{end},\"error\":{error}}}"))
}
