//! Control groups with a limit: what limits a program is then known. As root only.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, thread};

const MOUNTED: &str = "/sys/fs/cgroup";

/// A control group, removed with the value.
pub(crate) struct Group(PathBuf);

impl Group {
    /// With this value in a file: that of a controller of version 1, or else of version 2. `None` where none can be made.
    pub(crate) fn limited(
        (controller, first): (&str, &str),
        second: &str,
        [of_first, of_second]: [&str; 2],
    ) -> Option<Self> {
        let name = format!("btu-test-{controller}-{}", std::process::id());
        let hierarchy = Path::new(MOUNTED).join(controller);
        let (hierarchy, file, value) = if hierarchy.is_dir() {
            (hierarchy, first, of_first)
        } else {
            (PathBuf::from(MOUNTED), second, of_second)
        };
        let made = fs::create_dir(hierarchy.join(&name)).map(|()| Self(hierarchy.join(name)));
        let limited = made.and_then(|made| fs::write(made.0.join(file), value).map(|()| made));
        limited.map_err(|error| eprintln!("no group limited by {file} here: {error}")).ok()
    }

    /// Takes a process that has just started: it takes longer to start the first of its own.
    pub(crate) fn take(&self, process: i32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).expect("the group takes it");
    }

    /// Runs a program and all that it starts in the group, to its end.
    pub(crate) fn run(&self, mut command: Command) -> Output {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        self.take(child.id().cast_signed());
        child.wait_with_output().expect("the program ends")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be in it.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
