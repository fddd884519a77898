//! The board as a service: systemd starts the unit with its sandbox, and a run is published there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::booted::boot;
use crate::databases::{directory, is_root, lab_skipped};
use crate::support::{Server, btu};

fn unit() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/btu-board.service");
    fs::read_to_string(file).expect("the unit")
}

#[test]
fn a_service_manager_is_told_that_the_board_listens() {
    let stored = directory();
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu-board"));
    command.arg("serve").args(stored.arguments()).args(["--listen", "127.0.0.1:0"]);
    let _server = Server::of({
        command.env("NOTIFY_SOCKET", &path);
        command
    });
    let mut said = [0; 64];
    let length = manager.recv(&mut said).expect("a message");
    assert_eq!(said[..length].trim_ascii(), b"READY=1");
}

#[test]
fn the_sandbox_of_the_service_is_narrow() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        lab_skipped("there is no systemd-analyze");
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("btu-board.service");
    let here = unit().replace("/usr/bin/btu-board", env!("CARGO_BIN_EXE_btu-board"));
    fs::write(&path, here).expect("written");
    let analyzed = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        let done = command.args(arguments).arg(&path).output().expect("it starts");
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        (text(&done.stdout), text(&done.stderr))
    };
    let (_, said) = analyzed(&["verify", "--man=no"]);
    assert!(!said.contains("btu-board"), "{said}");
    let (said, why) = analyzed(&["security", "--offline=true", "--no-pager"]);
    let level = said.split("exposure level for btu-board.service: ").nth(1);
    let level = level.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(level.is_some_and(|level| level < 2.0), "{said}{why}");
}

/// MPI's library, which test programs have, prints on standard output that the service may not make code
/// (`MemoryDenyWriteExecute`).
const WITHOUT_HOOKS: &str =
    "#!/bin/sh\nUCX_MEM_MMAP_HOOK_MODE=none UCX_LOG_LEVEL=fatal exec /out/program \"$@\"\n";

/// What runs in the container once it has booted: a run is measured, published and read.
const SCRIPT: &str = "\
cd /out
{
    systemctl start btu-board
    echo \"started=$?\"
    export HOME=/out BTU_DATA=/out/data
    ./btu rate --profile quick --component SEND --message 1024 --load idle --quiet >rated 2>&1
    ./btu publish latest --to http://127.0.0.1:8095 --name Ada --yes
    echo \"published=$?\"
    curl -s -o /dev/null -w 'report=%{http_code}\\n' http://127.0.0.1:8095/runs/$(curl -s http://127.0.0.1:8095/api/v1/runs | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/')/report
    stat -Lc 'directory=%a' /var/lib/private/btu-board
    cat /proc/$(systemctl show btu-board -p MainPID --value)/status
    systemctl stop btu-board
    echo \"stopped=$(systemctl show btu-board -p Result --value)\"
    journalctl -u btu-board --no-pager
} >seen 2>&1
systemctl --force --force poweroff
";

#[test]
fn a_run_is_published_to_the_service_in_its_sandbox() {
    if !is_root() {
        eprintln!("containers that systemd boots are root's: tested as root only");
        return;
    }
    if Command::new("systemd-nspawn").arg("--version").output().is_err() {
        lab_skipped("there is no systemd-nspawn (Debian: systemd-container)");
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    // The service's user has to reach the programs.
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("set");
    let unit = unit().replace("/usr/bin/", "/out/");
    fs::write(place.path().join("btu"), WITHOUT_HOOKS).expect("written");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.path().join("btu"), executable).expect("set");
    let board = Path::new(env!("CARGO_BIN_EXE_btu-board"));
    let programs = [(&*btu(), "program"), (board, "btu-board")];
    let booted = boot(place.path(), SCRIPT, ("btu-board.service", &unit), &programs);
    let Ok(seen) = fs::read_to_string(place.path().join("seen")) else {
        let said =
            String::from_utf8_lossy(&booted.stdout) + String::from_utf8_lossy(&booted.stderr);
        lab_skipped(&format!("systemd cannot be booted in a container here: {said}"));
        return;
    };
    for said in [
        "started=0",
        "published=0",
        "report=200",
        "directory=700",
        "stopped=success",
        "Seccomp:\t2",
        "CapEff:\t0000000000000000",
    ] {
        assert!(seen.lines().any(|line| line == said), "no {said} in {seen}");
    }
}
