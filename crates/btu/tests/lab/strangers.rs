//! Other users on this machine: files that they leave in shared directories harm no user of btu.
//!
//! Only the superuser runs it, because it can also act as the other user, in mounts of the test's
//! own.

use std::path::Path;
use std::process::{Command, Output};

use crate::share::Share;
use crate::support::{lab_skipped, text};

/// Makes /tmp and /run empty for this command and its children alone, with the program at
/// `/mnt/btu`, which every user may execute, and runs the script that follows.
const PRIVATELY: &str = r#"
mount -t tmpfs -o mode=0755 none /mnt && : > /mnt/btu && mount --bind "$PROGRAM" /mnt/btu
mount -t tmpfs -o mode=1777 none /tmp && mount -t tmpfs -o mode=0755 none /run
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
cd /mnt
"#;

/// The output of the script, which the superuser runs with mounts that no other process sees;
/// `None` if that is not possible.
fn privately(script: &str) -> Option<Output> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("only root can be two users: tested as root only");
        return None;
    }
    let _share = Share::one();
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
        command.env("PROGRAM", Path::new(env!("CARGO_BIN_EXE_btu"))).env("BTU_DATA", "/mnt/data");
        command.env_remove("XDG_RUNTIME_DIR").output().expect("unshare starts")
    };
    let possible = run(PRIVATELY);
    if !possible.status.success() {
        lab_skipped(&text(&possible.stderr));
        return None;
    }
    Some(run(&format!("{PRIVATELY}{script}")))
}

fn assert_success(output: &Output) -> String {
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said} {errors}", output.status);
    said.into_owned()
}

/// Every desktop has such directories of the superuser's. One lock is a file, one a pipe without a
/// partner, one a link.
const MARKED: &str = r"
mkdir -m 1777 /tmp/.X11-unix /tmp/.ICE-unix /tmp/.font-unix /tmp/btu-0123abcd
for each in .X11-unix .ICE-unix .font-unix btu-0123abcd; do : > /tmp/$each/precious; done
as_nobody sh -ec ': > /tmp/.X11-unix/btu-testbed.lock; : > /tmp/btu-0123abcd/btu-testbed.lock
                  mkfifo /tmp/.ICE-unix/btu-testbed.lock; ln -s /dev/null /tmp/.font-unix/btu-testbed.lock'
";

#[test]
fn what_a_stranger_marked_in_tmp_is_neither_removed_nor_waited_for() {
    let run = "timeout 60 ./btu rate --profile quick --component SEND --message 1024 --load idle --quiet >&2; ls -d /tmp/*/precious /tmp/.[!.]*/precious";
    let Some(output) = privately(&format!("{MARKED}{run}")) else { return };
    let left = assert_success(&output);
    for each in [".X11-unix", ".ICE-unix", ".font-unix", "btu-0123abcd"] {
        assert!(left.contains(&format!("/tmp/{each}/precious")), "{each} is gone: {left}");
    }
}

#[test]
fn a_stranger_who_takes_the_superusers_place_in_tmp_keeps_nobody_out() {
    let script = r#"as_nobody mkdir -m 0777 /tmp/btu-0
        printf '[stations.a]\n[stations.b]\n[links.l]\nbetween = ["a", "b"]\nrate = "10 Mb/s"\n' > lab.toml
        ./btu net up lab.toml --name taken >&2; ls -A /tmp/btu-0; ls /run/btu/net; ./btu net down >&2; ls /run/btu/net"#;
    let Some(output) = privately(script) else { return };
    assert_eq!(assert_success(&output), "taken\ntaken.log\n");
}

/// An ordinary user has no other place there, and gets advice.
#[test]
fn a_stranger_who_takes_an_ordinary_users_place_is_told_of() {
    let script = r#"mkdir -m 0777 /tmp/btu-65534; mkdir -m 0700 mine; chown 65534 mine
        rate() { as_nobody env BTU_DATA=/mnt/mine "$@" timeout 60 ./btu rate --profile quick --component SEND \
                 --message 1024 --load idle --quiet; }
        if rate 2> refusal; then echo done; else echo $?; fi
        grep -c 'btu-65534.*XDG_RUNTIME_DIR' refusal
        rate XDG_RUNTIME_DIR=/mnt/mine > /dev/null || cat refusal; ls mine/btu/run; ls -A /tmp/btu-65534"#;
    let Some(output) = privately(script) else { return };
    assert_eq!(assert_success(&output), "3\n1\n");
}

/// The names of results are known before they are written.
#[test]
fn a_link_of_a_stranger_leads_no_result_elsewhere() {
    let script = r#"echo precious > /mnt/precious; mkdir -m 0777 /tmp/shared; cd /tmp/shared
        as_nobody sh -c 'ln -s /mnt/precious points.csv; ln -s /mnt/precious runs.btu.part; ln -s /mnt/new new.csv'
        sweep() { /mnt/btu model path --sweep "links.path.rate=1 Mb/s..2 Mb/s:1" "$@"; }
        for each in points.csv new.csv; do
            if sweep --csv $each > said 2>&1; then echo written; else grep -c "link of another user" said; fi
        done
        cat /mnt/precious; ls /mnt/new 2>/dev/null || echo none"#;
    let Some(output) = privately(script) else { return };
    assert_eq!(assert_success(&output), "1\n1\nprecious\nnone\n");
}
