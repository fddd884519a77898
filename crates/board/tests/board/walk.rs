//! The commands of docs/board.md, from top to bottom: a board that is started, used, lost and restored.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::databases::{directory, lab_skipped};
use crate::support::{Made, btu};

/// The blocks of commands of a page, in their order.
fn blocks(page: &str) -> String {
    let blocks = page.split("\n```console\n").skip(1);
    blocks.filter_map(|block| block.split("\n```").next()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_of_the_board_works_from_top_to_bottom() {
    for (program, package) in [("sqlite3", "sqlite3"), ("minisign", "minisign")] {
        if Command::new(program).arg("-v").output().is_err() {
            lab_skipped(&format!("there is no {program} (Debian: {package})"));
            return;
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/board.md");
    let place = tempfile::tempdir().expect("a directory");
    let runs = place.path().join("runs");
    fs::create_dir(&runs).expect("made");
    Made::of(100.0).store(&runs);
    let mut script = blocks(&fs::read_to_string(page).expect("the page"));
    for port in ["8095", "9418"] {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
        assert!(script.contains(port));
        script = script.replace(port, &free.port().to_string());
    }
    let script = format!("set -mexo pipefail\ntrap 'kill $(jobs -p)' EXIT\n{script}\necho done\n");
    let programs = btu().parent().expect("a directory").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("timeout");
    bash.args(["120", "bash", "-c", &script]).current_dir(place.path());
    bash.env("PATH", format!("{programs}:{path}")).env("BTU_DATA", &runs);
    bash.env("HOME", place.path()).env_remove("XDG_CONFIG_HOME").env("TMPDIR", place.path());
    let done = bash.output().expect("bash");
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (said, why) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success() && said.ends_with("done\n"), "{said}{why}");
    for words in ["result=\"taken\"} 1", "audit change=publish", "1 runs were computed again"] {
        assert!(said.contains(words), "no {words} in {said}{why}");
    }
}

#[test]
fn a_program_of_another_version_is_refused() {
    let stored = directory();
    let place = tempfile::tempdir().expect("a directory");
    let other = place.path().join("btu");
    fs::write(&other, "#!/bin/sh\necho btu 99.0.0\n").expect("written");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("set");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--program", &other.display().to_string()];
    let refused = stored.command(&serve).expect_err("another version");
    assert!(
        refused.contains("btu 99.0.0") && refused.contains("this board needs btu"),
        "{refused}"
    );
}
