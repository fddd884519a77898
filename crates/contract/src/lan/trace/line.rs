//! One line of a trace.

use btu_units::Span;

use super::{LARGEST_FILE, LONGEST, Replayed, TraceError, TracedOperation};

/// The longest name of a file, in letters.
const LONGEST_NAME: usize = 64;

/// The form of a line.
const FORM: &str =
    "a line is `SECONDS OPERATION FILE [OFFSET LENGTH]`, such as `0.25 read letter 0 4096`";

/// The names of the operations.
const OPERATIONS: &str = "open, read, write, flush, make, stat, rename, remove";

/// A line with an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperationLine {
    /// The number of the line, from 1.
    pub(super) number: usize,
    pub(super) operation: TracedOperation,
}

/// Reads a line; `None` for one that is empty or a comment. New names are added to `names`.
pub(super) fn read(
    number: usize,
    text: &str,
    before: Span,
    names: &mut Vec<String>,
) -> Result<Option<OperationLine>, TraceError> {
    let text = text.split('#').next().unwrap_or_default();
    let mut fields = text.split_whitespace();
    let Some(seconds) = fields.next() else { return Ok(None) };
    let wrong = |problem: String| TraceError::at(number, problem);
    let at = time(seconds, before).map_err(wrong)?;
    let operation = fields.next().ok_or_else(|| wrong(format!("no operation; {FORM}")))?;
    let file = fields.next().ok_or_else(|| wrong(format!("no file; {FORM}")))?;
    let file = named(file, names).map_err(wrong)?;
    let doing = match operation {
        "open" => Replayed::Open,
        "read" => {
            let (offset, length) = extent(&mut fields).map_err(wrong)?;
            Replayed::Read { offset, length }
        }
        "write" => {
            let (offset, length) = extent(&mut fields).map_err(wrong)?;
            Replayed::Write { offset, length }
        }
        "flush" => Replayed::Flush,
        "make" => Replayed::Make,
        "stat" => Replayed::Stat,
        "rename" => {
            let target = fields
                .next()
                .ok_or_else(|| wrong("rename has a new name after the old one".to_owned()))?;
            Replayed::Rename(named(target, names).map_err(wrong)?)
        }
        "remove" => Replayed::Remove,
        other => {
            return Err(wrong(format!("there is no operation `{other}`; there are {OPERATIONS}")));
        }
    };
    match fields.next() {
        None => Ok(Some(OperationLine { number, operation: TracedOperation { at, file, doing } })),
        Some(more) => Err(wrong(format!("`{more}` is more than `{operation}` takes"))),
    }
}

/// Seconds from the trace's beginning, with a decimal point.
fn time(text: &str, before: Span) -> Result<Span, String> {
    let is_number = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    let seconds = text.parse::<f64>().ok().filter(|seconds| is_number && seconds.is_finite());
    let seconds = seconds.ok_or_else(|| format!("`{text}` is not a time in seconds; {FORM}"))?;
    if seconds > LONGEST.seconds() {
        return Err(format!("{text} s is later than {LONGEST}: a trace is no longer"));
    }
    let at = Span::from_seconds_f64(seconds);
    if at < before {
        Err(format!("{text} s is earlier than the line before: times do not go back"))
    } else {
        Ok(at)
    }
}

/// The number of a name, which is added where it is new.
fn named(name: &str, names: &mut Vec<String>) -> Result<usize, String> {
    if let Some(known) = names.iter().position(|known| known == name) {
        return Ok(known);
    }
    let is_good = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-' | b'_');
    if name.len() > LONGEST_NAME || name.starts_with('.') || !name.bytes().all(is_good) {
        return Err(format!(
            "`{name}` is not a name of a file here: up to {LONGEST_NAME} letters, digits, `-`, `_` and `.`, not first; there \
             are no directories"
        ));
    }
    names.push(name.to_owned());
    Ok(names.len() - 1)
}

/// An offset and a length of at least one octet.
fn extent<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Result<(u64, usize), String> {
    let mut number = |what: &str| -> Result<u64, String> {
        let text = fields.next().ok_or_else(|| format!("no {what}; {FORM}"))?;
        text.parse().map_err(|_| format!("`{text}` is not a valid {what} in octets; {FORM}"))
    };
    let (offset, length) = (number("offset")?, number("length")?);
    if length == 0 {
        return Err("a length of nothing: at least 1 octet".to_owned());
    }
    if offset.saturating_add(length) > LARGEST_FILE {
        return Err(format!(
            "{length} octets at {offset} end beyond {LARGEST_FILE}: a file here is no larger"
        ));
    }
    Ok((offset, length as usize))
}
