//! `--virtual`: what a network does to a program, with no machine in the result. No bound here is of a
//! machine's mood; without a kernel of virtual time (`scripts/virtual-kernel`) there is nothing to run.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{send, text};

/// A laboratory with a private directory for what virtual time writes.
struct Virtual {
    laboratory: Laboratory,
}

impl Virtual {
    /// `None`, with a loud message, without the kernel.
    fn open() -> Option<Self> {
        // Each user has a cache of his own, with the kernel or without.
        let laboratory = Laboratory::open()?;
        let runtime = laboratory.directory.path().join("r");
        fs::DirBuilder::new().mode(0o700).create(&runtime).expect("a directory");
        let laboratory = Self { laboratory };
        let tried = laboratory.run(&["net", "run", "-q", "1 Mb/s", "--virtual", "--", "true"]);
        if tried.status.code() == Some(3) && text(&tried.stderr).contains("scripts/virtual-kernel")
        {
            eprintln!("LAB SKIPPED: {}", text(&tried.stderr).trim());
            return None;
        }
        assert!(tried.status.success(), "{}", text(&tried.stderr));
        Some(laboratory)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.laboratory.command(arguments);
        command.env("XDG_RUNTIME_DIR", self.laboratory.directory.path().join("r"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("btu runs")
    }

    /// What the command prints, which succeeds.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The newest run's result, without what is of this machine and of its day.
    fn result(&self) -> Value {
        let shown = self.says(&["show", "--json"]);
        let mut shown: Value = serde_json::from_str(&shown).expect("--json prints JSON");
        for key in ["id", "uuid", "created", "finished"] {
            shown["run"].as_object_mut().expect("a run").remove(key);
        }
        let events = shown["run"]["events"].as_array_mut().expect("events");
        for event in events {
            event["at"] = Value::Null;
        }
        shown
    }

    /// Neither a kernel nor a file of one is left.
    fn assert_nothing_left(&self) {
        let runtime = self.laboratory.directory.path().join("r");
        let left = fs::read_dir(runtime.join("btu/virtual")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "directories of {}", runtime.display());
        let named = runtime.display().to_string();
        let kernels = fs::read_dir("/proc").expect("/proc").flatten().filter(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            text(&line).contains(&format!("uml_dir={named}"))
        });
        assert_eq!(kernels.count(), 0, "kernels of {named}");
    }
}

/// The numbers of `rtt min/avg/max/mdev = 20.2/20.2/20.2/0.0 ms`, in milliseconds.
fn round_trips(said: &str) -> Vec<f64> {
    let line = said.lines().find(|line| line.starts_with("rtt ")).expect("ping sums up");
    let numbers = line.split(" = ").nth(1).expect("numbers").trim_end_matches(" ms");
    numbers.split('/').map(|number| number.parse().expect("a number")).collect()
}

/// The last bit of a request of 98 octets, with the 12 of preamble and check sequence, is there after 88 us
/// at 10 Mb/s; each frame waits for some readings of the emulator's clock, 256 ns each.
#[test]
fn a_round_trip_is_that_of_arithmetic_and_the_same_to_the_last_digit() {
    let Some(place) = Virtual::open() else { return };
    let ping = ["net", "run", "10 Mb/s", "--delay", "10 ms", "--virtual", "--seed", "3", "--"];
    let ping = [&ping[..], &["ping", "-c", "5", "-i", "0.2", "passive"]].concat();
    let said = place.says(&ping);
    let [least, .., most, deviation] = round_trips(&said)[..] else { panic!("{said}") };
    let expected = 20.0 + 2.0 * (98.0 + 12.0) * 8.0 / 10_000.0;
    for measured in [least, most] {
        assert!(
            (0.0..0.006).contains(&(measured - expected)),
            "{measured} ms, by arithmetic {expected}"
        );
    }
    assert!(deviation <= 0.001, "{said}");
    assert_eq!(place.says(&ping), said);
    place.assert_nothing_left();
}

/// A full line carries 1448 of 1538 octets of each frame. iperf3's receiver counts in each second what was
/// read by then, up to a frame more or less; what waits for a frame that was sent again counts a second later.
#[test]
fn a_full_line_carries_what_arithmetic_says() {
    let Some(place) = Virtual::open() else { return };
    let btu = env!("CARGO_BIN_EXE_btu");
    let script = format!(
        "{btu} net exec passive -- iperf3 -s -1 -J & sleep 0.5; iperf3 -c passive -l 1448 -t 7 >&2; wait"
    );
    let line = ["net", "run", "-q", "10 Mb/s", "--delay", "10 ms", "-C", "cubic", "--virtual"];
    let said = place.says(&[&line[..], &["--seed", "1", "--", "sh", "-c", &script]].concat());
    let said: Value = serde_json::from_str(&said).expect("iperf3 prints JSON");
    let seconds = said["intervals"].as_array().expect("intervals");
    let sum = |key: &str| {
        let of = |second: &Value| second["sum"][key].as_f64().expect("a number");
        seconds[2..6].iter().map(of).sum::<f64>()
    };
    let ratio = sum("bytes") * 8.0 / sum("seconds") / (1e7 * 1448.0 / 1538.0);
    assert!((ratio - 1.0).abs() < 0.001, "{ratio} of what the line carries");
    place.assert_nothing_left();
}

#[test]
fn a_run_is_the_same_again_except_for_its_name_and_day() {
    let Some(place) = Virtual::open() else { return };
    let speed = |seed: &'static str| {
        let line = ["speed", "--network", "home-fq-codel", "--from", "laptop", "--to", "server"];
        let rest = ["-C", "cubic", "-t", "1 s", "-q", "--virtual", "--seed", seed];
        (place.says(&[&line[..], &rest[..]].concat()), place.result())
    };
    let (screen, first) = speed("5");
    assert!(screen.contains("virtual time"), "{screen}");
    assert_eq!(speed("5").1, first);
    assert_ne!(speed("6").1["result"], first["result"], "another seed is another network");
    place.assert_nothing_left();
}

