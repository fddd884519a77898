//! `btu compare` over real runs on emulated paths.

use btu_conditions::judge;
use serde_json::Value;

use crate::common::Laboratory;
use crate::support::{path, text};

fn finding(document: &Value) -> &str {
    document["comparison"]["others"][0]["overall"]["finding"].as_str().expect("a finding")
}

/// A line between two stations.
const LINE: &str = "
[stations.client]
[stations.server]
[links.line]
between = [\"client\", \"server\"]
rate = \"10 Mb/s\"
";

/// Runs `btu rate` on a line of `rate`, and tags the run. With Reno only the line limits the rate.
fn measured(laboratory: &Laboratory, rate: &str, tag: &str) {
    let file = path(laboratory.directory.path(), "line.toml");
    std::fs::write(&file, LINE).expect("a file");
    let rate = format!("links.line.rate={rate}");
    let line = ["--network", &file, "--set", &rate];
    let row = ["--component", "SEND", "--message", "65536", "--load", "idle"];
    let work = ["--congestion-control", "reno", "--volume", "600 KB"];
    let output = laboratory.rate(&[&line[..], &row, &work, &["--tag", tag, "--quiet"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The one long test of this study: tests of commands compare stored runs with known differences each time.
///
/// Two measurements of one line show no difference; a line that was made five per cent slower is
/// found to be five per cent slower.
#[test]
fn a_cut_made_with_the_wire_is_seen_and_nothing_where_nothing_is() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    for _ in 0..3 {
        measured(&laboratory, "10 Mb/s", "first");
        measured(&laboratory, "10 Mb/s", "second");
        measured(&laboratory, "9.5 Mb/s", "cut");
    }
    // A busy machine may disturb single cells by some per cent; two per cent are what matters here.
    let same = laboratory.json(&["compare", "tag:first", "tag:second", "--matter", "2%"]);
    judge!(laboratory, !matches!(finding(&same), "faster" | "slower"), "{same}");
    let cut = laboratory.json(&[
        "compare",
        "tag:first",
        "tag:cut",
        "--across",
        "network",
        "--matter",
        "2%",
    ]);
    let ratio = &cut["comparison"]["others"][0]["overall"]["ratio"];
    let [value, low, high] =
        [&ratio["value"], &ratio["interval"]["low"], &ratio["interval"]["high"]]
            .map(|number| number.as_f64().unwrap_or_else(|| panic!("no ratio in {cut}")));
    let half = (high - low) / 2.0;
    // The interval holds at 95 %, so it would fail one time in twenty: the tolerance is twice its
    // half width.
    judge!(laboratory, (value - 0.95).abs() <= 2.0 * half, "{value} ({low} .. {high})");
    let is_slower = half < 0.03 && finding(&cut) == "slower";
    judge!(laboratory, is_slower, "{}: {value} ({low} .. {high})", finding(&cut));
    laboratory.assert_down();
}
