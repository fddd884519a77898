//! A program that was started: its streams, and the kernel's counts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use btu_contract::program::ProgramOrder;
use btu_contract::record::CpuTime;
use btu_units::{Bytes, Time, octets_of_text};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::{AccessFlags, Pid, access};

use super::super::sys::{self, Usage};
use super::memory::{self, Memory};
use super::printed::OutputStream;
use super::work::PrivateDirectory;

/// A running program, and its processes that have ended.
pub(super) struct Child {
    pub(super) main: Pid,
    pub(super) started: Time,
    pub(super) output: OutputStream<PipeReader>,
    pub(super) errors: OutputStream<PipeReader>,
    /// The time and the manner of the program's end: its exit code, or the signal.
    pub(super) ended: Option<(Time, Result<i32, i32>)>,
    pub(super) used: Usage,
    /// Whether all processes have ended.
    pub(super) is_gone: bool,
    /// The pipes' other ends. While this process has them, the streams do not end: their end would
    /// wake it when the program begins to exit, and so take processor time from that.
    _writers: [PipeWriter; 2],
}

impl Child {
    /// Starts the ordered program, in a process group of its own and with these signals blocked;
    /// this process has no terminal, so the program has none either.
    ///
    /// Its time begins here, so all preparations are made before, and nothing that can wait is done
    /// until it has ended. There must be no `pre_exec`: with one, the library forks, which copies
    /// this process's page tables (a quarter of the time of `true`); without one it calls
    /// `posix_spawn`, which does not.
    pub(super) fn start(
        order: &ProgramOrder,
        work: Option<&PrivateDirectory>,
        blocked: SigSet,
        memory: &Memory,
    ) -> io::Result<Self> {
        let Some((program, arguments)) = order.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
        };
        let (name, arguments) = (octets(program), arguments.iter().map(|word| octets(word)));
        let mut command = Command::new(found(order).unwrap_or_else(|| name.clone().into()));
        command.arg0(name).args(arguments).envs(&order.environment).process_group(0);
        if let Some(directory) = order.directory.as_deref().or(work.map(PrivateDirectory::path)) {
            command.current_dir(directory);
        }
        let ((output, of_output), (errors, of_errors)) = (io::pipe()?, io::pipe()?);
        let writers = [of_output.try_clone()?, of_errors.try_clone()?];
        command.stdin(File::open("/dev/null")?).stdout(of_output).stderr(of_errors);
        let [output, errors] =
            [output, errors].map(|stream| without_waiting(&stream).map(|()| stream));
        let (output, errors) = (output?, errors?);
        // Last, because whatever this process does fills its memory.
        memory.shrink();
        let (started, child) = with_signals(blocked, || {
            rehearse()?;
            Ok((sys::now()?, command.spawn()?))
        })?;
        let mut child = Self {
            main: Pid::from_raw(child.id().cast_signed()),
            started,
            output: OutputStream::new(Some(output)),
            errors: OutputStream::new(Some(errors)),
            ended: None,
            used: Usage::default(),
            is_gone: false,
            _writers: writers,
        };
        // A process that ended meanwhile, as that of the rehearsal, sent a signal that was not
        // blocked, and so it is not pending.
        child.reap()?;
        Ok(child)
    }

    /// Reaps the processes that have ended by now; returns their number.
    pub(super) fn reap(&mut self) -> io::Result<u32> {
        let mut count = 0;
        loop {
            // Before the call, which takes the process apart.
            let now = sys::now()?;
            match sys::reap() {
                Ok(Some((process, how, used))) => {
                    if process == self.main {
                        self.ended = Some((now, how));
                    }
                    self.used.add(&used);
                    count += 1;
                }
                Ok(None) => return Ok(count),
                Err(nix::Error::ECHILD) => {
                    self.is_gone = true;
                    return Ok(count);
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The kernel counts at least this as the peak of every program: what this process had from the
    /// start of the program until now.
    pub(super) fn least_memory() -> io::Result<Bytes> {
        memory::peak()
    }

    pub(super) fn cpu(&self) -> CpuTime {
        self.used.cpu
    }

    pub(super) fn peak_memory(&self) -> Bytes {
        self.used.peak_memory
    }
}

/// A word of an order as the system takes it.
fn octets(word: &str) -> OsString {
    OsString::from_vec(octets_of_text(word))
}

/// Has what a start needs in memory, and the processors awake, since either would take a program's
/// time. For that it makes a start that fails, which programs do not notice: `/` cannot be executed.
fn rehearse() -> io::Result<()> {
    let _ = Command::new("/").process_group(0).current_dir("/").spawn();
    sys::now().map(drop)
}

/// Runs a function with exactly these signals blocked: a program inherits the mask.
fn with_signals<T>(blocked: SigSet, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let own = blocked.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let done = work();
    own.thread_set_mask()?;
    done
}

fn without_waiting(stream: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(stream.as_fd(), FcntlArg::F_GETFL)?);
    fcntl(stream.as_fd(), FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// The first executable file of the program's name in the directories of its `$PATH`. `None` where
/// the system has to find it: the name is a path, no directory has it, or one before it is relative
/// to the directory that the program will work in.
///
/// The system tries one directory after another once it has begun to start the program, which would
/// be part of the program's time.
fn found(order: &ProgramOrder) -> Option<PathBuf> {
    let name = order.command.first().filter(|name| !name.contains('/'))?;
    let own = order.environment.get("PATH").map(Into::into);
    let path = own.or_else(|| env::var_os("PATH"))?;
    env::split_paths(&path)
        .take_while(|directory| directory.is_absolute())
        .map(|directory| directory.join(OsStr::from_bytes(&octets_of_text(name))))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use btu_units::{Bytes, Span};

    use super::*;

    fn looked_for(name: &str, path: &str) -> Option<PathBuf> {
        found(&ProgramOrder {
            command: vec![name.to_owned(), "--argument".to_owned()],
            environment: [("PATH".to_owned(), path.to_owned())].into(),
            directory: None,
            room: Bytes::ZERO,
            deadline: Span::ZERO,
            ready: None,
        })
    }

    #[test]
    fn the_first_executable_file_is_found() {
        let root = tempfile::tempdir().unwrap();
        let [none, directory, text, program] =
            ["none", "directory", "text", "program"].map(|name| root.path().join(name));
        for (place, mode) in [(&text, 0o644), (&program, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("it"), "").unwrap();
            fs::set_permissions(place.join("it"), Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(directory.join("it")).unwrap();
        let path = env::join_paths([&none, &directory, &text, &program]).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(looked_for("it", path), Some(program.join("it")));
        assert_eq!(looked_for("another", path), None);
        assert_eq!(looked_for("./it", path), None, "a path is not looked for");
        assert_eq!(looked_for("it", &format!(".:{path}")), None, "relative to another directory");
    }
}
