//! Impossible requests are refused before anything starts, in one clear line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{path, text};

/// Runs `btu` and returns its exit code and its one line.
fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    refusal_with(arguments, &path(directory.path(), ""))
}

fn refusal_with(arguments: &[&str], data: &str) -> (Option<i32>, String) {
    refusal_of(Command::new(env!("CARGO_BIN_EXE_btu")).args(arguments), data)
}

fn refusal_of(command: &mut Command, data: &str) -> (Option<i32>, String) {
    let output = command.env("BTU_DATA", data).stdin(Stdio::null()).output().expect("btu runs");
    assert_eq!(text(&output.stdout), "", "nothing is printed as a result");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn an_unknown_network() {
    let (code, line) = refusal(&["rate", "--network", "wifi"]);
    assert_eq!(code, Some(2));
    assert!(line.contains("no library network `wifi`") && line.contains("10 Mb/s"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

/// One mistake is one line, and each of several files has its own.
#[test]
fn a_network_file_that_is_not_there() {
    let (code, line) = refusal(&["net", "check", "nosuch.toml"]);
    assert_eq!((code, line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.starts_with("btu: reading nosuch.toml: "), "{line}");
    let (code, lines) = refusal(&["net", "check", "nosuch.toml", "wifi"]);
    assert_eq!((code, lines.lines().count()), (Some(2), 3), "{lines}");
    assert!(lines.lines().all(|line| line.starts_with("btu: ")), "{lines}");
}

/// A wrong unit on the command line gets the answer that it gets in a network file.
#[test]
fn wrong_units_are_told_the_right_ones() {
    for command in ["rate", "pipe", "app", "copy", "lan"] {
        for (wrong, said) in [
            ("10 MB/s", "`MB/s` is not a unit here"),
            ("10mbps", "`mbps`"),
            ("10Mbit", "`Mbit`"),
            ("10", "unit is missing"),
        ] {
            let (code, line) = refusal(&[command, "--network", wrong]);
            assert_eq!((code, line.lines().count()), (Some(2), 1), "{command} {wrong}: {line}");
            assert!(
                line.contains(said) && line.contains("kb/s, Mb/s, Gb/s"),
                "{command} {wrong}: {line}"
            );
        }
    }
    for command in ["sim", "model"] {
        let (code, line) =
            refusal(&[command, "ethernet-shared-10", "--set", "traffic.everyone.load=60"]);
        assert!(code == Some(2) && line.contains("write `60 %`"), "{line}");
        let (code, line) =
            refusal(&[command, "ethernet-shared-10", "--set", "segments.ether.rate=10 MB/s"]);
        assert!(code == Some(2) && line.contains("`MB/s` is not a unit here"), "{line}");
    }
}

#[test]
fn impossible_rates_and_delays() {
    for (arguments, word) in [
        (["rate", "--network", "0 b/s"].as_slice(), "cannot be emulated"),
        (&["rate", "--network", "400 Gb/s"], "cannot be emulated"),
        (&["rate", "--network", "10 Mb/s", "--delay", "1 h"], "too long"),
        (&["rate", "--delay", "1 ms"], "--network"),
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{line}");
        assert!(line.contains(word), "{line}");
    }
}

/// No run is begun whose time is over before one repetition of every row ends.
#[test]
fn a_time_in_which_no_repetition_ends() {
    let run = ["run", "--network", "home-bloated", "--load", "upload", "--time"];
    let (code, line) = refusal(&[&run[..], &["1 s", "--", "true"]].concat());
    assert_eq!((code, line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.contains("takes 2.6 s or more") && line.contains("give --time '10 s'"), "{line}");
}

/// A value below zero is refused by what its option takes, not as an option that does not exist.
#[test]
fn negative_values() {
    for (arguments, said) in [
        (["speed", "--network", "veth", "-t", "-3s"].as_slice(), "length of time: it cannot be"),
        (&["speed", "--phase-time", "-3s", "--network", "veth"], "length of time: it cannot be"),
        (&["rate", "--network", "10 Mb/s", "--delay", "-2 ms"], "length of time: it cannot be"),
        (&["rate", "--volume", "-5 MB"], "size: it cannot be"),
        (&["pipe", "--sizes", "-5"], "not a message size"),
        (&["speed", "--udp", "-3 Mb/s", "--network", "veth"], "bit rate: it cannot be"),
        (&["speed", "-b", "-3 Mb/s", "--network", "veth"], "bit rate: it cannot be"),
        (&["sim", "ethernet-shared-10", "--duration", "-3s"], "length of time: it cannot be"),
        (&["sim", "ethernet-shared-10", "--duration", "-3s"], "length of time: it cannot be"),
        (&["run", "x.toml", "--time", "-3s"], "length of time: it cannot be"),
        (&["rate", "--time", "0s"], "nothing can be measured: write for example '30 s'"),
        (&["speed", "--network", "veth", "-t", "10"], "write '10 s' for seconds"),
        (&["pipe", "--time", "10"], "write '10 s' for seconds"),
        (&["run", "--time", "0s", "--", "true"], "nothing can be measured"),
        (&["rate", "-C", "reno,bbr"], "`btu run -C reno,bbr -- COMMAND` compares several"),
        (&["run", "--factor", "threads=1", "--", "true"], "compares nothing: write two values"),
        (&["run", "--factor", "=1,2", "--", "true"], "write KEY=VALUE,VALUE"),
        (&["run", "--factor", "a=1,2", "--factor", "a=3,4", "--", "true"], "a is varied twice"),
        (
            &["run", "--network", "veth", "--factor", "network=veth,10 Mb/s", "--", "true"],
            "leave --network out",
        ),
        (&["pipe", "--network", "-3 Mb/s"], "bit rate: it cannot be"),
    ] {
        let (code, said_here) = refusal(arguments);
        assert_eq!(code, Some(2), "{said_here}");
        assert!(said_here.contains(said), "{arguments:?}: {said_here}");
        assert!(!said_here.contains("unexpected argument"), "{arguments:?}: {said_here}");
    }
}

/// What does not end in the requested time by its closed form is not begun.
#[test]
fn times_in_which_nothing_ends() {
    let picture = ["app", "--network", "satellite", "--protocol", "stop-and-wait", "--time", "5 s"];
    let file = ["copy", "--network", "1 Mb/s", "--program", "bare", "--size", "10 MB"];
    for (arguments, cell) in [
        (&picture[..], "stop-and-wait tcp takes"),
        (&[&file[..], &["--time", "20 s"]].concat(), "bare"),
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{line}");
        let is_named =
            line.contains("is too short for anything to end: even") && line.contains(cell);
        assert!(is_named && line.contains("; give --time '"), "{line}");
    }
}

#[test]
fn processors_and_congestion_control_that_are_not_there() {
    for (arguments, word) in [
        (["rate", "--processors", "test=0"].as_slice(), "write test=0-3,rest=4-7"),
        (&["rate", "--processors", "test=0,rest=0"], "processor 0 stands on both sides"),
        (
            &["rate", "--processors", "test=8000,rest=0"],
            "processor 8000 is not among those that may be used",
        ),
        (
            &["rate", "--processors", "shared", "--protocol-work", "receiver"],
            "--protocol-work receiver needs processors that are divided",
        ),
        (&["rate", "-C", "no-such"], "this kernel has no no-such; it has "),
        (&["run", "-C", "reno,no-such", "--", "true"], "this kernel has no no-such; it has "),
        (&["rate", "-C", "No"], "names no congestion control"),
        (&["app", "-C", "no-such"], "this kernel has no no-such; it has "),
        (&["pipe", "-C", "no-such"], "this kernel has no no-such; it has "),
        (&["pipe", "--local", "-C", "reno"], "applies to a network that btu starts for the run"),
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{line}");
        assert!(line.contains(word), "{line}");
    }
}

/// Only root may ask the kernel for a share of a processor; and a share is a thread's.
#[test]
fn shares_of_a_processor_that_the_kernel_does_not_give() {
    let quota = ["app", "--slow-by", "quota", "--display-speed", "50%"];
    let (code, line) = refusal(&[&quota[..], &["--transport", "in-process"]].concat());
    if code == Some(3) {
        assert!(line.contains("SCHED_DEADLINE") && line.contains("--slow-by dilation"), "{line}");
    } else {
        assert_eq!(code, Some(2), "{line}");
        assert!(line.contains("both ends are one thread"), "{line}");
    }
    let (code, line) = refusal(&["app", "--slow-by", "magic"]);
    assert_eq!(code, Some(2), "{line}");
}

/// What btu does not set by itself is refused with the reason, and with what to use instead.
#[test]
fn ways_of_slowing_that_are_the_user_s() {
    for way in ["cpufreq", "cpu.max"] {
        let (code, line) = refusal(&["app", "--display-speed", "50%", "--slow-by", way]);
        assert_eq!((code, line.lines().count()), (Some(3), 1), "{line}");
        for said in [way, "--slow-by quota", "--slow-by dilation"] {
            assert!(line.contains(said), "{line}");
        }
    }
}

/// A program of the system that is not there is named; what is there comes from a directory of links.
#[test]
fn programs_of_the_system_that_are_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("there");
    fs::create_dir(&there).unwrap();
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
        command.arg("app").args(arguments).env("PATH", &there);
        refusal_of(&mut command, &path(directory.path(), "data"))
    };
    for (arguments, word) in [
        (["--x11"].as_slice(), "--transport x11 needs `Xvfb`"),
        (&["--transport", "tcp,x11perf"], "--transport x11perf needs `Xvfb`"),
        (&["--transport", "ssh"], "--transport ssh needs `ssh`"),
    ] {
        let (code, line) = refused(arguments);
        assert_eq!((code, line.lines().count()), (Some(3), 1), "{line}");
        assert!(line.contains(word) && line.contains("install it"), "{line}");
    }
    for program in ["Xvfb", "xkbcomp", "sh", "unshare", "mount", "setpriv"] {
        std::os::unix::fs::symlink("/bin/true", there.join(program)).unwrap();
    }
    let (code, line) = refused(&["--x11"]);
    assert_eq!(code, Some(3), "{line}");
    assert!(line.contains("needs `x11perf`") && line.contains("x11-apps"), "{line}");
}

/// The display is the system's X server, at a station of this machine.
#[test]
fn what_an_x_server_does_not_do() {
    let hosts = ["--ssh", "alpha,beta"];
    for (arguments, word) in [
        (["--x11", "--display-time", "1 ms"].as_slice(), "--display-time: the display of"),
        (&["--x11", "--display-speed", "100%,50%"], "--display-speed: the display of"),
        (&["--transport", "tcp,x11", "--display-nice", "5"], "--display-nice: the display of"),
        (
            &[&["--x11"], &hosts[..]].concat(),
            "--transport x11 is for networks that btu starts here",
        ),
        (&[&["--transport", "tcp,ssh"], &hosts[..]].concat(), "--transport ssh is for networks"),
    ] {
        let (code, line) = refusal(&[&["app"], arguments].concat());
        assert_eq!((code, line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(word), "{line}");
    }
}

#[test]
fn absurd_sizes() {
    for (arguments, word) in [
        (["rate", "--volume", "0 B"].as_slice(), "--volume"),
        (&["rate", "--volume", "9000000 GB"], "--volume"),
        (&["rate", "--window", "1 B"], "--window"),
        (&["rate", "--volume", "4"], "unit is missing"),
        (&["rate", "--message", "77"], "100, 1024, 1250, 4096, 65536"),
        (&["rate", "--loss", "200%"], "not a share"),
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{line}");
        assert!(line.contains(word), "{line}");
    }
}

/// Options of iperf3's own server.
#[test]
fn the_words_of_iperf3_are_answered_with_a_tip() {
    for (arguments, word) in [
        (["iperf3", "-s", "-p", "5202"].as_slice(), "'--listen ADDR:PORT'"),
        (&["iperf3", "--server", "--port", "5202"], "'--listen ADDR:PORT'"),
        (&["iperf3", "-s", "-D"], "runs it in the background"),
        (&["iperf3", "-s", "--daemon"], "runs it in the background"),
    ] {
        let (code, line) = refusal(arguments);
        assert!(code == Some(2) && line.contains(word), "{line}");
    }
}

#[test]
fn a_scratch_directory_without_room() {
    let (code, line) = refusal(&["rate", "--scratch-limit", "1 MB", "--load", "disk"]);
    assert_eq!(code, Some(3), "{line}");
    assert!(line.contains("--scratch-limit"), "{line}");
}

/// A typing error in a path gives an error, and leaves nothing behind.
#[test]
fn b9_a_directory_that_is_not_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let missing = path(directory.path(), "no/such/place");
    for arguments in [
        ["rate", "--scratch", &missing, "--load", "disk"].as_slice(),
        &["rate", "--scratch", &missing, "--load", "idle"],
        &["pipe", "--local", "--load", "disk", "--scratch", &missing],
        &["--data", &missing, "runs"],
        &["--data", &missing, "rate"],
        &["net", "up", "home-bloated", "--name", "typo", "--capture", &missing],
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {line}");
        assert!(
            line.contains("no such directory")
                && line.contains("no/such")
                && line.contains("make it first"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            fs::read_dir(directory.path()).unwrap().next().is_none(),
            "{arguments:?} made something"
        );
    }
    let file = path(directory.path(), "file");
    fs::write(&file, "").unwrap();
    let (code, line) = refusal(&["rate", "--scratch", &file]);
    assert!(code == Some(2) && line.contains("not a directory"), "{line}");
}

#[test]
fn a_directory_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    // An existing file stops the superuser, too.
    fs::write(closed.join("btu"), "").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let (code, line) = refusal_with(&["rate"], &path(&closed, "btu"));
    assert_eq!(code, Some(3), "{line}");
    assert!(line.contains("closed/btu"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn a_run_that_is_not_there() {
    for arguments in [
        ["rate", "--resume", "r7"].as_slice(),
        &["pipe", "--resume", "r7"],
        &["show", "r7"],
        &["report", "r7"],
        &["runs", "tag", "r7", "old"],
        &["runs", "export", "r7", "-o", "never"],
        &["runs", "rm", "r7", "--yes"],
        &["compare", "r7", "r8"],
        &["compare", "r7", "tag:nosuch"],
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {line}");
        assert!(line.contains("there is no run `r7`"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

/// A path on which a connection takes longer than btu waits is known before anything starts.
#[test]
fn a_path_that_lets_nothing_through() {
    let (code, line) = refusal(&["speed", "--network", "300 b/s", "-t", "2s"]);
    assert_eq!((code, line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.contains("nothing can come through") && line.contains("closed form"), "{line}");
}

/// `--json` is honoured, or refused; nowhere is it ignored.
#[test]
fn json_is_printed_or_refused() {
    for line in [
        "completions bash",
        "man .",
        "net run path -- true",
        "net exec a -- true",
        "net down",
        "hosts agent --stdio",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (code, said) = refusal(&[&["--json"], &words[..]].concat());
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{line}: {said}");
        assert!(said.contains("--json"), "{line}: {said}");
    }
    for line in [
        "run --example",
        "run --example queue",
        "run --as-file -- true",
        "runs",
        "net list",
        "net check path",
        "history",
        "hosts doctor",
        "runs machine list",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .args([&["--json"], &words[..]].concat())
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu runs");
        let read = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        assert!(read.is_ok(), "{line}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

/// The scratch directory that `btu rate` refuses, a doctor does not call healthy.
#[test]
fn a_doctor_looks_at_the_named_scratch_directory() {
    for command in [&["rate"][..], &["hosts", "doctor"]] {
        let (code, line) = refusal(&[command, &["--scratch", "/nonexistent"]].concat());
        assert_eq!(code, Some(2), "{command:?}: {line}");
        assert!(line.contains("--scratch: no such directory: /nonexistent"), "{line}");
    }
}

/// A command without `--`, and a shell command in one word.
#[test]
fn a_command_in_the_wrong_place_is_told_how_to_write_it() {
    for (arguments, said) in [
        (&["run", "true"][..], "btu run -- true"),
        (&["run", "--", "sleep 0.1"], "a shell command is `sh -c 'sleep 0.1'`"),
        (&["run", "nosuch.toml"], "reading nosuch.toml"),
    ] {
        let (code, line) = refusal(arguments);
        assert_eq!((code, line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(said), "{line}");
    }
}

#[test]
fn a_host_whose_name_nothing_knows() {
    let (code, line) = refusal(&["speed", "--ssh", "nosuch.invalid"]);
    assert!(code == Some(2) && line.contains("is the name right?"), "{line}");
}

/// Which hosts is said first: drawn hosts are no answer.
#[test]
fn a_fleet_without_hosts_is_told_what_is_missing() {
    let (code, said) = refusal(&["fleet"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("btu: no hosts are given: name three or more"), "{said}");
    assert!(said.contains("btu fleet --network ethernet-switched-100"), "{said}");
}

/// What agents of a launcher read is in the directory of stored runs, however that is named; the launcher here writes what it
/// was to start.
#[test]
fn agents_of_a_launcher_find_their_keys_in_the_directory_of_runs() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let told = path(data.path(), "told");
    let launcher = format!("sh -c 'echo \"$@\" >{told}; exit 1' sh");
    for named in [None, Some(path(other.path(), ""))] {
        let option = named.iter().flat_map(|named| ["--data", named.as_str()]);
        let words: Vec<&str> =
            ["fleet", "--launcher", &launcher].into_iter().chain(option).collect();
        refusal_with(&words, &path(data.path(), ""));
        let said = fs::read_to_string(&told).expect("the launcher ran");
        let expected = named.clone().unwrap_or_else(|| path(data.path(), ""));
        assert!(said.contains(&format!("--launched {expected}launch-")), "{said}");
    }
}
