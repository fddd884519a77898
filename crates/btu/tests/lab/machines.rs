//! Machines without user namespaces, room on the disk, or `/dev/net/tun`. Each is made with
//! `unshare` of util-linux around the program.

use std::process::{Command, Output, Stdio};

use crate::common::Laboratory;
use crate::support::{path, text};

/// One row, alone: the shortest run there is.
const SHORT: &str = "--component SEND --message 65536 --load idle --quiet";

/// Runs a shell script in namespaces of its own; `None`, with a loud message, if that is not
/// available.
fn inside(laboratory: &Laboratory, namespaces: &[&str], script: &str) -> Option<Output> {
    let probe = Command::new("unshare").args(namespaces).arg("true").stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        assert!(
            std::env::var("BTU_LAB").as_deref() != Ok("required"),
            "LAB REQUIRED but `unshare` does not work"
        );
        eprintln!("LAB SKIPPED: `unshare {}` does not work here", namespaces.join(" "));
        return None;
    }
    let like = laboratory.command(&[]);
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-ec", script]).stdin(Stdio::null());
    for (name, value) in like.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    Some(command.env("BTU", env!("CARGO_BIN_EXE_btu")).output().expect("unshare runs"))
}

#[test]
fn without_user_namespaces_an_ordinary_user_is_told_what_to_do() {
    let Some(laboratory) = Laboratory::open() else { return };
    let limit = "echo 0 > /proc/sys/user/max_user_namespaces";
    let script =
        format!("{limit}; exec setpriv --inh-caps=-all --ambient-caps=-all \"$BTU\" rate {SHORT}");
    let namespaces = ["--user", "--map-user=1000", "--keep-caps"];
    let Some(output) = inside(&laboratory, &namespaces, &script) else { return };
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{line}");
    assert!(line.contains("max_user_namespaces"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    laboratory.assert_down();
}

#[test]
fn without_dev_net_tun_everything_works() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let script =
        format!("mount -t tmpfs none /dev/net; test ! -e /dev/net/tun; exec \"$BTU\" rate {SHORT}");
    let Some(output) = inside(&laboratory, &["--user", "--map-root-user", "--mount"], &script)
    else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
}

/// Room for the first cells only: they survive, the run ends with one clear line, nothing is left
/// behind.
#[test]
fn a_disk_that_fills_up_in_the_middle() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let disk = path(laboratory.directory.path(), "disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=600k none '{disk}'
         export BTU_DATA='{disk}'
         code=0; \"$BTU\" rate --load idle --quiet || code=$?
         echo; echo \"code $code\"; \"$BTU\" runs --json"
    );
    let Some(output) = inside(&laboratory, &["--user", "--map-root-user", "--mount"], &script)
    else {
        return;
    };
    let (result, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(result.contains("code 1"), "{} {result} {complaint}", output.status);
    assert!(complaint.contains("no space left"), "{complaint}");
    let runs: serde_json::Value =
        serde_json::from_str(result.split_once("code 1").unwrap().1.trim()).expect("JSON");
    assert!(runs[0]["cells"].as_u64().unwrap() > 0, "stored cells survive: {runs}");
    laboratory.assert_down();
}

#[test]
fn a_scratch_directory_without_room_is_refused_before_anything_starts() {
    let Some(laboratory) = Laboratory::open() else { return };
    let disk = path(laboratory.directory.path(), "small");
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=8m none '{disk}'; exec \"$BTU\" rate --scratch '{disk}' --load disk --quiet"
    );
    let Some(output) = inside(&laboratory, &["--user", "--map-root-user", "--mount"], &script)
    else {
        return;
    };
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{line}");
    assert!(line.contains(&disk) && line.contains("free"), "{line}");
    assert_eq!(laboratory.stored_cells(), 0);
    laboratory.assert_down();
}
