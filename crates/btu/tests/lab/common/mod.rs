//! Runs the real program in a laboratory of its own and checks that it leaves nothing behind.

pub(crate) mod machine;
pub(crate) mod once;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::share::Share;
use crate::support::{LONG, text};

/// The time within which all parts of a run end on a quiet machine, after any kind of end.
pub(crate) const DOWN_WITHIN: Duration = Duration::from_secs(5);

/// Marks every process of one test through its inherited environment.
const MARK: &str = "BTU_DRILL";

/// A directory, a database and a mark of one test's own.
pub(crate) struct Laboratory {
    pub(crate) directory: tempfile::TempDir,
    mark: String,
    before: Traces,
    share: Share,
}

impl Laboratory {
    /// `None`, with a loud message, if namespaces are not available; a failure with
    /// `BTU_LAB=required`.
    pub(crate) fn open() -> Option<Self> {
        Self::open_with(Share::one())
    }

    /// Like `open`, for a long test with a result that does not depend on root: `None` if
    /// scripts/test reports that it ran as an ordinary user already.
    pub(crate) fn open_once() -> Option<Self> {
        if once::tested_already() { None } else { Self::open() }
    }

    /// Like `open_once`, for a long test of a part that other tests look at each time: `None` if
    /// scripts/test reports that the part has not changed.
    pub(crate) fn open_once_if_changed() -> Option<Self> {
        Self::open_with(Share::one_if_changed()?)
    }

    /// Like `open_once`, for a test that holds measured numbers against bounds: no other test of
    /// this program runs meanwhile.
    pub(crate) fn open_alone() -> Option<Self> {
        if once::tested_already() { None } else { Self::open_with(Share::all()) }
    }

    /// Like `open_alone`, for a test of lines so slow that the processors are idle for most of the time: one
    /// other such test may run meanwhile.
    pub(crate) fn open_slow_lines() -> Option<Self> {
        if once::tested_already() { None } else { Self::open_with(Share::half()) }
    }

    /// Like `open_slow_lines`, for a part that has another test that runs each time.
    pub(crate) fn open_slow_lines_if_changed() -> Option<Self> {
        Self::open_with(Share::half_if_changed()?)
    }

    /// Like `open_alone`, for a part that has another such test that runs each time.
    pub(crate) fn open_alone_if_changed() -> Option<Self> {
        Self::open_with(Share::all_if_changed()?)
    }

