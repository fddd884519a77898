//! The terminal view of `btu model` on a terminal of its own: it shows, follows keys, and gives the
//! terminal back.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::support::{send, text};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::Signal;
use nix::sys::termios::{Termios, tcgetattr};

/// Long enough for a busy machine; nothing here waits for time to pass.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A terminal with `btu model WORDS --ui` on it.
struct Desk {
    child: Child,
    keys: File,
    /// The program's end, to look at the terminal's modes.
    far: File,
    before: Termios,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Desk {
    fn open(words: &[&str]) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).expect("a pseudo-terminal");
        let (near, far) = (File::from(terminal.master), File::from(terminal.slave));
        let before = tcgetattr(&far).expect("modes");
        let end = || Stdio::from(far.try_clone().expect("another descriptor"));
        // A session of its own, so that no other terminal gives its size. It becomes btu: the
        // process stays the same.
        let child = Command::new("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_btu"), "model"])
            .args(words)
            .arg("--ui")
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid of util-linux starts btu");
        let output = listen(near.try_clone().expect("another descriptor"));
        Self { child, keys: near, far, before, output, screen: vt100::Parser::new(24, 80, 0) }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    /// Waits until the screen shows `part`.
    fn shows(&mut self, part: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.screen.screen().contents().contains(part) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(error) => {
                    panic!("`{part}` is not shown ({error}):\n{}", self.screen.screen().contents())
                }
            }
        }
    }

    /// Waits for the end, and checks that the terminal is restored.
    fn ends(mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                break status;
            }
            assert!(Instant::now() < deadline, "btu goes on:\n{}", self.screen.screen().contents());
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.screen.process(&bytes);
        }
        assert!(!self.screen.screen().alternate_screen(), "the second screen is still shown");
        assert!(!self.screen.screen().hide_cursor(), "the cursor is still hidden");
        assert_eq!(tcgetattr(&self.far).expect("modes"), self.before, "the modes are others");
        status
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // A test that failed must not leave the view open.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes on the program's output.
fn listen(mut near: File) -> Receiver<Vec<u8>> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 65_536];
        // The read ends with EIO when no process has the other end open any more.
        while let Ok(length @ 1..) = near.read(&mut bytes) {
            if tell.send(bytes[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    told
}

#[test]
fn values_are_turned_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faster.toml");
    let mut desk = Desk::open(&["citi-1989-light", "--transfer", "100 MB"]);
    desk.shows("aggregate 73.06 s");
    desk.press("/ether.rate\r");
    desk.shows("with `ether.rate`");
    desk.press("\x1b[C");
    desk.shows("20 Mb/s");
    desk.shows("1 changed, not saved");
    desk.press("e\x1520 MB/s\r");
    desk.shows("`MB/s` is not a unit here");
    // Pressed at once: no key is lost after a value that is still being checked.
    desk.press("\x15100 Mb/s\r");
    desk.press(&format!("s\x15{}\r", path.display()));
    desk.shows("1 changed, saved");
    desk.press("q");
    assert_eq!(desk.ends().code(), Some(0));
    let saved = std::fs::read_to_string(&path).unwrap();
    assert!(saved.contains("rate = \"100 Mb/s\""), "{saved}");
}

#[test]
fn what_was_turned_is_told_at_the_end() {
    let mut desk = Desk::open(&["citi-1989-light"]);
    desk.shows("Mean delay of all frames");
    desk.press("l");
    desk.shows("1 changed, not saved");
    desk.press("q");
    desk.shows("--set traffic.file.packets_per_s=100 --ui");
    assert_eq!(desk.ends().code(), Some(0));
}

#[test]
fn the_terminal_is_given_back_whatever_ends_it() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 143), (Signal::SIGINT, 130)] {
        let mut desk = Desk::open(&["ethernet-shared-10"]);
        desk.shows("Mean delay of all frames");
        send(desk.child.id().cast_signed(), signal);
        assert_eq!(desk.ends().code(), Some(code), "{signal}");
    }
    let mut desk = Desk::open(&["ethernet-shared-10"]);
    desk.shows("Mean delay of all frames");
    desk.press("\x03");
    assert_eq!(desk.ends().code(), Some(130), "Ctrl-C");
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    for (words, part) in [
        (["model", "citi-1989-light", "--ui"].as_slice(), "leave out --ui"),
        (&["model", "citi-1989-light", "--ui", "--json"], "leave out one of them"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        let output = command.args(words).stdin(Stdio::null()).output().expect("btu runs");
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        assert!(told.contains(part) && told.lines().count() == 1, "{told}");
        assert!(output.stdout.is_empty());
    }
}
