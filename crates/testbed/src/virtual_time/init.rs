//! Process 1 of virtual time: mounts what programs expect, runs the order's command, and powers the
//! machine off.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use btu_contract::json;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{Pid, getpid, sync};

use super::{
    ERROR_OUTPUT, INPUT, INSIDE, OUTPUT, Order, SIGNALS, Streams, ending_file, listening_file,
    order_file,
};
use crate::netlink::{Links, index_of};
use crate::note;
use crate::testbed::Ending;
use crate::wire::take_precedence;

/// The age of the machine when the command starts, which takes no time of anybody's.
const FIRST_MINUTE: Duration = Duration::from_mins(1);

/// The work of `btu internal virtual DIRECTORY`. It refuses to run as anything but process 1, because
/// it powers the machine off.
pub fn init(directory: &Path) -> ExitCode {
    if getpid() != Pid::from_raw(1) {
        note!("btu: virtual time begins with process 1, which this is not");
        return ExitCode::FAILURE;
    }
    let ending = prepare(directory).and_then(|order| live(&order));
    let written = ending.and_then(|ending| {
        fs::write(ending_file(Path::new(INSIDE)), serde_json::to_string(&ending)?)
    });
    if let Err(error) = written {
        // The kernel's console is all that is left to say it on.
        let _ = fs::write("/dev/kmsg", format!("<0>btu: virtual time: {error}\n"));
    }
    sync();
    let _ = reboot(RebootMode::RB_POWER_OFF);
    ExitCode::FAILURE
}

/// Mounts, and reads the order.
fn prepare(directory: &Path) -> io::Result<Order> {
    let order = File::open(directory)?;
    mount_new("proc", "/proc")?;
    mount_new("sysfs", "/sys")?;
    mount_new("tmpfs", "/run")?;
    mount_new("tmpfs", "/dev/shm")?;
    // Without the first no program has a terminal of its own, without the second none can be limited.
    let _ = mount_new("devpts", "/dev/pts");
    let _ = mount_new("cgroup2", "/sys/fs/cgroup");
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), Path::new("/dev").join(name))?;
    }
    fs::create_dir(INSIDE)?;
    let nothing = None::<&str>;
    let opened = format!("/proc/self/fd/{}", order.as_raw_fd());
    mount(Some(opened.as_str()), INSIDE, nothing, MsFlags::MS_BIND, nothing)?;
    Links::here()?.up(index_of("lo")?)?;
    Ok(json::from_octets(&fs::read(order_file(Path::new(INSIDE)))?)?)
}

fn mount_new(kind: &str, place: &str) -> io::Result<()> {
    // /dev has been made by the kernel a moment ago; where the other directories exist, nothing is made.
    let _ = fs::create_dir(place);
    Ok(mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)?)
}

/// Runs the command to its end.
fn live(order: &Order) -> io::Result<Ending> {
    let Some((program, arguments)) = order.command.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // No program has to know the first second of a machine: ping takes a clock of 0 s for one that it has not read.
    thread::sleep(FIRST_MINUTE);
    env::set_current_dir(&order.directory)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(order.environment.iter().cloned());
    command.stdin(if order.streams.input { Stdio::piped() } else { Stdio::null() });
    let relays = outputs(&mut command, order.streams)?;
    let mut child = command.spawn()?;
    // It holds this process's writing ends of the pipes, whose end is to be that of the programs.
    drop(command);
    attend(&mut child)?;
    let ending = reap(&child)?;
    // Programs that the command left behind would keep the pipes open.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    for relay in relays {
        let _ = relay.join();
    }
    Ok(ending)
}

/// A terminal's output is the line itself; a program that writes to a file or pipe writes to a pipe.
fn outputs(command: &mut Command, streams: Streams) -> io::Result<Vec<JoinHandle<()>>> {
    let mut relays = Vec::new();
    let mut output = |size: Option<(u16, u16)>, line: &str| -> io::Result<Stdio> {
        let line = open_raw(line)?;
        if let Some((lines, columns)) = size {
            set_size(&line, lines, columns)?;
            return Ok(line.into());
        }
        let (reading, writing) = io::pipe()?;
        relays.push(thread::spawn(move || relay(reading, line)));
        Ok(writing.into())
    };
    let error_line = if streams.are_one { OUTPUT } else { ERROR_OUTPUT };
    command.stdout(if streams.output { output(streams.terminal, OUTPUT)? } else { Stdio::null() });
    command.stderr(output(streams.error_terminal, error_line)?);
    Ok(relays)
}

fn relay(mut from: impl Read, mut to: File) {
    // The line is this kernel's, and a file behind it: it takes everything.
    let _ = io::copy(&mut from, &mut to);
}

/// Opens a serial line that changes no octet.
fn open_raw(line: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).open(line)?;
    let mut settings = tcgetattr(file.as_fd())?;
    cfmakeraw(&mut settings);
    tcsetattr(file.as_fd(), SetArg::TCSANOW, &settings)?;
    Ok(file)
}

/// Passes signals and standard input on to the command.
fn attend(child: &mut Child) -> io::Result<()> {
    let (pid, signals) = (Pid::from_raw(child.id().cast_signed()), open_raw(SIGNALS)?);
    thread::spawn(move || {
        // A program that neither waits nor reads the clock would never let this thread run.
        take_precedence();
        for octet in io::BufReader::new(signals).bytes().map_while(Result::ok) {
            if let Ok(signal) = Signal::try_from(i32::from(octet)) {
                // It may end just now.
                let _ = kill(pid, signal);
            }
        }
    });
    if let Some(input) = child.stdin.take() {
        let line = open_raw(INPUT)?;
        thread::spawn(move || feed(line, input));
    }
    fs::write(listening_file(Path::new(INSIDE)), [])
}

/// Writes the pieces of standard input, until the one of length 0.
fn feed(mut line: File, mut input: ChildStdin) {
    let mut length = [0; 2];
    let mut piece = Vec::new();
    while line.read_exact(&mut length).is_ok() && length != [0; 2] {
        piece.resize(usize::from(u16::from_le_bytes(length)), 0);
        // A command that reads no more has its reason.
        if line.read_exact(&mut piece).is_err() || input.write_all(&piece).is_err() {
            return;
        }
    }
}

/// Reaps all processes until the command has ended.
fn reap(child: &Child) -> io::Result<Ending> {
    let pid = Pid::from_raw(child.id().cast_signed());
    loop {
        match wait() {
            Ok(WaitStatus::Exited(ended, code)) if ended == pid => return Ok(Ending::Exited(code)),
            Ok(WaitStatus::Signaled(ended, signal, _)) if ended == pid => {
                return Ok(Ending::Killed(signal as i32));
            }
            Ok(_) | Err(nix::Error::EINTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives a terminal its size (`TIOCSWINSZ`, `ioctl_tty(2)`).
#[allow(unsafe_code)]
fn set_size(line: &File, lines: u16, columns: u16) -> io::Result<()> {
    let size = libc::winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: a system call that reads one `winsize`, which lives across it, for an open file.
    let done = unsafe { libc::ioctl(line.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    nix::errno::Errno::result(done)?;
    Ok(())
}