    /// Like `open_alone`, for a test of features that the kernel gives to root only.
    pub(crate) fn open_alone_as_root() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("only root may do this: tested as root only");
            return None;
        }
        Self::open_with(Share::all())
    }

    fn open_with(share: Share) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mark = format!("{MARK}={}-{}", std::process::id(), directory.path().display());
        let laboratory = Self { directory, mark, before: Traces::here(), share };
        let probe = laboratory.rate(&[
            "--component",
            "SEND",
            "--message",
            "1024",
            "--load",
            "idle",
            "--network",
            "?",
        ]);
        assert_eq!(
            probe.status.code(),
            Some(2),
            "an unknown network is refused: {}",
            text(&probe.stderr)
        );
        match unusable() {
            None => Some(laboratory),
            Some(reason) => {
                assert!(
                    std::env::var("BTU_LAB").as_deref() != Ok("required"),
                    "LAB REQUIRED but unusable: {reason}"
                );
                eprintln!("LAB SKIPPED: no network: {reason}");
                None
            }
        }
    }

    /// Fails the test on a quiet machine: see [`btu_conditions::judge`]. What the newest run says of its
    /// conditions counts, too.
    #[track_caller]
    pub(crate) fn out_of_bounds(&self, message: &str) {
        let newest = || {
            let shown = self.command(&["show", "--json"]).output().ok()?;
            let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).ok()?;
            machine::of_the_machine(&shown["result"])
        };
        btu_conditions::report(self.share.disturbance().or_else(newest), message);
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.directory.path().join("runs.sqlite")
    }

    /// `btu ARGUMENTS`, with this laboratory's database. `BTU_TEST_PROGRAM` is another build of
    /// btu, for comparisons with other tools.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let (name, value) = self.mark.split_once('=').expect("the mark has a name");
        let program = std::env::var_os("BTU_TEST_PROGRAM");
        let mut command = Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_btu").into()));
        command.args(arguments).env("BTU_DATA", self.directory.path()).env(name, value);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another program, which starts `btu` with this laboratory's database.
    pub(crate) fn through(&self, program: &str) -> Command {
        let (name, value) = self.mark.split_once('=').expect("the mark has a name");
        let mut command = Command::new(program);
        command.env("BTU_DATA", self.directory.path()).env(name, value);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `btu rate ARGUMENTS` to its end.
    pub(crate) fn rate(&self, arguments: &[&str]) -> Output {
        let all: Vec<&str> = ["rate"].iter().chain(arguments).copied().collect();
        self.command(&all).output().expect("btu runs")
    }

    /// Runs `btu ARGUMENTS --json` to its end and reads what it prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let all: Vec<&str> = arguments.iter().chain(&["--json"]).copied().collect();
        let output = self.command(&all).output().expect("btu runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// Begins `btu rate ARGUMENTS` and waits until `cells` cells are stored.
    pub(crate) fn begin(&self, arguments: &[&str], cells: u64) -> Child {
        let all: Vec<&str> = ["rate"].iter().chain(arguments).copied().collect();
        self.wait_for_cells(self.command(&all).spawn().expect("btu starts"), cells)
    }

    /// Waits until the newest run, which `child` measures, has so many cells.
    pub(crate) fn wait_for_cells(&self, mut child: Child, cells: u64) -> Child {
        let deadline = Instant::now() + LONG;
        while self.stored_cells() < cells {
            if let Some(status) = child.try_wait().expect("a child can be asked") {
                panic!(
                    "btu ended before {cells} cells were stored: {status}: {}",
                    text(&finish(child).stderr)
                );
            }
            assert!(Instant::now() < deadline, "no {cells} cells after {LONG:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        child
    }

    /// Cells in the newest run; zero while there is none.
    pub(crate) fn stored_cells(&self) -> u64 {
        if !self.database().exists() {
            return 0;
        }
        let output = self.command(&["runs", "--json"]).output().expect("btu runs");
        let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        runs.as_array().and_then(|runs| runs.last()?["cells"].as_u64()).unwrap_or(0)
    }

    /// Running processes of this test, with their command lines.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let numbers = fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers
            .filter(|number| self.is_ours(*number))
            .map(|number| (number, command_line(number)))
            .collect()
    }

    fn is_ours(&self, process: i32) -> bool {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == self.mark.as_bytes())
    }

    /// The process with `part` in its command line; waits for it a while, because workers start and
    /// end.
    pub(crate) fn process(&self, part: &str) -> i32 {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some((process, _)) =
                self.processes().into_iter().find(|(_, line)| line.contains(part))
            {
                return process;
            }
            assert!(Instant::now() < deadline, "no process `{part}` among {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills a process with `part` in its command line; another one, if that ended meanwhile.
    pub(crate) fn kill(&self, part: &str) {
        let deadline = Instant::now() + LONG;
        while let Err(error) = kill(Pid::from_raw(self.process(part)), Signal::SIGKILL) {
            let has_ended = error == Errno::ESRCH;
            assert!(has_ended && Instant::now() < deadline, "SIGKILL to `{part}`: {error}");
        }
    }

    /// Waits until nothing of the run is left, and lists the remains if something stays.
    #[track_caller]
    pub(crate) fn assert_down(&self) {
        let begun = Instant::now();
        loop {
            let (processes, traces) = (self.processes(), Traces::here().beyond(&self.before));
            if processes.is_empty() && traces.is_empty() {
                break;
            }
            assert!(begun.elapsed() < LONG, "left behind: {processes:?} {traces:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.assert_within(DOWN_WITHIN, begun);
    }

    /// What began then had to end within this time, by now.
    #[track_caller]
    pub(crate) fn assert_within(&self, limit: Duration, begun: Instant) {
        let took = begun.elapsed();
        judge!(self, took < limit, "it took {took:?} to end, more than {limit:?}");
    }

    /// Checks that the scratch directory is empty, and that there is no directory of sockets except
    /// a dead one that the next start removes.
    pub(crate) fn assert_swept(&self) {
        let scratch = self.directory.path().join("scratch");
        let left: Vec<_> =
            fs::read_dir(scratch).map(|entries| entries.flatten().collect()).unwrap_or_default();
        assert!(left.is_empty(), "scratch files are left: {left:?}");
    }
}

impl Drop for Laboratory {
    /// A failed test must not leave a running benchmark to the others.
    fn drop(&mut self) {
        for (process, _) in self.processes() {
            // It may have ended by itself meanwhile.
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }
}

/// The things that a run could leave on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Traces(BTreeSet<String>);

impl Traces {
    fn here() -> Self {
        let names = |directory: &str| {
            let entries = fs::read_dir(directory)
                .map_or_else(|_| Vec::new(), |entries| entries.flatten().collect());
            entries
                .into_iter()
                .map(|entry: fs::DirEntry| entry.path().display().to_string())
                .collect::<Vec<_>>()
        };
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounts =
            mounts.lines().filter_map(|line| Some(format!("mount {}", line.split(' ').nth(1)?)));
        Self(names("/sys/class/net").into_iter().chain(names("/run/netns")).chain(mounts).collect())
    }

    fn beyond(&self, before: &Self) -> Vec<String> {
        self.0.difference(&before.0).cloned().collect()
    }
}

/// Why no run is possible here; `None` if it is. One run answers that for all tests.
fn unusable() -> Option<&'static str> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    WHY.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let row = ["--component", "SEND", "--message", "65536", "--load", "idle"];
        let output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .args([&["rate", "--quiet", "--json"], &row[..]].concat())
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu runs");
        (output.status.code() == Some(3)).then(|| text(&output.stderr))
    })
    .as_deref()
}

/// Waits for a child's end.
pub(crate) fn finish(mut child: Child) -> Output {
    let deadline = Instant::now() + LONG;
    while child.try_wait().expect("a child can be asked").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child can be killed");
            panic!("btu did not end within {LONG:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output can be read")
}

fn command_line(process: i32) -> String {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    text(&bytes).replace('\0', " ").trim_end().to_owned()
}
