//! Runs a command in a station of a testbed that is up, or works in several stations at once.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::sethostname;

use super::entry_server::{self, StationNamespaces};
use super::error::{Cause, TestbedError};
use super::foreground::Signals;
use super::messages::Ending;
use super::namespace::Namespace;

/// What programs take for the address of a proxy, in small or in capital letters (curl(1)): stations
/// reach each other and no proxy.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy"];

/// Runs `command` in `station` of the testbed with this runtime directory, with this process's
/// terminal, directory and environment, and represents it until it ends ([`Signals`]). If this
/// process is killed, the command is, too.
///
/// The command sees the station's interfaces, name and /sys, the testbed's processes, and
/// everything else as it is here. The calling process must have a single thread, and cannot be used
/// afterwards: it is in some namespaces of the station and some of its own.
///
/// # Errors
/// There is no such station, the testbed does not open, or the command cannot be started
/// ([`Cause::NotFound`], [`Cause::NotStarted`]).
pub fn enter(
    runtime_directory: &Path,
    station: &str,
    command: &[OsString],
    signals: &Signals,
) -> Result<Ending, TestbedError> {
    let Some(keys) = entry_server::request_namespaces(runtime_directory, station)? else {
        let remedy = "see `btu net status` for the stations that are there";
        return Err(TestbedError::new(
            Cause::Name,
            format!("enter {station}"),
            "there is no such station",
            remedy,
        ));
    };
    let here = env::current_dir();
    spawn(&keys).map_err(|error| refused(station, &error))?;
    mount_for(station);
    // Changes to the current path in the other mounts; if it does not exist there, the command
    // starts in the root.
    let _ = here.and_then(env::set_current_dir);
    let child = start(command, signals).map_err(|error| not_started(station, command, &error))?;
    signals.attend(&child).map_err(|error| TestbedError::process("stand for the command", &error))
}

/// The user namespace first: it decides which namespaces may be entered next. The process namespace
/// applies to new processes only.
fn spawn(keys: &StationNamespaces) -> io::Result<()> {
    if !is_here(&keys.user, "user")? {
        setns(keys.user.as_fd(), CloneFlags::CLONE_NEWUSER)?;
    }
    setns(keys.mounts.as_fd(), CloneFlags::CLONE_NEWNS)?;
    setns(keys.network.as_fd(), CloneFlags::CLONE_NEWNET)?;
    setns(keys.processes.as_fd(), CloneFlags::CLONE_NEWPID)?;
    Ok(())
}

/// A process may not enter the user namespace it is in.
fn is_here(namespace: &OwnedFd, kind: &str) -> io::Result<bool> {
    let identity = |status: fs::Metadata| (status.st_dev(), status.st_ino());
    let there = fs::File::from(namespace.try_clone()?).metadata()?;
    let here = fs::metadata(format!("/proc/self/ns/{kind}"))?;
    Ok(identity(there) == identity(here))
}

/// Where systems mount control groups: what limits a program there is the same in a station.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Sets the station's host name and shows its interfaces in /sys, if this system allows it; nothing
/// else depends on it.
fn mount_for(station: &str) {
    if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
        let _ = sethostname(station);
    }
    let nothing = None::<&str>;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let private = unshare(CloneFlags::CLONE_NEWNS).and_then(|()| {
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
    });
    if private.is_ok() {
        // The new /sys hides this directory, which then has no other name than that of the directory one is in.
        let groups = env::set_current_dir(CONTROL_GROUPS);
        let shown = mount(Some("sysfs"), "/sys", Some("sysfs"), flags, nothing);
        if groups.and(shown.map_err(io::Error::from)).is_ok() {
            let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
            let _ = mount(Some("."), CONTROL_GROUPS, nothing, bind, nothing);
        }
        let _ = env::set_current_dir("/");
    }
}

fn start(command: &[OsString], signals: &Signals) -> io::Result<Child> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    for proxy in PROXIES {
        command.env_remove(proxy).env_remove(proxy.to_uppercase());
    }
    signals.start(&mut command)
}

fn refused(station: &str, error: &io::Error) -> TestbedError {
    let remedy = "enter as the user who started the network, and not from inside another container";
    TestbedError::new(
        Cause::Namespaces,
        format!("enter the namespaces of {station}"),
        error,
        remedy,
    )
}

fn not_started(station: &str, command: &[OsString], error: &io::Error) -> TestbedError {
    let program =
        command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let (cause, remedy) = match error.kind() {
        io::ErrorKind::NotFound if program.contains(char::is_whitespace) => {
            (Cause::NotFound, "it is one word; a shell command comes after `sh -c`")
        }
        io::ErrorKind::NotFound => {
            (Cause::NotFound, "stations have this machine's programs: check its name and $PATH")
        }
        _ => (Cause::NotStarted, "check that it may be executed"),
    };
    TestbedError::new(cause, format!("start `{program}` on {station}"), error, remedy)
}

/// Does `work` on a thread inside `station`'s network, of the testbed with this runtime directory:
/// sockets made there belong to the station, whichever process uses them afterwards. The calling
/// process must run in the testbed, like commands of [`enter`], in any of its stations.
///
/// # Errors
/// There is no such station, the testbed does not open, or the process is outside.
pub fn inside<T: Send>(
    runtime_directory: &Path,
    station: &str,
    work: impl FnOnce() -> T + Send,
) -> Result<T, TestbedError> {
    let Some(keys) = entry_server::request_namespaces(runtime_directory, station)? else {
        let remedy = "see `btu net check` for the stations of the file";
        return Err(TestbedError::new(
            Cause::Name,
            format!("enter {station}"),
            "there is no such station",
            remedy,
        ));
    };
    Namespace::from_key(keys.network).enter(work).map_err(|error| {
        let remedy = "start this from inside the network, with `btu net run` or `btu net exec`";
        TestbedError::new(Cause::Namespaces, format!("work in {station}"), error, remedy)
    })
}