#[test]
fn streams_and_exit_codes_are_the_command_s() {
    let Some(place) = Virtual::open() else { return };
    let line = ["net", "run", "-q", "10 Mb/s", "--virtual", "--", "sh", "-c"];
    let mut child = place
        .command(&[&line[..], &["cat; echo error >&2; pwd; exit 3"]].concat())
        .current_dir(place.laboratory.directory.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("btu starts");
    let given = "A line that comes back.\n".repeat(2000);
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(given.as_bytes()).expect("it reads all");
    drop(input);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(3));
    let expected = format!("{given}{}\n", place.laboratory.directory.path().display());
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "error\n");
    let killed = place.run(&[&line[..], &["kill -9 $$"]].concat());
    let signal = std::os::unix::process::ExitStatusExt::signal(&killed.status);
    assert_eq!(signal, Some(Signal::SIGKILL as i32), "{}", text(&killed.stderr));
    place.assert_nothing_left();
}

/// The command handles the signal; one that does not end by it ends by the second.
#[test]
fn signals_reach_the_command_and_the_second_one_ends_it() {
    let Some(place) = Virtual::open() else { return };
    let line = ["net", "run", "-q", "10 Mb/s", "--virtual", "--", "sh", "-c"];
    for (script, times, code) in [
        ("trap 'exit 7' TERM; touch begun; while sleep 1; do :; done", 1, Some(7)),
        ("trap '' TERM; touch begun; yes >/dev/null", 2, None),
    ] {
        let mut command = place.command(&[&line[..], &[script]].concat());
        let begun = place.laboratory.directory.path().join("begun");
        let _ = fs::remove_file(&begun);
        let child = command.current_dir(place.laboratory.directory.path()).spawn();
        let child = child.expect("btu starts");
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..times {
            send(child.id().cast_signed(), Signal::SIGTERM);
            std::thread::sleep(Duration::from_millis(300));
        }
        let output = finish(child);
        assert_eq!(output.status.code(), code, "{script}: {}", text(&output.stderr));
        place.assert_nothing_left();
    }
}

/// `kill -9` of btu leaves no kernel behind.
#[test]
fn the_kernel_ends_with_btu() {
    let Some(place) = Virtual::open() else { return };
    let begun = place.laboratory.directory.path().join("begun");
    let line = ["net", "run", "-q", "10 Mb/s", "--virtual", "--", "sh", "-c"];
    let mut command = place.command(&[&line[..], &["touch begun; yes >/dev/null"]].concat());
    let child = command.current_dir(place.laboratory.directory.path()).spawn().expect("btu starts");
    while !begun.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    send(child.id().cast_signed(), Signal::SIGKILL);
    finish(child);
    // Its directory goes with the next start, as every one of btu's that was killed.
    place.says(&["net", "run", "-q", "10 Mb/s", "--virtual", "--", "true"]);
    place.assert_nothing_left();
}

#[test]
fn what_has_no_meaning_in_virtual_time_is_refused() {
    let laboratory = Laboratory::open_once();
    let Some(laboratory) = laboratory else { return };
    for (arguments, code, said) in [
        (&["speed", "--virtual", "--ssh", "nosuch.invalid"][..], 2, "their own time"),
        (&["speed", "--virtual", "--resume", "r1"], 2, "--resume"),
        (&["speed", "--virtual", "--stamp", "192.0.2.1"], 2, "cannot be used with"),
        (&["rate", "--virtual"], 2, "btu speed"),
    ] {
        let output = laboratory.command(arguments).output().expect("btu runs");
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
    let mut command = laboratory.command(&["net", "run", "1 Mb/s", "--virtual", "--", "true"]);
    let output = command.env("BTU_KERNEL", "/nonexistent/kernel").output().expect("btu runs");
    assert_eq!(output.status.code(), Some(3));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("/nonexistent/kernel") && errors.contains("scripts/virtual-kernel"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}
