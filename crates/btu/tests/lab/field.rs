//! What users of other tools ran into: places that cannot be written, rights that are missing,
//! names that are no text. Each of these once ended a measurement or was refused.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Output, Stdio};

use crate::common::Laboratory;
use crate::support::text;

/// The output of `btu ARGUMENTS` with its standard error on a full disk, or closed.
fn without_errors(laboratory: &Laboratory, arguments: &[&str], redirection: &str) -> Output {
    let program = laboratory.command(&[]).get_program().to_owned();
    let script = format!("exec \"$0\" \"$@\" {redirection}");
    let mut command = laboratory.through("sh");
    command.arg("-c").arg(script).arg(program).args(arguments);
    command.output().expect("a shell")
}

/// Notes are advisory: the result and the exit code are those of the same command elsewhere.
#[test]
fn standard_error_that_cannot_be_written_loses_notes_and_nothing_else() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    for redirection in ["2>/dev/full", "2>&-"] {
        let ends = ["net", "run", "satellite", "--", "sh", "-c", "exit 7"];
        let output = without_errors(&laboratory, &ends, redirection);
        assert_eq!(output.status.code(), Some(7), "{redirection}");
    }
    // Activities that are too short for this delay cause a note.
    let notes = [
        "rate",
        "--network",
        "10 Mb/s",
        "--delay",
        "20 ms",
        "--component",
        "SEND",
        "--message",
        "65536",
    ];
    let rest = ["--load", "idle", "--time", "1s", "--json"];
    let output = without_errors(&laboratory, &[&notes[..], &rest[..]].concat(), "2>/dev/full");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["run"]["state"], "complete", "{result}");
    laboratory.assert_down();
}

/// As in a container or a unit with fewer rights: a user namespace has those that are missing.
#[test]
fn root_without_a_right_has_it_in_a_namespace_of_its_own() {
    let Some(laboratory) = Laboratory::open_alone_as_root() else { return };
    for right in ["net_admin", "net_raw", "sys_admin"] {
        let mut command = laboratory.through("setpriv");
        command.arg(format!("--bounding-set=-{right}")).arg("--inh-caps=-all");
        command
            .arg(laboratory.command(&[]).get_program())
            .args(["net", "run", "path", "--", "true"]);
        let output = command.output().expect("setpriv runs");
        assert!(output.status.success(), "without {right}: {}", text(&output.stderr));
    }
}

/// A container without --privileged has /proc/sys read-only. Root may mount another one; who may
/// not is told what to change.
#[test]
fn kernel_settings_that_are_read_only_are_mounted_anew_or_named() {
    let Some(laboratory) = Laboratory::open_alone_as_root() else { return };
    let program = laboratory.command(&[]).get_program().to_owned();
    let read_only =
        "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec \"$@\"";
    let without_rights = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-all"];
    for (before, is_possible) in [(&[][..], true), (&without_rights[..], false)] {
        let mut command = laboratory.through("unshare");
        command.args(["--mount", "sh", "-c", read_only, "sh"]).args(before).arg(&program);
        let output = command.args(["net", "run", "path", "--", "true"]).output().expect("unshare");
        let said = text(&output.stderr);
        assert_eq!(output.status.success(), is_possible, "{said}");
        if !is_possible {
            assert!(said.contains("read-only") && said.contains("--privileged"), "{said}");
            assert!(!said.contains("report it as a defect"), "{said}");
        }
    }
}

/// Names of files and words of commands are any octets.
#[test]
fn octets_that_are_no_text_are_passed_on() {
    let Some(laboratory) = Laboratory::open() else { return };
    let word = OsStr::from_bytes(b"a\xff\xc3\xa9");
    let is_it = "test \"$1\" = \"$(printf 'a\\377\\303\\251')\"";
    let network = laboratory.directory.path().join(OsStr::from_bytes(b"n\xff.toml"));
    let drawn = laboratory.command(&["net", "show", "path"]).output().expect("btu runs");
    fs::write(&network, drawn.stdout).expect("a file");
    for command in ["net run", "run --blocks 1 -q"] {
        let mut command = laboratory.command(&command.split(' ').collect::<Vec<_>>());
        command.arg("--network").arg(&network).args(["--", "sh", "-c", is_it, "sh"]).arg(word);
        let output = command.output().expect("btu runs");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
    let mut command = laboratory.command(&["speed", "--network", "path", "-t", "100ms", "-q"]);
    command.arg("--label").arg(word).stdout(Stdio::null());
    let said = text(&command.output().expect("btu runs").stderr);
    assert!(said.contains("a\\u{fffd}") || said.contains("a\u{fffd}"), "{said}");
    assert!(said.contains("not UTF-8") && said.lines().count() == 1, "{said}");
}

/// The disk activity writes in directories of any name.
#[test]
fn directories_need_no_name_in_utf8() {
    let Some(laboratory) = Laboratory::open() else { return };
    let made = |name: &[u8]| {
        let path = laboratory.directory.path().join(OsStr::from_bytes(name));
        fs::create_dir(&path).expect("a directory");
        path
    };
    let (data, scratch) = (made(b"data\xff"), made(b"scratch\xff"));
    let row = "rate --component SEND --message 65536 --load disk --time 1s -q --network veth";
    for scratch in [None, Some(scratch)] {
        let mut command = laboratory.command(&row.split(' ').collect::<Vec<_>>());
        command.arg("--data").arg(&data);
        if let Some(scratch) = scratch {
            command.arg("--scratch").arg(scratch);
        }
        let output = command.output().expect("btu runs");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}

/// `ulimit -f` is a limit like a full disk: one sentence, and nothing is left.
#[test]
fn files_that_may_not_grow_end_a_run_in_one_sentence() {
    let Some(laboratory) = Laboratory::open() else { return };
    let program = laboratory.command(&[]).get_program().to_owned();
    let mut command = laboratory.through("sh");
    command.args(["-c", "ulimit -f 8; exec \"$@\"", "sh"]).arg(program);
    let row = [
        "rate",
        "--component",
        "SEND",
        "--message",
        "65536",
        "--load",
        "idle",
        "--time",
        "1s",
        "-q",
    ];
    let output = command.args(row).output().expect("a shell");
    let said = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{:?}: {said}", output.status);
    assert!(said.contains("ulimit -f") && said.trim_end().lines().count() <= 3, "{said}");
    laboratory.assert_down();
    // Nothing holds the database.
    assert_eq!(laboratory.json(&["runs"]).as_array().map(Vec::len), Some(0));
}
