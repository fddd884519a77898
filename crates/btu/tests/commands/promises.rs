//! Tests check the promises of the documents on security, agents and runs: each line of their
//! tables names tests, and they are there. In addition to tests, a line may name a script that
//! checks the promise, with its words.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const HEADING: &str = "## What holds each promise";

/// The documents, and how many lines their tables have at least.
const DOCUMENTS: [(&str, usize); 5] = [
    ("docs/security.md", 45),
    ("docs/agent.md", 30),
    ("docs/runs.md", 15),
    ("docs/publish.md", 8),
    ("docs/board.md", 8),
];

/// The names of all tests of the workspace: functions after an attribute with `test`, including
/// those within `proptest!`.
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
    let mut is_next = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            is_next |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some((_, name)) = line.split_once("fn ").filter(|_| is_next) {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            found.insert(name.to_owned());
            is_next = false;
        }
    }
}

/// The table's lines: a promise, and its tests.
fn table(document: &str) -> Vec<(String, Vec<String>)> {
    let section = document.split(HEADING).nth(1).expect("the table is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines =
        section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let cells = lines.map(|line| line.trim_matches('|').split_once(" | ").expect("two columns"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    cells.map(|(promise, held)| (promise.trim().to_owned(), names(held))).collect()
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut known = BTreeSet::new();
    tests(&root.join("crates"), &mut known);
    for (document, least) in DOCUMENTS {
        let promises = table(&fs::read_to_string(root.join(document)).unwrap());
        assert!(promises.len() >= least, "{document}: {} promises", promises.len());
        for (promise, named) in promises {
            assert!(!named.is_empty(), "{document}: nothing holds: {promise}");
            for name in named {
                let script = name.split(' ').next().filter(|name| name.starts_with("scripts/"));
                assert!(
                    known.contains(&name) || script.is_some_and(|file| root.join(file).is_file()),
                    "{document}: there is no test `{name}`, which is to hold: {promise}"
                );
            }
        }
    }
}

#[test]
fn only_tests_count() {
    let mut found = BTreeSet::new();
    let text = "#[test]\nfn a() {}\nfn b() {}\n#[tokio::test(flavor = \"x\")]\nasync fn c() {}\n #[test]\n #[ignore]\n fn d(x in 0..1) {}\n";
    tests_of(text, &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "c", "d"]);
    let lines = table(&format!(
        "{HEADING}\n\n| promise | held by |\n|---|---|\n| it holds | `a`, `c` |\n| not | by nothing |\n\n## Next\n| x | `y` |\n"
    ));
    assert_eq!(
        lines,
        [
            ("it holds".to_owned(), vec!["a".to_owned(), "c".to_owned()]),
            ("not".to_owned(), Vec::new())
        ]
    );
}
