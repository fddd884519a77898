//! JSON goes in by `serde_json::from_str` and out by `serde_json::to_string`, everywhere: each further way (octets,
//! `Value`s, indented text) would compile every plan, record and verdict once more. What the other ways are for is
//! made of these two here, and `clippy.toml` forbids the others.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Error, Value};

/// Reads octets that should be JSON.
///
/// # Errors
/// What is no UTF-8, no JSON or no `T`.
pub fn from_octets<T: DeserializeOwned>(octets: &[u8]) -> Result<T, Error> {
    serde_json::from_str(str::from_utf8(octets).map_err(Error::custom)?)
}

/// Reads a part of a document.
///
/// # Errors
/// What is no `T`.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    serde_json::from_str(&value.to_string())
}

/// A document whose parts are looked at by their names.
///
/// # Errors
/// What JSON has no form for, such as a map with keys that are no text.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    serde_json::from_str(&serde_json::to_string(value)?)
}

/// Text for readers: a line for each part, indented by two columns, as `serde_json::to_string_pretty` writes it.
///
/// # Errors
/// As [`to_value`].
pub fn indented<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    Ok(indent(&serde_json::to_string(value)?))
}

/// Indents a JSON text, whatever blanks it has.
fn indent(text: &str) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    for one in text.chars() {
        if is_string {
            out.push(one);
            is_string = is_escaped || one != '"';
            is_escaped = one == '\\' && !is_escaped;
            continue;
        }
        if one.is_ascii_whitespace() {
            continue;
        }
        let is_first = out.ends_with(['{', '[']);
        if matches!(one, '}' | ']') {
            depth -= 1;
        }
        if is_first != matches!(one, '}' | ']') {
            begin_line(&mut out, depth);
        }
        out.push(one);
        match one {
            '{' | '[' => depth += 1,
            ',' => begin_line(&mut out, depth),
            ':' => out.push(' '),
            _ => is_string = one == '"',
        }
    }
    out
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text(), inner), 0..4)
                    .prop_map(|members| Value::from(Map::from_iter(members))),
            ]
        })
    }

    /// Texts with what JSON is made of, and any others.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[]{}\\[,:\"\\\\ \n\t]{0,8}", ".{0,8}"]
    }

    #[expect(clippy::disallowed_methods, reason = "what it has to equal")]
    fn pretty(document: &Value) -> String {
        serde_json::to_string_pretty(document).unwrap()
    }

    proptest! {
        #[test]
        fn it_is_indented_as_serde_json_does(document in document()) {
            let expected = pretty(&document);
            prop_assert_eq!(&indented(&document).unwrap(), &expected);
            prop_assert_eq!(indent(&expected), expected, "blanks of its own");
        }

        #[test]
        fn a_document_goes_out_and_comes_in(document in document()) {
            let text = document.to_string();
            prop_assert_eq!(from_octets::<Value>(text.as_bytes()).unwrap(), document.clone());
            prop_assert_eq!(from_value::<Value>(&document).unwrap(), document.clone());
            prop_assert_eq!(to_value(&document).unwrap(), document);
        }
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        assert!(from_octets::<Value>(b"\"\xff\"").unwrap_err().to_string().contains("utf-8"));
        assert!(from_value::<Vec<u8>>(&json!([256])).is_err());
    }
}
