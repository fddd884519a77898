//! `btu report` on a database of the oldest schema: reports can be made years later.

use std::path::Path;
use std::process::{Command, Output};

use crate::shelf::Shelf;

/// A directory with a stored rating.
fn stored() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/commands/fixtures/rating-with-known-costs.btu");
    out(&btu(directory.path(), &["runs", "import", &archive.display().to_string()]));
    directory
}

fn btu(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.current_dir(directory).env("BTU_DATA", directory).env_remove("BTU_LAB").args(arguments);
    command.output().expect("btu")
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_format_is_made_from_a_stored_run() {
    let directory = stored();
    let report = |format: &str| {
        out(&btu(directory.path(), &["report", "r1", "--format", format, "-o", "-"]))
    };
    let html = report("html");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("btu run r1"));
    assert!(html.len() < 3_000_000, "{}", html.len());
    let markdown = report("markdown");
    assert!(markdown.contains("Part of a BTU rating") && markdown.contains("RECV"), "{markdown}");
    assert!(report("csv").starts_with("table,row,column,value,low,high,shown\r\n"));
    assert!(report("svg").starts_with("<svg"));
    assert!(report("text").contains("BTU rating"));
    assert!(report("json").contains("\"uuid\": \"11873407-8ce3-4230-bf4c-8f26ceb854d9\""));
    let workbook = btu(directory.path(), &["report", "r1", "--format", "xlsx", "-o", "-"]);
    assert!(workbook.status.success() && workbook.stdout.starts_with(b"PK"));
}

/// A row for each repetition, under stable names, for other programs.
#[test]
fn raw_values_have_a_row_for_each_repetition() {
    let mut shelf = Shelf::new();
    shelf.run(&crate::shelf::plan(btu_contract::network::Network::Veth), &[9.0, 9.1, 9.2]);
    let (code, raw, errors) = shelf.btu(&["report", "--format", "raw"]);
    assert_eq!(code, Some(0), "{errors}");
    let lines: Vec<Vec<&str>> = raw.lines().map(|line| line.split(',').collect()).collect();
    let names = "run,valid,block,position,component,message_bytes,load,bytes,duration_seconds,goodput_bits_per_second,loss_share,faults";
    assert_eq!(lines[0].join(","), names);
    assert_eq!(lines.len(), 1 + 3 * 2, "three blocks of two rows: {raw}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{raw}");
    let first = lines.iter().find(|line| line[2] == "1" && line[4] == "SEND").expect("a row");
    let rate: f64 = first[9].parse().expect("a number");
    assert!((rate / 9e6 - 1.0).abs() < 0.01, "{raw}");
}

/// A browser that cannot be started is reported, and the report exists.
#[test]
fn a_report_that_cannot_be_opened_is_told() {
    let directory = stored();
    let fake = directory.path().join("xdg-open");
    std::fs::write(&fake, "#!/bin/sh\nexit 3\n").expect("a script");
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("its rights");
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    let path =
        format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap_or_default());
    command
        .current_dir(directory.path())
        .env("BTU_DATA", directory.path())
        .env("PATH", path)
        .args(["report", "r1", "--open"]);
    let output = command.output().expect("btu");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(3) && said.contains("open it in a browser yourself"),
        "{said}"
    );
    assert!(directory.path().join("btu-report-r1.html").exists());
}

#[test]
fn the_file_is_named_after_the_run() {
    let directory = stored();
    let said = out(&btu(directory.path(), &["report", "r1"]));
    assert_eq!(said, "Report of run r1 is in btu-report-r1.html\n");
    let first = std::fs::read(directory.path().join("btu-report-r1.html")).expect("the report");
    out(&btu(directory.path(), &["report", "r1"]));
    let second = std::fs::read(directory.path().join("btu-report-r1.html")).expect("the report");
    assert!(first == second, "the same run gives the same file");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = stored();
    for arguments in
        [&["report", "r1", "--with", "lantz85"][..], &["report", "r1", "--open", "--format", "csv"]]
    {
        let refused = btu(directory.path(), arguments);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&refused.stderr)
        );
    }
    let unwritten = btu(directory.path(), &["report", "r1", "--format", "text", "-o", "/dev/full"]);
    assert_eq!(unwritten.status.code(), Some(3), "{}", String::from_utf8_lossy(&unwritten.stderr));
    let missing = btu(directory.path(), &["report", "r99"]);
    assert!(!missing.status.success() && missing.stdout.is_empty());
}
