//! The commands that docs/run.md gives for continuous integration, run as they are written there.

use std::fs;
use std::path::Path;

use roxmltree::Document;

use super::{experiment, mean, other_than_reno, result};
use crate::common::Laboratory;
use crate::support::text;

/// The arguments of `btu` in the page's recipes for GitHub and GitLab, and the file that each keeps
/// as its result.
fn recipes() -> Vec<(Vec<String>, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
    let page = fs::read_to_string(page).expect("the page");
    let recipes = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let of = |recipe: &str| {
        let command = recipe.lines().find_map(|line| {
            let line = line.trim_start().trim_start_matches("- ");
            line.strip_prefix("run: ").unwrap_or(line).strip_prefix("btu ")
        });
        let arguments = command.expect("a command of btu").split_whitespace().map(str::to_owned);
        let kept = recipe.lines().rfind(|line| line.contains(".xml")).expect("a kept file");
        let end = kept.find(".xml").expect("its end");
        let begin = kept[..end].rfind(' ').expect("a space before it");
        (arguments.collect(), format!("{}.xml", &kept[begin + 1..end]))
    };
    recipes.map(of).collect()
}

/// Every file of docs/two-settings.md is measured as it stands there, with fewer blocks: both levels
/// count in each, and are compared. Only root may set a station's sysctl.
#[test]
fn two_settings_are_compared_as_the_page_says() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/two-settings.md");
    let page = fs::read_to_string(page).expect("the page");
    let files = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let Some(other) = other_than_reno() else { return };
    let files: Vec<String> = files.map(|file| file.replace("bbr", &other)).collect();
    assert_eq!(files.len(), 4);
    for file in &files {
        let is_sysctl = file.contains("sysctl");
        if is_sysctl && !nix::unistd::geteuid().is_root() {
            continue;
        }
        assert!(experiment(&laboratory, file, &["--blocks", "2"]).status.success(), "{file}");
        let result = result(&laboratory);
        let rows = result["values"][0]["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 2, "{result}");
        for row in rows {
            assert_eq!(row["count"], 2, "{result}");
        }
        assert!(rows[1]["slowdown"]["value"].as_f64() > Some(0.0), "{result}");
        if is_sysctl {
            let is = |row, seconds: f64| (mean(&result, row) - seconds).abs() < 1e-9;
            assert!(is(0, 600.0) && is(1, 1200.0), "{result}");
        }
    }
}

/// An old variant that sleeps for 20 ms, and a new one by a shell command.
fn performance(new: &str) -> String {
    format!(
        "network = \"veth\"\n[measure.work]\non = \"test\"\nrun = [\"sleep\", \"0.02\"]\n\
         [variant.old.measure.work]\nrun = [\"sleep\", \"0.02\"]\n\
         [variant.new.measure.work]\nrun = [\"sh\", \"-c\", \"{new}\"]\n[order]\nblocks = 6\n"
    )
}

/// Numbers of tests and failures in a kept file, which names each row once.
fn counts(junit: &str) -> (usize, usize) {
    let document = Document::parse(junit).unwrap_or_else(|error| panic!("{error}: {junit}"));
    let tests = document.descendants().find(|node| node.has_tag_name("testsuite")).expect(junit);
    let number = |name: &str| tests.attribute(name).and_then(|text| text.parse().ok());
    let cases: Vec<_> = tests.children().filter(|node| node.has_tag_name("testcase")).collect();
    let failed = cases.iter().filter(|case| case.children().any(|it| it.has_tag_name("failure")));
    assert_eq!(number("tests"), Some(cases.len()), "{junit}");
    assert_eq!(number("failures"), Some(failed.count()), "{junit}");
    (number("tests").unwrap_or_default(), number("failures").unwrap_or_default())
}

/// A slower variant and one that fails end a recipe with the page's exit codes and failures in the
/// kept file; one that is ten times faster passes. The slower one takes 50 times as long: it is
/// known as slower even if other tests keep the processors from two of six runs of the old one.
#[test]
fn recipes_for_continuous_integration_work_as_they_stand_there() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let recipes = recipes();
    assert_eq!(recipes.len(), 2, "GitHub and GitLab");
    assert_eq!(recipes[0], recipes[1]);
    let (arguments, kept) = &recipes[0];
    let variants = [("sleep 1", 4, 1), ("sleep 0.001", 0, 0), ("echo no >&2; exit 3", 1, 1)];
    for (new, code, failures) in variants {
        let fresh = tempfile::tempdir().expect("a directory");
        fs::write(fresh.path().join("performance.toml"), performance(new)).expect("a file");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output =
            laboratory.command(&arguments).current_dir(fresh.path()).output().expect("btu starts");
        println!("{}{}", text(&output.stdout), text(&output.stderr));
        laboratory.assert_down();
        assert_eq!(output.status.code(), Some(code), "{new}");
        let junit = fs::read_to_string(fresh.path().join(kept)).expect("JUnit XML");
        println!("{junit}");
        assert_eq!(counts(&junit), (2, failures), "{new}");
        if code == 4 {
            let row = &result(&laboratory)["values"][0]["rows"][1];
            assert_eq!(row["finding"], "slower", "{row}");
        }
    }
}
