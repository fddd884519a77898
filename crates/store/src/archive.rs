//! Archives: runs in one file, for keeping or for another machine.
//!
//! The file is a gzip stream (RFC 1952) of JSON, one document a line, so that `zcat` shows it to
//! people:
//!
//! ```text
//! {"archive":{"version":1,"runs":1}}
//! {"run":{"uuid":"...","study":"rate",...}}
//! {"environment":{"moment":"before","document":{...}}}
//! {"event":{"at":"...","level":"warning","text":"..."}}
//! {"cell":{"block":0,"position":0,...,"record":{...}}}
//! {"end":{"sha256":"..."}}
//! ```
//!
//! The lines of a run's data follow its line. The last line holds the SHA-256 of all lines before
//! it (their `\n` included). Documents are as they are stored, so that nothing is lost between
//! versions.
//!
//! A file may come from an untrusted source. It is read a line at a time, with limits on a line, on
//! the whole, and on how much larger than the file the whole may be; everything is checked before
//! anything is stored, documents by reading them back as they will be read later, and stored in one
//! transaction.

mod error;
mod export;
mod import;
mod line;
mod readable;
mod reader;

use serde_json::Value;

pub(crate) use import::check_new;

pub use error::ArchiveError;
#[doc(hidden)]
pub use export::fuzz_sealed;
pub use export::{AsStored, Rewrite};
pub use import::Imported;
#[doc(hidden)]
pub use import::fuzz_import;
pub use line::{CellLine, EnvironmentLine, EventLine, RunLine};

/// The version of the file that this program writes, and the newest it reads.
pub const ARCHIVE_VERSION: u32 = 1;

// Reads the documents of an archive before they are stored, as later readers will: an unreadable
// one would make the run unreadable, and a line end within a name would begin a new line on a
// user's terminal.

/// Parts of a plan that have several lines: the network file, the operations on a file server, what
/// programs are started with, what they say when they are ready, and what is looked for in what they
/// print.
const OF_SEVERAL_LINES: [&str; 6] =
    ["text", "trace", "command", "environment", "output", "pattern"];

/// The mistake in `document`, which is the run's `what`; `None` if it has none.
fn check_document(what: &str, document: &str) -> Result<(), String> {
    match serde_json::from_str(document) {
        Ok(value) if has_line_ends(&value) => {
            Err(format!("its {what} has a text of several lines"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("its {what} cannot be read ({error})")),
    }
}

/// Recursion ends where reading did: at a depth of 128.
fn has_line_ends(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\n'),
        Value::Array(list) => list.iter().any(has_line_ends),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let may_have_some = OF_SEVERAL_LINES.contains(&name.as_str());
            name.contains('\n') || !may_have_some && has_line_ends(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_back_is_refused() {
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        for (document, word) in [
            (r#"{"a":1e999}"#, "out of range"),
            (deep.as_str(), "recursion"),
            (r#"{"a":["b","c\nd"]}"#, "several lines"),
            (r#"{"a\n":1}"#, "several lines"),
        ] {
            let refused = check_document("environment", document).unwrap_err();
            assert!(refused.starts_with("its environment ") && refused.contains(word), "{refused}");
        }
        for document in [
            "{}",
            r#"{"network":{"kind":"drawing","text":"[stations.a]\n"}}"#,
            r#"{"work":{"replay":{"trace":"0 stat letter\n"}}}"#,
            r#"[1,"\t",null]"#,
            r#"{"order":{"command":["sh","-c","a\nb"],"environment":{"A":"a\nb"}}}"#,
        ] {
            assert_eq!(check_document("plan", document), Ok(()));
        }
    }
}
