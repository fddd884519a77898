//! Starts the kernel of virtual time as a process of this one, and is its command's streams, signals
//! and end.

use std::fs::{self, File};
use std::io::{self, Read, Write, stderr, stdin, stdout};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_contract::json;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, pipe2};

use super::kernel::Kernel;
use super::{Order, ending_file, listening_file, order_file};
use crate::testbed::{Cause, Ending, Signals, TestbedError};

/// The memory of the machine, of which the pages in use are taken.
const MEMORY: &str = "1G";

/// How often the files of output are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The most octets of standard input in one piece: less than a line of the kernel holds.
const PIECE: usize = 1024;

/// The files of standard output and standard error in the directory.
const OUTPUTS: [&str; 2] = ["output", "error-output"];

/// What the kernel said, in its directory.
const KERNEL_OUTPUT: &str = "kernel";

/// The end of what the kernel said that is shown when it fails.
const SHOWN_CHARACTERS: usize = 400;

/// Runs the order's command in virtual time; `directory` is private to this user, and holds the
/// order's files. Signals that ask this process to end go to the command, the second one ends the
/// machine.
///
/// # Errors
/// The kernel cannot be started, or it ended without its command's end.
pub fn run(
    kernel: &Kernel,
    order: &Order,
    directory: &Path,
    signals: &Signals,
) -> Result<Ending, TestbedError> {
    let failed = |error: io::Error| failure(kernel, &error.to_string());
    let output = Files::make(directory, order).map_err(failed)?;
    let mut machine = start(kernel, order, directory, &output, signals).map_err(failed)?;
    let ended = AtomicBool::new(false);
    let Files { inputs: [signal_line, input_line], .. } = output;
    if order.streams.input {
        // It may wait for input for ever, and ends with this process.
        let listening = listening_file(directory);
        thread::spawn(move || feed(&listening, input_line.1));
    }
    let lasted = thread::scope(|scope| {
        let ended = &ended;
        if order.streams.output {
            scope.spawn(move || copy(&directory.join(OUTPUTS[0]), &mut stdout(), ended));
        }
        if !order.streams.are_one {
            scope.spawn(move || copy(&directory.join(OUTPUTS[1]), &mut stderr(), ended));
        }
        let lasted = attend(&mut machine, signals, &listening_file(directory), &signal_line.1);
        ended.store(true, Ordering::Release);
        lasted
    });
    if let Some(signal) = lasted.map_err(failed)? {
        return Ok(Ending::Killed(signal as i32));
    }
    ending(directory).ok_or_else(|| failure(kernel, &last_words(directory)))
}

/// The files and pipes of the command's streams.
struct Files {
    outputs: [File; 2],
    /// Reading and writing ends: of signals, of standard input.
    inputs: [(OwnedFd, OwnedFd); 2],
}

impl Files {
    fn make(directory: &Path, order: &Order) -> io::Result<Self> {
        fs::write(order_file(directory), serde_json::to_string(order)?)?;
        fs::create_dir(directory.join("uml"))?;
        let output =
            |name: &str| File::options().append(true).create_new(true).open(directory.join(name));
        let pipe = || pipe2(OFlag::O_CLOEXEC);
        Ok(Self { outputs: [output(OUTPUTS[0])?, output(OUTPUTS[1])?], inputs: [pipe()?, pipe()?] })
    }

    /// The descriptors that the kernel's process gets.
    fn given(&self) -> [BorrowedFd<'_>; 4] {
        let ([output, errors], [signals, input]) = (&self.outputs, &self.inputs);
        [output.as_fd(), errors.as_fd(), signals.0.as_fd(), input.0.as_fd()]
    }
}

fn start(
    kernel: &Kernel,
    order: &Order,
    directory: &Path,
    files: &Files,
    signals: &Signals,
) -> io::Result<Child> {
    let said = File::create(directory.join(KERNEL_OUTPUT))?;
    let mut command = Command::new(&kernel.path);
    command
        .args(parameters(kernel, order, directory, files)?)
        // A process in there has no restartable sequences (rseq(2)): the kernel of this machine would
        // kill it, because its memory is another than the one that the C library registered.
        .env_clear()
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said)
        // Signals of the terminal are this process's, which passes them on.
        .process_group(0);
    for file in files.given() {
        fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    // Else the size of its memory would differ from start to start.
    let before = personality::get()?;
    personality::set(before | Persona::ADDR_NO_RANDOMIZE)?;
    // Each system call in there is a switch between two processes, four times as fast on one processor.
    sched_setaffinity(Pid::from_raw(0), &one_of(&allowed)?)?;
    let started = signals.start(&mut command);
    sched_setaffinity(Pid::from_raw(0), &allowed)?;
    personality::set(before)?;
    started
}

