//! A container of its own, with this machine's programs, in which systemd boots and tries a unit
//! (systemd-nspawn(1)).

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const STARTER: &str =
    "[Unit]\nAfter=basic.target\n[Service]\nType=oneshot\nExecStart=/bin/bash /out/script\n";

/// Boots it with the unit, whose name and text are given, and runs the script once it has booted; the container goes with its
/// first process. The directory is its `/out`; programs are there under the names that are given with them.
pub(crate) fn boot(
    directory: &Path,
    script: &str,
    (name, unit): (&str, &str),
    programs: &[(&Path, &str)],
) -> Output {
    for (file, content) in [("script", script), ("try.service", STARTER), (name, unit)] {
        fs::write(directory.join(file), content).expect("written");
    }
    let mut command = Command::new("timeout");
    command.args([
        "--kill-after=5",
        "90",
        "systemd-nspawn",
        "--quiet",
        "--boot",
        "--register=no",
        "--keep-unit",
    ]);
    command.args(["--directory=/", "--volatile=yes", "--private-network", "--console=pipe"]);
    command.arg(format!("--machine={}-{}", name.trim_end_matches(".service"), std::process::id()));
    let bind = |from: &Path, to: &str| format!("{}:{to}", from.display());
    command.arg("--bind").arg(bind(directory, "/out"));
    for (program, name) in programs {
        // The place where it will be.
        fs::write(directory.join(name), "").expect("written");
        command.arg("--bind-ro").arg(bind(program, &format!("/out/{name}")));
    }
    for file in ["try.service", name] {
        let to = format!("/etc/systemd/system/{file}");
        command.arg("--bind-ro").arg(bind(&directory.join(file), &to));
    }
    command.args(["systemd.firstboot=no", "systemd.unit=try.service"]);
    command.arg("systemd.mask=systemd-networkd-wait-online.service");
    command.stdin(Stdio::null()).output().expect("timeout")
}
