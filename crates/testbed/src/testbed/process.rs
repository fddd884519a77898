//! Starts this program again in another role.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The running program, even if its file was replaced or removed since it started.
const SELF: &str = "/proc/self/exe";

/// The command that starts this program again as `internal <role...>`, under the name with which it
/// was started.
pub(super) fn own(role: &[&str]) -> Command {
    let name = std::env::args_os().next().unwrap_or_else(|| OsString::from("btu"));
    let mut command = Command::new(SELF);
    command.arg0(name).arg("internal").args(role);
    command
}
