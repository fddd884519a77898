//! A controller process with a testbed, and a list of its running processes.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use tempfile::TempDir;

/// The time within which a killed testbed must end.
pub(crate) const BAD_DAY: Duration = Duration::from_secs(5);
/// Raising takes 0.1 s; a busy machine may take longer.
const TIMEOUT: Duration = Duration::from_mins(3);
/// The environment variable that identifies a testbed's processes.
const MARK: &str = "BTU_DRILL_MARK";
const NOBODY: u32 = 65_534;

/// The user that raises a testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Myself,
    Nobody,
}

/// The users of a test: the superuser can also act as an ordinary user.
pub(crate) fn users() -> &'static [User] {
    if geteuid().is_root() { &[User::Myself, User::Nobody] } else { &[User::Myself] }
}

/// A directory for testbeds of one user, with a copy of the test program that this user may
/// execute.
pub(crate) struct Lab {
    home: TempDir,
    user: User,
}

impl Lab {
    /// `None` if this system allows no testbed: it prints that loudly, and fails if a lab is
    /// required.
    pub(crate) fn open(user: User) -> Option<Self> {
        let lab = Self::unchecked(user);
        let output = lab.drill(&["preflight"]).output().expect("the drill starts");
        if output.status.success() {
            return Some(lab);
        }
        skip(&String::from_utf8_lossy(&output.stdout));
        None
    }

    fn unchecked(user: User) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        copy(env!("CARGO_BIN_EXE_testbed-fault-test"), &home.path().join("drill"));
        let testbeds = home.path().join("testbeds");
        fs::create_dir(&testbeds).unwrap();
        if user == User::Nobody {
            chown(&testbeds, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self { home, user }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The test program with these arguments, as this lab's user.
    pub(crate) fn drill(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.home().join("drill"));
        command.args(arguments);
        self.demote(&mut command);
        command
    }

    /// Makes the command run as this lab's user.
    pub(crate) fn demote(&self, command: &mut Command) {
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// The runtime directory called `name`.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.home().join("testbeds").join(name)
    }

    /// Starts a controller, which begins to raise a testbed.
    pub(crate) fn begin(&self, network: &str, name: &str) -> Testbed {
        self.begin_with(network, name, &[])
    }

    fn begin_with(&self, network: &str, name: &str, further: &[&str]) -> Testbed {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark =
            format!("{MARK}={}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = self.directory(name);
        let mut command = self.drill(&["coordinate", network]);
        command.arg(&directory).args(further).env(MARK, &mark[MARK.len() + 1..]);
        let mut controller = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let words = listen(controller.stdout.take().unwrap());
        Testbed { controller, words, directory, mark }
    }

    /// A testbed that is up.
    pub(crate) fn raise(&self, network: &str, name: &str) -> Testbed {
        self.raise_with(network, name, &[])
    }

    /// A testbed in which the test station has the last processor and all others the first one, and
    /// the protocol work of received frames is done at `work`, `receiver` or `sender`.
    pub(crate) fn raise_divided(&self, network: &str, work: &str) -> Testbed {
        self.raise_with(network, "run", &[work])
    }

    fn raise_with(&self, network: &str, name: &str, further: &[&str]) -> Testbed {
        let testbed = self.begin_with(network, name, further);
        let word = testbed.word();
        assert!(word.starts_with("up "), "{network} as {:?}: {word}", self.user);
        testbed
    }
}

/// Copies in a process of its own: a file that is open for writing here, while another test starts
/// a process, is for a moment open for writing there too, and cannot be executed ("text file
/// busy").
fn copy(from: &str, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().expect("cp starts").success());
}

/// Prints why a test is skipped here; fails if the lab is required.
pub(crate) fn skip(why: &str) {
    eprintln!("LAB SKIPPED: {}", why.trim());
    assert!(
        std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
        "a lab is required: {why}"
    );
}

fn listen(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (to, words) = channel();
    thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| to.send(line))
    });
    words
}

