//! Reads the documents of an archive before they are stored, as later readers will: an unreadable
//! one would make the run unreadable, and a line end within a name would begin a new line on a
//! user's terminal.

use serde_json::Value;

/// Parts of a plan that have several lines: the network file, the operations on a file server, what
/// programs are started with, what they say when they are ready, and what is looked for in what they
/// print.
const OF_SEVERAL_LINES: [&str; 6] =
    ["text", "trace", "command", "environment", "output", "pattern"];

/// The mistake in `document`, which is the run's `what`; `None` if it has none.
pub(super) fn check(what: &str, document: &str) -> Result<(), String> {
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
            let refused = check("environment", document).unwrap_err();
            assert!(refused.starts_with("its environment ") && refused.contains(word), "{refused}");
        }
        for document in [
            "{}",
            r#"{"network":{"kind":"drawing","text":"[stations.a]\n"}}"#,
            r#"{"work":{"replay":{"trace":"0 stat letter\n"}}}"#,
            r#"[1,"\t",null]"#,
            r#"{"order":{"command":["sh","-c","a\nb"],"environment":{"A":"a\nb"}}}"#,
        ] {
            assert_eq!(check("plan", document), Ok(()));
        }
    }
}
