//! Drawn networks raised by the real program, in a laboratory of one test's own.

pub(crate) mod iperf3;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::once;
use crate::share::Share;
use crate::support::{LONG, text};

/// The time within which all parts of a network end on a quiet machine, after any kind of end.
pub(crate) const BAD_DAY: Duration = Duration::from_secs(5);

/// Marks every process of a test through its environment.
const MARK: &str = "BTU_NET_DRILL";

/// The smallest network, to see whether there can be any.
pub(crate) const LINE: &str = r#"
name = "line"
[stations.client]
[stations.server]
[links.trunk]
between = ["client", "server"]
rate = "10 Mb/s"
"#;

/// Files, a directory of networks, and a mark of one test's own.
pub(crate) struct Lab {
    pub(crate) home: tempfile::TempDir,
    before: BTreeSet<String>,
    share: Share,
}

impl Lab {
    /// `None` if this system allows no network: it prints that loudly, and fails if a lab is
    /// required.
    pub(crate) fn open() -> Option<Self> {
        Self::open_with(Share::one())
    }

    /// Like `open`, for a long test with a result that does not depend on root.
    pub(crate) fn open_once() -> Option<Self> {
        if once::tested_already() { None } else { Self::open() }
    }

    /// Like `open_once`, for a part that other tests look at each time: `None` if scripts/test reports
    /// that the part has not changed.
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

    fn open_with(share: Share) -> Option<Self> {
        let home = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let lab = Self { home, before: traces(), share };
        let Some(why) = lab.unusable() else { return Some(lab) };
        eprintln!("LAB SKIPPED: no network: {why}");
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "a lab is required");
        None
    }

    /// Why no network is possible here; `None` if it is. One network answers that for all tests.
    fn unusable(&self) -> Option<&'static str> {
        static WHY: OnceLock<Option<String>> = OnceLock::new();
        WHY.get_or_init(|| {
            let output = self.run(LINE, &["--", "true"]);
            let is_refused = output.status.code() == Some(3);
            assert!(output.status.success() || is_refused, "{}", text(&output.stderr));
            is_refused.then(|| text(&output.stderr))
        })
        .as_deref()
    }

    /// Fails the test on a quiet machine: see [`btu_conditions::judge`].
    #[track_caller]
    pub(crate) fn out_of_bounds(&self, message: &str) {
        self.share.out_of_bounds(message);
    }

    pub(crate) fn btu(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command
            .args(arguments)
            .env(MARK, self.home.path())
            .env("XDG_RUNTIME_DIR", self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.btu(arguments).output().expect("btu runs")
    }

    /// `btu net run` with a file of this text.
    pub(crate) fn run(&self, file: &str, arguments: &[&str]) -> Output {
        let file = self.file(file);
        self.output(&[&["net", "run", file.to_str().unwrap()], arguments].concat())
    }

    pub(crate) fn file(&self, text: &str) -> PathBuf {
        let path = self.home.path().join("network.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// A network that is up.
    pub(crate) fn up(&self, file: &str) {
        self.up_with(file, &[]);
    }

    pub(crate) fn up_with(&self, file: &str, more: &[&str]) {
        let file = self.file(file);
        let output = self.output(&[&["net", "up", file.to_str().unwrap()], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    pub(crate) fn exec(&self, station: &str, command: &[&str]) -> Command {
        self.btu(&[&["net", "exec", station, "--"], command].concat())
    }

    pub(crate) fn status(&self) -> serde_json::Value {
        let output = self.output(&["net", "status", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// This test's processes, with their command lines.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.home.path().display());
        let numbers = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_ours = |number: &i32| {
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let line = |number| {
            text(&fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default())
                .replace('\0', " ")
        };
        numbers.filter(is_ours).map(|number| (number, line(number))).collect()
    }

    /// The process of btu in this role.
    pub(crate) fn part(&self, role: &str) -> i32 {
        self.process(role, |line| line.contains(role))
    }

    /// Waits until this command runs inside.
    pub(crate) fn await_command(&self, command: &str) {
        self.process(command, |line| line.trim_end() == command);
    }

    pub(crate) fn process(&self, what: &str, is_it: impl Fn(&str) -> bool) -> i32 {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some((number, _)) = self.processes().into_iter().find(|(_, line)| is_it(line)) {
                return number;
            }
            assert!(Instant::now() < deadline, "no `{what}` among {:?}", self.processes());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until nothing is left: processes, interfaces, mounts; and, after good ends, files.
    #[track_caller]
    pub(crate) fn assert_gone(&self) -> Duration {
        let start = Instant::now();
        loop {
            let processes = self.processes();
            let traces: Vec<String> = traces().difference(&self.before).cloned().collect();
            if processes.is_empty() && traces.is_empty() {
                break;
            }
            assert!(start.elapsed() < LONG, "left behind: {processes:?} {traces:?}");
            thread::sleep(Duration::from_millis(10));
        }
        let took = start.elapsed();
        judge!(self, took < BAD_DAY, "all was gone after {took:?}, not within {BAD_DAY:?}");
        took
    }

    /// The directories of networks that users start, and of those of runs, are empty.
    pub(crate) fn assert_no_files(&self) {
        let in_part = |part| fs::read_dir(self.home.path().join("btu").join(part));
        let parts: Vec<_> =
            ["net", "run"].into_iter().filter_map(|part| in_part(part).ok()).collect();
        assert!(!parts.is_empty(), "there is no directory of networks");
        let left: Vec<_> = parts.into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "files are left: {left:?}");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A failed test must not leave its network behind; after a passed test there are no
        // processes.
        for (number, _) in self.processes() {
            let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        }
    }
}

/// The things that a network could leave on the machine.
fn traces() -> BTreeSet<String> {
    let names = |directory: &str| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>()
    };
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    // Other tests of this machine make interfaces of their own; those of a network would have these
    // names.
    let interfaces = names("/sys/class/net").into_iter().filter(|path| path.contains("/p-"));
    let mounts = mounts.lines().filter(|line| line.contains("/etc/hosts")).map(str::to_owned);
    interfaces.chain(names("/run/netns")).chain(mounts).collect()
}

/// Whether a foreign program is available; prints loudly if not.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).exists());
    if !found {
        eprintln!("LAB SKIPPED: no {program} here");
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "a lab is required");
    }
    found
}

pub(crate) fn finish(child: Child) -> Output {
    child.wait_with_output().expect("its output can be read")
}
