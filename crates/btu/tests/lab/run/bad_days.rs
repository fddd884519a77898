//! Programs that misbehave: each gives one clear sentence, and leaves nothing behind.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{experiment, result};
use crate::common::Laboratory;
use crate::support::text;

/// The behaviour of each program, and its message; `None` if its cell counts.
const PROGRAMS: [(&str, &str); 7] = [
    ("exit 0", ""),
    // The program forks a process with a session of its own, and does not wait for it.
    ("setsid sleep 1000 & exit 0", ""),
    ("trap '' TERM INT HUP; while :; do sleep 1; done", "had not ended after"),
    ("head -c 200000000 /dev/zero > file", "its directory was full: give it more with `room`"),
    (
        "head -c 100000000 /dev/zero; echo the end >&2; exit 3",
        "ended with exit code 3; it said last: the end",
    ),
    ("exec < /dev/tty", "programs have no terminal here"),
    ("kill -SEGV $$", "was killed by signal 11"),
];

#[test]
fn each_bad_program_is_told_and_leaves_nothing() {
    let Some(laboratory) = Laboratory::open() else { return };
    let levels: Vec<String> = PROGRAMS.iter().map(|(program, _)| format!("{program:?}")).collect();
    let file = format!(
        "network = \"veth\"\n[measure.bad]\non = \"test\"\nrun = [\"sh\", \"-c\", \"{{what}}\"]\nroom = \"10 MB\"\ndeadline = \"4 s\"\n\
         [factors]\nwhat = [{}]\n[order]\nblocks = 1\n",
        levels.join(", ")
    );
    let output = experiment(&laboratory, &file, &[]);
    // A row has no repetition that counts.
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let cells = laboratory.json(&["show", "--cells"]);
    for (place, (program, told)) in PROGRAMS.iter().enumerate() {
        let cells = cells.as_array().expect("cells").iter();
        let cell = cells
            .clone()
            .find(|cell| cell["cell"]["levels"] == serde_json::json!([place]))
            .expect("a cell");
        let faults = cell["faults"].to_string();
        if told.is_empty() {
            assert_eq!(faults, "[]", "{program}");
        } else {
            assert!(faults.contains(told), "{program}: {faults}");
        }
    }
    let warnings = result(&laboratory)["warnings"].to_string();
    assert!(warnings.contains("left 1 process behind when it ended"), "{warnings}");
}

fn told(laboratory: &Laboratory, service: &str) -> String {
    let file = format!(
        "network = \"veth\"\n[service.server]\non = \"active\"\n{service}\ndeadline = \"2 s\"\n[measure.client]\non = \"test\"\n\
         run = [\"true\"]\n[order]\nblocks = 1\n"
    );
    let began = Instant::now();
    let output = experiment(laboratory, &file, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    laboratory.assert_within(Duration::from_secs(30), began);
    let cells = laboratory.json(&["show", "--cells"]);
    let first =
        cells.as_array().and_then(|cells| cells.first()).map(|cell| cell["faults"][0].clone());
    first.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn each_bad_service_is_told() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let early = told(&laboratory, "run = [\"sh\", \"-c\", \"echo no configuration >&2; exit 2\"]");
    assert_eq!(
        early,
        "server on active ended with exit code 2 while it was needed; it said last: no configuration"
    );
    let never = told(&laboratory, "run = [\"sleep\", \"1000\"]\nready = { port = 80 }");
    assert_eq!(never, "server on active was not ready: it does not listen on port 80");
    let perl = "run = [\"perl\", \"-MIO::Socket::INET\", \"-e\", \"my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 5000, \
                Listen => 5); sleep 1000\"]";
    let wrong = told(&laboratory, perl);
    assert_eq!(
        wrong,
        "server on active was not ready: it listens on 127.0.0.1:5000, where other stations do not reach it: have it listen on 0.0.0.0"
    );
}

#[test]
fn a_program_that_is_not_there_is_refused_before_anything_starts() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let output =
        laboratory.command(&["run", "-q", "--", "no-such-program"]).output().expect("btu starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "btu: no-such-program: there is no program `no-such-program` on this machine: check its name and $PATH\n"
    );
}
