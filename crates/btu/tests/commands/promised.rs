//! Each word that promises, on a page, in the help or on a screen, is within a quote of
//! `docs/promises.md`, and each quote is on its page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::console::documents;
use crate::documents::helps;
use crate::promises::{DOCUMENT, promises};
use crate::shelf::Shelf;

/// What promises.
const WORDS: [&str; 13] = [
    "exact",
    "exactly",
    "never",
    "at most",
    "95 %",
    "always",
    "whatever",
    "nobody",
    "for ever",
    "no one",
    "guarantee",
    "guarantees",
    "guaranteed",
];

/// Crates whose texts are screens.
const SCREENS: [&str; 3] = ["report", "studies", "btu"];

/// A page in one line, without its blocks of code and the lines of its tables.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    let lines: Vec<&str> = page.lines().filter(|line| is_prose(line)).collect();
    in_one_line(&lines.join("\n"))
}

fn in_one_line(text: &str) -> String {
    text.replace('|', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts within a source, without its tests, each on a line of its own.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let source = lines.collect::<Vec<_>>().join("\n").replace("'\"'", "").replace("\\\"", "'");
    let texts = source.split('"').skip(1).step_by(2);
    texts.map(|text| in_one_line(&text.replace("\\\n", ""))).collect()
}

fn screens_below(directory: &Path, found: &mut Vec<String>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            screens_below(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.extend(literals(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Every text that a reader sees, by the name of its page.
fn pages() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let documents = documents().into_iter().map(|path| (name(&path), path));
    let mut pages: BTreeMap<String, String> = documents
        .filter(|(name, _)| !["promises.md", "CONTRIBUTING.md"].contains(&name.as_str()))
        .map(|(name, path)| (name, prose(&fs::read_to_string(path).unwrap())))
        .collect();
    let helps = helps(&Shelf::new()).into_iter().map(|(_, help)| in_one_line(&help));
    pages.insert("help".to_owned(), helps.collect::<Vec<_>>().join("\n"));
    let mut screens = Vec::new();
    for name in SCREENS {
        screens_below(&root.join(format!("crates/{name}/src")), &mut screens);
    }
    pages.insert("screens".to_owned(), screens.join("\n"));
    pages
}

/// The parts of a page around words that promise and are within no quote.
fn unquoted(page: &str, quotes: &[&str]) -> Vec<String> {
    let mut quotes = quotes.to_vec();
    quotes.sort_by_key(|quote| std::cmp::Reverse(quote.len()));
    let left = quotes.iter().fold(page.to_owned(), |left, quote| left.replace(quote, "“”"));
    // A cell of one word is no sentence.
    let lines = left.lines().filter(|line| !WORDS.contains(&&*line.to_ascii_lowercase()));
    lines.flat_map(|line| WORDS.iter().flat_map(|word| around(line, word))).collect()
}

/// Where a text has a word, with some of the text before and after it.
fn around(text: &str, word: &str) -> Vec<String> {
    let is_end = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
    let lower = text.to_ascii_lowercase();
    let found = lower.match_indices(word).map(|(from, word)| (from, from + word.len()));
    let whole = found.filter(|(from, to)| {
        is_end(text[..*from].chars().next_back()) && is_end(text[*to..].chars().next())
    });
    let part = |(from, to): (usize, usize)| {
        text[text.floor_char_boundary(from.saturating_sub(80))..text.ceil_char_boundary(to + 60)]
            .to_owned()
    };
    whole.map(part).collect()
}

/// What is between the typographic quotes of a text.
fn quotes(text: &str) -> Vec<&str> {
    text.split('“').skip(1).filter_map(|rest| Some(rest.split_once('”')?.0)).collect()
}

#[test]
fn every_word_that_promises_is_quoted_and_every_quote_is_on_its_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = promises(&fs::read_to_string(root.join(DOCUMENT)).unwrap());
    let mut wrong = Vec::new();
    for (name, page) in pages() {
        let rows = table.iter().filter(|row| row.page == name);
        let quotes: Vec<&str> = rows.flat_map(|row| quotes(&row.text)).collect();
        for quote in &quotes {
            if !page.contains(quote) || WORDS.contains(quote) {
                wrong.push(format!("{name} does not say, or {quote:?} is too short a quote of it"));
            }
        }
        wrong
            .extend(unquoted(&page, &quotes).iter().map(|part| format!("{name} promises: {part}")));
    }
    assert!(
        wrong.is_empty(),
        "{}\n\nAdd a row with a “quote” of it and its tests to {DOCUMENT}, or say it without a promise. A quote is from \
         its page, word by word.",
        wrong.join("\n")
    );
}

#[test]
fn words_that_promise_are_found_where_no_quote_is() {
    let page = prose("# A\n\n```\nnever\n```\nIt is at\n most 8. Nevertheless it\nALWAYS holds.\n");
    assert_eq!(page, "# A It is at most 8. Nevertheless it ALWAYS holds.");
    let found = unquoted(&page, &["at most 8"]);
    assert_eq!(found, ["# A It is “”. Nevertheless it ALWAYS holds."]);
    assert!(unquoted(&page, &quotes("“at most 8” and “it ALWAYS holds”: sure")).is_empty());
    let source = "// \"never\"\nlet a = \"one \\\n   two\\\" \"; b('\"', \"c\")\n#[cfg(test)]\nmod tests {\"d\"}";
    assert_eq!(literals(source), ["one two'", "c"]);
}
