//! What a board says on standard error, with times: who asked for what, what was changed, and what failed.

use std::io::Write;
use std::net::IpAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// A line of words for each request, change and error
    Text,
    /// The same as JSON
    Json,
    /// Errors alone
    None,
}

static FORM: OnceLock<LogForm> = OnceLock::new();

tokio::task_local! {
    /// Who asked for what is being done.
    pub(crate) static CALLER: IpAddr;
}

/// Sets how everything is written from now on.
pub fn set_form(form: LogForm) {
    let _ = FORM.set(form);
}

fn form() -> LogForm {
    FORM.get().copied().unwrap_or(LogForm::Text)
}

/// The longest text of a stranger in a line, in characters.
const LONGEST_TEXT: usize = 200;

/// Names of runs, plans and publishers have so many hexadecimal digits; a token has twice as many.
const MOST_DIGITS: usize = 16;

/// Notes a request that was answered.
pub(crate) fn access(fields: &[(&str, Value)]) {
    if form() != LogForm::None {
        write("access", fields);
    }
    tell_unsaid();
}

/// Notes a change, with who asked for it: what was changed is a run, or a key. No token and no signature is written.
pub fn audit(change: &str, fields: &[(&str, &str)]) {
    if form() == LogForm::None {
        return;
    }
    let by = CALLER.try_with(ToString::to_string).unwrap_or_else(|_| "operator".to_owned());
    let mut all = vec![("change", change.into()), ("by", by.into())];
    all.extend(fields.iter().map(|(name, text)| (*name, (*text).into())));
    write("audit", &all);
}

/// The least time between two lines of errors: what fails for each request would fill the disk.
const ERRORS_APART: Duration = Duration::from_secs(1);

/// When an error was written last, and how many came since then.
static ERRORS: Mutex<(Option<Instant>, u64)> = Mutex::new((None, 0));

/// Notes an error.
pub(crate) fn error(said: &str) {
    let mut errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    if errors.0.is_some_and(|last| last.elapsed() < ERRORS_APART) {
        errors.1 += 1;
        return;
    }
    write("error", &[("error", said.into()), ("not_written_before", errors.1.into())]);
    *errors = (Some(Instant::now()), 0);
}

/// Says how many errors were not written, when the last one is some time ago.
fn tell_unsaid() {
    let mut errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    if errors.1 > 0 && errors.0.is_some_and(|last| last.elapsed() >= ERRORS_APART) {
        write("error", &[("not_written_before", errors.1.into())]);
        errors.1 = 0;
    }
}

/// Writes a line. A reader that is gone is no failure.
fn write(kind: &str, fields: &[(&str, Value)]) {
    let line = line(form() == LogForm::Json, &crate::board::now(), kind, fields);
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

fn line(is_json: bool, time: &str, kind: &str, fields: &[(&str, Value)]) -> String {
    let fields = fields.iter().map(|(name, value)| (*name, shown(value)));
    if is_json {
        let ends = [("time", time.into()), ("kind", kind.into())];
        let all = ends.into_iter().chain(fields).map(|(name, value)| (name.to_owned(), value));
        return format!("{}\n", Value::Object(all.collect::<Map<_, _>>()));
    }
    let words = fields.map(|(name, value)| match value.as_str() {
        Some(text) if is_word(text) => format!(" {name}={text}"),
        _ => format!(" {name}={value}"),
    });
    format!("{time} {kind}{}\n", words.collect::<String>())
}

/// A value in which no text of a stranger controls a terminal, or fills the disk, and no token is seen.
fn shown(value: &Value) -> Value {
    let Some(text) = value.as_str() else { return value.clone() };
    without_tokens(&btu_units::plain(text)).chars().take(LONGEST_TEXT).collect::<String>().into()
}

/// A text in which what may be a token, or most of one, is hidden: a caller may have typed it into an address, where its
/// letters may be written as `%66`.
fn without_tokens(text: &str) -> String {
    let is_digit = |letter: &char| letter.is_ascii_hexdigit() || *letter == '%';
    let letters: Vec<char> = text.chars().collect();
    let parts = letters.chunk_by(|one, next| is_digit(one) == is_digit(next));
    let shown = parts.map(|part| match part {
        [first, ..] if is_digit(first) && part.len() > MOST_DIGITS => "[hidden]".to_owned(),
        _ => part.iter().collect(),
    });
    shown.collect()
}

/// Whether a text needs no quotation marks.
fn is_word(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !['"', '\\', '='].contains(&letter);
    !text.is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_strangers_stay_in_their_place() {
        let fields = [
            ("path", "/a\n2026-11-30T00:00:00Z audit\u{1b}[2J\u{202e} by=\"x\"".into()),
            ("status", 404.into()),
        ];
        let text = line(false, "NOW", "access", &fields);
        let path = "/a?2026-11-30T00:00:00Z audit?[2J? by=\\\"x\\\"";
        assert_eq!(text, format!("NOW access path=\"{path}\" status=404\n"));
        let json: Value = serde_json::from_str(&line(true, "NOW", "access", &fields)).unwrap();
        assert_eq!(json["path"], path.replace("\\\"", "\""));
        assert_eq!((&json["time"], &json["status"]), (&"NOW".into(), &404.into()));
        let long = line(false, "NOW", "access", &[("path", "/x".repeat(1000).into())]);
        assert_eq!(long.len(), "NOW access path=\n".len() + LONGEST_TEXT);
    }

    #[test]
    fn what_may_be_a_token_is_hidden() {
        for (text, shown) in [
            ("/runs/0123456789abcdef/report", "/runs/0123456789abcdef/report"),
            ("/runs/0123456789abcdef0123456789abcdef", "/runs/[hidden]"),
            ("/0123456789ABCDEF0123456789ABCDE", "/[hidden]"),
            ("/x%300123456789abcdef/y/%41%42", "/x[hidden]/y/%41%42"),
        ] {
            assert_eq!(without_tokens(text), shown);
        }
    }
}
