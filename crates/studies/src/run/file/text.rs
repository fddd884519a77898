//! Texts with words in braces, and a network that is drawn in an experiment's file.

use std::collections::BTreeMap;

use btu_network::{Item, listed, suggestion};

/// Replaces `{word}` by its meaning: a station's address, or a factor's level. `{{` is a brace;
/// `${...}`, which belongs to a shell, and other text in braces do not change.
pub(super) fn filled(
    item: &Item<'_>,
    text: &str,
    words: &BTreeMap<String, String>,
) -> Option<String> {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, after) = rest.split_at(start);
        all.push_str(before);
        if let Some(escaped) = after.strip_prefix("{{") {
            all.push('{');
            rest = escaped;
            continue;
        }
        match word(after).filter(|_| !before.ends_with('$')) {
            None => {
                all.push('{');
                rest = &after[1..];
            }
            Some(name) => {
                all.push_str(words.get(name).or_else(|| unknown(item, name, words))?);
                rest = &after[name.len() + 2..];
            }
        }
    }
    all.push_str(rest);
    Some(all)
}

/// The word between the braces with which a text begins.
fn word(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?.split_once('}')?.0;
    let is_word =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let begins_as_one = inner.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (begins_as_one && inner.chars().all(is_word)).then_some(inner)
}

fn unknown<'w>(
    item: &Item<'_>,
    name: &str,
    words: &BTreeMap<String, String>,
) -> Option<&'w String> {
    let known = || words.keys().map(String::as_str);
    let meant = suggestion(name, known());
    let known = listed(known());
    item.problem(format!(
        "`{{{name}}}` is neither a station nor a factor{meant}; there are {known}; `{{{{` is a brace"
    ));
    None
}

/// The network that an experiment's file draws under `network`, as a file of its own, in which
/// every line keeps its number.
pub fn inline_network(text: &str) -> String {
    let mut is_inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let plain = line.trim_start();
        let is_header = plain.starts_with('[')
            && !plain.starts_with("[\"")
            && plain.contains(']')
            && !plain.contains("= [");
        let is_header = is_header && !line.starts_with(char::is_whitespace);
        if is_header {
            is_inside = ["[network]", "[network.", "[[network."]
                .iter()
                .any(|start| plain.starts_with(start));
        }
        lines.push(match (is_inside, is_header) {
            (false, _) => String::new(),
            (true, true) => plain.replacen("network.", "", 1).replacen("[network]", "", 1),
            (true, false) => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_network_keeps_its_lines() {
        let text = "name = \"a\"\n[network]\nabout = \"b\"\n[network.stations.c]\nx = 1\n[measure.d]\non = \"c\"\n\
                    [[network.links.e.changes]]\nat = 1\n";
        let expected = "\n\nabout = \"b\"\n[stations.c]\nx = 1\n\n\n[[links.e.changes]]\nat = 1\n";
        assert_eq!(inline_network(text), expected);
    }

    #[test]
    fn words_are_words() {
        assert_eq!(word("{server}/file"), Some("server"));
        for text in ["{}", "{ server }", "{\"a\": 1}", "{1}", "{a", "a}"] {
            assert_eq!(word(text), None, "{text}");
        }
    }
}