/// One of these processors; another process's is another one where there are several.
fn one_of(allowed: &CpuSet) -> io::Result<CpuSet> {
    let processors: Vec<usize> =
        (0..CpuSet::count()).filter(|&number| allowed.is_set(number) == Ok(true)).collect();
    let mut one = CpuSet::new();
    if let Some(&number) = processors.get(std::process::id() as usize % processors.len().max(1)) {
        one.set(number)?;
    }
    Ok(one)
}

/// The parameters of the kernel (its document "The kernel's command-line parameters", and `--help` of
/// User Mode Linux).
fn parameters(
    kernel: &Kernel,
    order: &Order,
    directory: &Path,
    files: &Files,
) -> io::Result<Vec<String>> {
    let program = std::env::current_exe()?;
    let [program, directory] = [program.as_path(), directory].map(|path| {
        let text = path.to_str().filter(|text| !text.contains(['"', ' ', '\n', '\t']));
        text.ok_or_else(|| {
            io::Error::other(format!(
                "the path {} cannot be given to a kernel: it has spaces or quotes",
                path.display()
            ))
        })
    });
    let (program, directory) = (program?, directory?);
    let [output, error_output, signals, input] = files.given().map(|file| file.as_raw_fd());
    // The kernel takes 0 for the machine's own random numbers.
    let seed = order.seed.wrapping_add(1).max(1);
    Ok([
        format!("mem={MEMORY}"),
        "rootfstype=hostfs rootflags=/ rw".to_owned(),
        // Its usual disk and console: where they are not named, it puts them behind the words for process 1.
        "root=98:0 console=tty0".to_owned(),
        format!("init={program}"),
        "con=null con0=null,fd:1".to_owned(),
        format!("ssl0=null,fd:{output} ssl1=null,fd:{error_output}"),
        format!("ssl2=fd:{signals},null ssl3=fd:{input},null"),
        format!("uml_dir={directory}/uml/ umid=m"),
        format!("time-travel=inf-cpu random-seed={seed} quiet"),
        // None of its own: it is for the record.
        format!("btu.kernel={}", kernel.digest()?),
        format!("-- internal virtual {directory}"),
    ]
    .iter()
    .flat_map(|words| words.split(' '))
    .map(str::to_owned)
    .collect())
}

/// Waits for the machine's end, and passes the requests to end on; the second one, or one before the
/// command has begun, ends the machine, and is returned.
fn attend(
    machine: &mut Child,
    signals: &Signals,
    listening: &Path,
    line: &OwnedFd,
) -> io::Result<Option<Signal>> {
    let mut is_asked = false;
    while machine.try_wait()?.is_none() {
        let Some(signal) = signals.request(LOOK)? else { continue };
        if std::mem::replace(&mut is_asked, true) || !listening.exists() {
            machine.kill()?;
            machine.wait()?;
            return Ok(Some(signal));
        }
        // It may end just now.
        let _ = nix::unistd::write(line, &[signal as u8]);
    }
    Ok(None)
}

/// Copies what is appended to a file, until the machine has ended and all is copied.
fn copy(path: &Path, to: &mut dyn Write, ended: &AtomicBool) {
    let Ok(mut from) = File::open(path) else { return };
    let mut octets = vec![0; 1 << 16];
    loop {
        let was_last = ended.load(Ordering::Acquire);
        match from.read(&mut octets) {
            Ok(0) | Err(_) if was_last => return,
            Ok(0) | Err(_) => thread::sleep(LOOK),
            Ok(count) => {
                // A reader that has gone away misses the rest, as that of any command.
                if to.write_all(&octets[..count]).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Sends this process's standard input in pieces, each behind its length; a length of 0 is its end.
fn feed(listening: &Path, line: OwnedFd) {
    while !listening.exists() {
        thread::sleep(LOOK);
    }
    let mut line = File::from(line);
    let mut piece = [0; PIECE];
    loop {
        let count = match stdin().lock().read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        let length = (count as u16).to_le_bytes();
        let sent = line.write_all(&length).and_then(|()| line.write_all(&piece[..count]));
        if sent.is_err() || count == 0 {
            break;
        }
    }
    // The end of the pipe is a line that hangs up, and what was not read yet would be lost.
    std::mem::forget(line);
}

fn ending(directory: &Path) -> Option<Ending> {
    json::from_octets(&fs::read(ending_file(directory)).ok()?).ok()
}

/// The end of what the kernel said.
fn last_words(directory: &Path) -> String {
    let said = fs::read(directory.join(KERNEL_OUTPUT)).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let panic = said.lines().find(|line| line.contains("Kernel panic"));
    match panic.or_else(|| said.lines().rfind(|line| !line.trim().is_empty())) {
        Some(line) => line.trim().chars().take(SHOWN_CHARACTERS).collect(),
        None => "it ended without a word".to_owned(),
    }
}

fn failure(kernel: &Kernel, why: &str) -> TestbedError {
    TestbedError::new(
        Cause::Process,
        format!("run the kernel {}", kernel.path.display()),
        why,
        "build it for this machine by scripts/virtual-kernel",
    )
}
