//! Commands of README and docs that need neither hosts nor time, run as they are written there.

use btu_suite::network::Network;
use btu_suite::plan::{Plan, Profile};

use crate::console::{Written, commands, commands_of};
use crate::shelf::Shelf;
use crate::support::write_recordings;

/// Rates of three blocks.
const RATES: [f64; 3] = [9.0, 9.1, 9.2];

/// Enough runs are stored for all names on the pages.
const RUNS: usize = 13;

/// Commands that work on stored runs, on papers, and on drawn networks. The simulations take 8 s
/// together.
fn is_quick(written: &Written) -> bool {
    let words: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let has = |option: &str| words.contains(&option);
    let needs_more =
        ["--open", "--ui", "--hosts", "--check", "--by", "lab.toml", "FILE"].into_iter().any(has);
    if !written.is_whole || needs_more {
        return false;
    }
    matches!(
        words.as_slice(),
        [
            "show"
                | "report"
                | "compare"
                | "runs"
                | "tag"
                | "rank"
                | "history"
                | "model"
                | "sim"
                | "export",
            ..
        ] | ["net", "list" | "check" | "show", ..]
            | ["run", "--example" | "--as-file", ..]
            | ["machine", "list", ..]
    )
}

#[test]
fn quick_commands_of_the_documents_work_as_they_stand_there() {
    let mut shelf = Shelf::new();
    write_recordings(shelf.directory.path());
    let plan = Plan::whole(7, Profile::quick(), Network::Veth);
    for _ in 0..RUNS {
        shelf.run(&plan, &RATES);
    }
    for (run, tag) in
        [("r1", "nightly"), ("r2", "nightly"), ("r3", "fair"), ("r4", "before"), ("r9", "after")]
    {
        shelf.json(&["tag", run, tag]);
    }
    let quick: Vec<Written> = commands().into_iter().filter(is_quick).collect();
    assert!(quick.len() >= 20, "{} quick commands", quick.len());
    let failed: Vec<String> = quick.iter().filter_map(|written| failure(&shelf, written)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn failure(shelf: &Shelf, written: &Written) -> Option<String> {
    let arguments: Vec<&str> = written.arguments.iter().map(String::as_str).collect();
    let (code, out, errors) = shelf.btu(&arguments);
    let has_said = !out.is_empty() || arguments.contains(&"-o");
    let all = format!(
        "{}: btu {}: exit code {code:?}\n{out}{errors}",
        written.place,
        arguments.join(" ")
    );
    (code != Some(0) || !has_said).then_some(all)
}

/// The command lines in a page, as a shell would parse them.
#[test]
fn lines_are_read_as_a_shell_reads_them() {
    let text = "See `btu runs` and `ls`.\n```console\nbtu net up home-bloated; btu net exec a -- ping 'b c' &   # text; btu no\n\
                cargo run --release -- rate \\\n  --load idle\nssh alpha btu export latest | btu import -\nbtu sim x > y.txt\n```\n```toml\nbtu = 1\n```\n";
    let found: Vec<(String, bool)> = commands_of("page.md", text)
        .into_iter()
        .map(|one| (one.arguments.join("|"), one.is_whole))
        .collect();
    let expected = [
        ("runs", false),
        ("net|up|home-bloated", true),
        ("net|exec|a|--|ping|b c", true),
        ("rate|--load|idle", true),
        ("import|-", true),
        ("sim|x", true),
    ];
    assert_eq!(found, expected.map(|(words, is_whole)| (words.to_owned(), is_whole)));
}