/// A controller and its testbed.
pub(crate) struct Testbed {
    pub(crate) controller: Child,
    words: Receiver<String>,
    pub(crate) directory: PathBuf,
    mark: String,
}

impl Testbed {
    /// The next line of the controller.
    pub(crate) fn word(&self) -> String {
        self.words.recv_timeout(TIMEOUT).expect("the controller speaks")
    }

    /// The process numbers and command lines of all processes, the controller included.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        numbers
            .filter_map(|number| Some((Pid::from_raw(number), self.command_line(number)?)))
            .collect()
    }

    fn command_line(&self, number: i32) -> Option<String> {
        let environment = fs::read(format!("/proc/{number}/environ")).ok()?;
        environment.split(|&byte| byte == 0).find(|&entry| entry == self.mark.as_bytes())?;
        let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    }

    /// The process with `role` in its command line.
    pub(crate) fn process(&self, role: &str) -> Pid {
        let processes = self.processes();
        let found = processes.iter().find(|(_, line)| line.contains(role));
        found.unwrap_or_else(|| panic!("no `{role}` among {processes:?}")).0
    }

    pub(crate) fn signal(&self, role: &str, signal: Signal) {
        kill(self.process(role), signal).unwrap();
    }

    /// Waits until no process is left; returns how long it took.
    pub(crate) fn await_nobody(&mut self) -> Duration {
        let (start, conditions) = (Instant::now(), Conditions::begin());
        loop {
            // Reaps it, if it has ended.
            self.controller.try_wait().unwrap();
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            assert!(start.elapsed() < TIMEOUT, "still alive: {left:?}");
            thread::sleep(Duration::from_millis(5));
        }
        let took = start.elapsed();
        judge!(conditions, took < BAD_DAY, "they took {took:?} to end, more than {BAD_DAY:?}");
        took
    }

    /// Has the controller lower the testbed, and waits until no process is left.
    pub(crate) fn lower(&mut self) -> Duration {
        drop(self.controller.stdin.take());
        self.await_nobody()
    }

    /// Sends a command to the test agent of station `who`, and returns its answer.
    pub(crate) fn ask(&self, who: &str, command: &str) -> String {
        let stations = ["test", "active", "passive"];
        let number = stations.iter().position(|&station| station == who).unwrap();
        ask(&self.directory, &format!("agent-{number}"), command)
    }

    /// Sends `bytes` from the test station to `address` of `station` by TCP, while `interface` of
    /// the wire's namespace is watched: returns the number of frames that arrived there and the
    /// length of the longest.
    pub(crate) fn watch_transfer(
        &self,
        station: &str,
        address: &str,
        bytes: usize,
        interface: &str,
    ) -> (u64, usize) {
        let port = self.ask(station, "listen");
        self.watch(interface, || {
            assert_eq!(
                self.ask("test", &format!("send {address}:{port} {bytes}")),
                bytes.to_string()
            );
        })
    }

    /// Watches `interface` of the wire's namespace for a second, during which `work` runs.
    pub(crate) fn watch(&self, interface: &str, work: impl FnOnce()) -> (u64, usize) {
        let directory = &self.directory;
        let seen = thread::scope(|scope| {
            let watch =
                scope.spawn(|| ask(directory, "second-wire", &format!("capture {interface} 1000")));
            thread::sleep(Duration::from_millis(200));
            work();
            watch.join().unwrap()
        });
        let (frames, longest) = seen.split_once(' ').unwrap();
        (frames.parse().unwrap(), longest.parse().unwrap())
    }
}

fn ask(directory: &Path, who: &str, command: &str) -> String {
    let mut connection = UnixStream::connect(directory.join(format!("{who}.sock"))).unwrap();
    writeln!(connection, "{command}").unwrap();
    let mut answer = String::new();
    BufReader::new(connection).read_line(&mut answer).unwrap();
    answer.trim().to_owned()
}

impl Drop for Testbed {
    fn drop(&mut self) {
        // A failed test must not leave its testbed; after a passed one there is nothing to kill.
        let _ = self.controller.kill();
        let _ = self.controller.wait();
    }
}
