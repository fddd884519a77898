//! Every line of `docs/promises.md` names the page of its promise, the conditions under which it
//! holds, and tests, which exist. In addition to tests, a line may name a script that checks the
//! promise, with its words.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The tables of promises, and how many pages and lines they have at least.
pub(crate) const DOCUMENT: &str = "docs/promises.md";
const LEAST_PAGES: usize = 5;
const LEAST_PROMISES: usize = 120;

/// What the reason of a test that is ignored has to name: what runs it.
const RUNNERS: [&str; 3] = ["scripts/", "cargo test", "another test, which runs it"];

/// The names of all tests of the workspace: functions after an attribute with `test`, including
/// those within `proptest!`, but for those that nothing runs.
fn tests(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            tests_of(&fs::read_to_string(&path).unwrap(), found);
        }
    }
}

fn tests_of(text: &str, found: &mut BTreeSet<String>) {
    let (mut is_next, mut runs) = (false, true);
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            is_next |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            runs &= !line.starts_with("#[ignore") || RUNNERS.iter().any(|one| line.contains(one));
        } else if let Some((_, name)) = line.split_once("fn ") {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            if is_next && runs {
                found.insert(name.to_owned());
            }
            (is_next, runs) = (false, true);
        }
    }
}

/// A line of the tables: what is promised on which page, under which conditions, and its tests.
#[derive(Debug, PartialEq)]
pub(crate) struct Promise {
    pub(crate) page: String,
    pub(crate) text: String,
    conditions: String,
    held_by: Vec<String>,
}

/// The lines of all tables, each of which stands below a heading that links to its page.
pub(crate) fn promises(document: &str) -> Vec<Promise> {
    let mut page = String::new();
    let mut found = Vec::new();
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.trim_start_matches('[').split(']').next();
            name.unwrap_or_default().clone_into(&mut page);
        } else if line.starts_with("| ") && !line.starts_with("| promise") {
            let cells: Vec<&str> = line.trim_matches('|').splitn(3, " | ").map(str::trim).collect();
            let [text, conditions, held_by] = cells[..] else {
                panic!("{DOCUMENT}: three columns: {line}")
            };
            let held_by = held_by.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            let (text, conditions) = (text.to_owned(), conditions.to_owned());
            found.push(Promise { page: page.clone(), text, conditions, held_by });
        }
    }
    found
}

#[test]
fn every_promise_names_its_page_its_conditions_and_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut known = BTreeSet::new();
    tests(&root.join("crates"), &mut known);
    let all = promises(&fs::read_to_string(root.join(DOCUMENT)).unwrap());
    let pages: BTreeSet<&str> = all.iter().map(|promise| promise.page.as_str()).collect();
    assert!(pages.len() >= LEAST_PAGES && all.len() >= LEAST_PROMISES, "{pages:?}, {}", all.len());
    for page in pages {
        let is_there = ["help", "screens"].contains(&page)
            || root.join(page).is_file()
            || root.join("docs").join(page).is_file();
        assert!(is_there, "{DOCUMENT}: there is no page {page}");
    }
    for Promise { page, text, conditions, held_by } in all {
        assert!(!conditions.is_empty(), "{page}: when does it hold: {text}");
        assert!(!held_by.is_empty(), "{page}: nothing holds: {text}");
        for name in held_by {
            let script = name.split(' ').next().filter(|name| name.starts_with("scripts/"));
            assert!(
                known.contains(&name) || script.is_some_and(|file| root.join(file).is_file()),
                "{page}: there is no test `{name}`, which is to hold: {text}"
            );
        }
    }
}

#[test]
fn only_tests_count() {
    let mut found = BTreeSet::new();
    let text = "#[test]\nfn a() {}\nfn b() {}\n#[tokio::test(flavor = \"x\")]\nasync fn c() {}\n #[test]\n #[ignore = \"scripts/test --all\"]\n fn d(x in 0..1) {}\n#[test]\n#[ignore = \"hangs\"]\nfn e() {}\n";
    tests_of(text, &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "c", "d"]);
    let text = "## [a.md](a.md)\n\n| promise | holds | held by |\n|---|---|---|\n| it holds | always | `a`, `c` |\n| not | as it stands | by nothing |\n";
    let promise = |text: &str, conditions: &str, held_by: &[&str]| Promise {
        page: "a.md".to_owned(),
        text: text.to_owned(),
        conditions: conditions.to_owned(),
        held_by: held_by.iter().map(ToString::to_string).collect(),
    };
    let expected =
        [promise("it holds", "always", &["a", "c"]), promise("not", "as it stands", &[])];
    assert_eq!(promises(text), expected);
}
