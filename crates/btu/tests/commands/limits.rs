//! Limits that a page names are those of the sources. Other tests hold what happens at each of them;
//! they take it from the sources, too, and would not notice a page that names another.

use std::fs;
use std::path::Path;

use crate::shelf::Shelf;

/// A page, what it says, a source, and what that says of the same.
type Limit = (&'static str, &'static str, &'static str, &'static str);

const LIMITS: &[Limit] = &[
    ("agent.md", "at most 8 at the same time", "load/src/ftp/serve.rs", "SESSIONS: usize = 8;"),
    (
        "run.md",
        "of at most 1 GiB (`room`)",
        "studies/src/run/file/program.rs",
        "ROOM: Bytes = Bytes::new(1 << 30);",
    ),
    (
        "agent.md",
        "after the third wrong login or after 10 s without one",
        "load/src/ftp/serve/session.rs",
        "WRONG_LOGINS: u32 = 3;",
    ),
    (
        "agent.md",
        "after 10 s without one",
        "load/src/ftp/serve/session.rs",
        "LOGIN_TIMEOUT: Duration = Duration::from_secs(10);",
    ),
    (
        "agent.md",
        "at most 64 MiB of messages",
        "control/src/agent/budget.rs",
        "Bytes::new(64 << 20);",
    ),
    (
        "publish.md",
        "reads at most 64 KiB of an answer",
        "btu/src/published/client.rs",
        "LONGEST_ANSWER: u64 = 64 << 10;",
    ),
    (
        "publish.md",
        "waits 10 s for a connection",
        "btu/src/published/client.rs",
        "step: Duration::from_secs(10),",
    ),
    (
        "publish.md",
        "2 minutes for the answer",
        "btu/src/published/client.rs",
        "answer: Duration::from_mins(2),",
    ),
    (
        "publish.md",
        "10 minutes in all",
        "btu/src/published/client.rs",
        "whole: Duration::from_mins(10),",
    ),
    (
        "board.md",
        "has at most 64 MiB",
        "board/src/web/upload.rs",
        "LARGEST_ARCHIVE_BYTES: usize = 64 << 20;",
    ),
    (
        "board.md",
        "Archives that come take at most 256 MiB",
        "board/src/web/upload.rs",
        "ROOM_BYTES: usize = 4 * LARGEST_ARCHIVE_BYTES;",
    ),
    ("board.md", "over the last 10 s, or", "board/src/web/upload.rs", "PACED_SECONDS: usize = 10;"),
    (
        "board.md",
        "less than what brings all of it in two minutes",
        "board/src/web/upload.rs",
        "LONGEST_ARCHIVE_SECONDS: usize = 120;",
    ),
    (
        "board.md",
        "A key publishes at most 100 runs",
        "board/src/receive.rs",
        "MOST_RUNS_A_DAY: i64 = 100;",
    ),
    (
        "board.md",
        "at most 500 new keys",
        "board/src/receive.rs",
        "MOST_NEW_PUBLISHERS_A_DAY: i64 = 500;",
    ),
    (
        "board.md",
        "asks for at most 100 challenges",
        "board/src/actions.rs",
        "MOST_CHALLENGES_A_DAY: i64 = 100;",
    ),
    (
        "board.md",
        "less than 4 KiB/s",
        "board/src/web/upload.rs",
        "SLOWEST_BYTES_PER_SECOND: usize = 4 << 10;",
    ),
    (
        "board.md",
        "at most 2048 are served at once",
        "board/src/server.rs",
        "MOST_CONNECTIONS: usize = 2048;",
    ),
    ("board.md", "of one address at most 64", "board/src/server.rs", "MOST_OF_HOST: usize = 64;"),
    (
        "board.md",
        "objects to a run at most 3 times",
        "board/src/actions.rs",
        "MOST_OBJECTIONS_OF_ONE: i64 = 3;",
    ),
    ("board.md", "20 times in a day", "board/src/actions.rs", "MOST_OBJECTIONS_A_DAY: i64 = 20;"),
    ("board.md", "at most 50 objections", "board/src/actions.rs", "MOST_OBJECTIONS: i64 = 50;"),
    (
        "board.md",
        "at most 12 connections to PostgreSQL",
        "board/src/database/pool.rs",
        "MOST_CONNECTIONS: usize = 12;",
    ),
    ("board.md", "four what readers ask for", "board/src/web.rs", "MOST_COMPUTED: usize = 4;"),
    (
        "board.md",
        "Four programs compute what came",
        "board/src/web/upload.rs",
        "MOST_RECEIVED: usize = 4;",
    ),
    (
        "board.md",
        "of one address a quarter",
        "board/src/web/upload.rs",
        "ROOM_BYTES_OF_HOST: usize = ROOM_BYTES / 4;",
    ),
    (
        "board.md",
        "at most 100 archives in a day are refused",
        "board/src/web/upload.rs",
        "MOST_REFUSED_A_DAY: u32 = 100;",
    ),
    (
        "board.md",
        "At most 200 challenges in a day go to one address",
        "board/src/web/upload.rs",
        "MOST_CHALLENGES_OF_HOST: u32 = 200;",
    ),
    (
        "board.md",
        "at most 100,000 in all",
        "board/src/actions.rs",
        "MOST_CHALLENGES_OF_ALL: i64 = 100_000;",
    ),
    (
        "board.md",
        "64 KiB more, of the same text",
        "board/src/program.rs",
        "HARMLESS_PADDING_BYTES: u64 = 64 << 10;",
    ),
    ("board.md", "in pieces of 256 KiB", "board/src/runs.rs", "PIECE_BYTES: usize = 256 << 10;"),
    (
        "board.md",
        "take at most as much",
        "board/src/web/outgoing.rs",
        "OUTGOING_BYTES: usize = 256 << 20;",
    ),
    (
        "board.md",
        "taken nothing for 10 s",
        "board/src/web/outgoing.rs",
        "LONGEST_PAUSE: Duration = Duration::from_secs(10);",
    ),
    (
        "board.md",
        "takes nothing of an answer for 30 s",
        "board/src/server/reading.rs",
        "LONGEST_UNREAD: Duration = Duration::from_secs(30);",
    ),
    (
        "board.md",
        "and after ten minutes",
        "board/src/server.rs",
        "LONGEST_CONNECTION: Duration = Duration::from_mins(10);",
    ),
    (
        "board.md",
        "after 60 s of processor time",
        "board/src/program.rs",
        "MOST_CPU_SECONDS: u64 = 60;",
    ),
    ("board.md", "64 MiB of them in all", "board/src/web/kept.rs", "MOST_BYTES: i64 = 64 << 20;"),
    (
        "board.md",
        "clocks may differ by a minute",
        "board/src/board.rs",
        "MOST_CLOCK_ERROR: SignedDuration = SignedDuration::from_mins(1);",
    ),
    (
        "board.md",
        "if it began within ten minutes",
        "board/src/receive.rs",
        "LONGEST_UNTIL_BEGUN: SignedDuration = SignedDuration::from_mins(10);",
    ),
    (
        "board.md",
        "within half an hour and",
        "board/src/receive.rs",
        "LONGEST_BACK: SignedDuration = SignedDuration::from_mins(30);",
    ),
    (
        "security.md",
        "| handshakes at a time | 64 |",
        "control/src/agent/tls_listener.rs",
        "HANDSHAKES: usize = 64;",
    ),
    (
        "security.md",
        "| time for a handshake | 5 s |",
        "control/src/agent/tls_listener.rs",
        "{ 1 } else { 5 });",
    ),
    (
        "security.md",
        "at most 128 KiB when compiled",
        "studies/src/run/pattern.rs",
        "LARGEST: usize = 128 << 10;",
    ),
    (
        "security.md",
        "at most 512 KiB of text is searched",
        "studies/src/run/pattern.rs",
        "MOST_SEARCHED: usize = 512 << 10;",
    ),
    (
        "lan.md",
        "at most 4000 operations",
        "contract/src/lan/trace.rs",
        "MOST_OPERATIONS: usize = 4000;",
    ),
    ("lan.md", "in 300 s", "contract/src/lan/trace.rs", "LONGEST: Span = Span::from_seconds(300);"),
    ("lan.md", "32 files at a time", "contract/src/lan/trace.rs", "MOST_FILES: usize = 32;"),
    ("lan.md", "1 MiB in each", "contract/src/lan/trace.rs", "LARGEST_FILE: u64 = 1 << 20;"),
    (
        "network-file.md",
        "at most 4,000,000 opportunities",
        "network/src/read/trace.rs",
        "MOST: usize = 4_000_000;",
    ),
    (
        "speed.md",
        "640 from one address",
        "responsiveness/src/server.rs",
        "CONNECTIONS_OF_HOST: usize = 640;",
    ),
    (
        "speed.md",
        "8 MiB for one with an upload",
        "responsiveness/src/server.rs",
        "UPLOAD_WINDOW: u32 = 8 << 20;",
    ),
    (
        "speed.md",
        "and 32 from one address",
        "responsiveness/src/server.rs",
        "UPLOADS_OF_HOST: usize = 32;",
    ),
    ("iperf3.md", "At most 64 tests run at a time", "iperf3/src/settings.rs", "tests: 64,"),
    ("iperf3.md", "8 of one address", "iperf3/src/settings.rs", "tests_per_address: 8,"),
    (
        "iperf3.md",
        "128 streams each way in one test",
        "iperf3/src/settings.rs",
        "streams_per_test: 128,",
    ),
    ("iperf3.md", "1024 in all", "iperf3/src/settings.rs", " streams: 1024,"),
    ("iperf3.md", "256 of one address", "iperf3/src/settings.rs", "streams_per_address: 256,"),
    (
        "iperf3.md",
        "A test takes at most an hour",
        "iperf3/src/settings.rs",
        "most_time: Duration::from_hours(1),",
    ),
    ("iperf3.md", "at most 10,000 tests", "btu/src/commands/iperf3.rs", "MOST_KEPT: u32 = 10_000;"),
    (
        "iperf3.md",
        "writes of TCP have at most 128 KiB",
        "iperf3/src/streams.rs",
        "MOST_PAYLOAD: usize = 128 << 10;",
    ),
    (
        "runs.md",
        "at most 8 MiB each",
        "store/src/archive/reader.rs",
        "LONGEST_LINE: u64 = 8 << 20;",
    ),
];

#[test]
fn limits_in_the_documents_are_those_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let in_one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (page, said, source, limit) in LIMITS {
        assert!(in_one_line(read(&format!("docs/{page}"))).contains(said), "{page}: {said}");
        assert!(
            read(&format!("crates/{source}")).contains(limit),
            "{source} does not say `{limit}`, as {page} has it: {said}"
        );
    }
}

/// A file of an experiment with so many factors, loads, and values of each of so many programs.
fn experiment(factors: usize, loads: usize, values: usize, programs: usize) -> String {
    let lines =
        |many: usize, line: &dyn Fn(usize) -> String| (0..many).map(line).collect::<String>();
    let program = |program: usize| {
        let values = lines(values, &|value| format!("v{value} = \"elapsed\"\n"));
        format!(
            "[measure.m{program}]\non = \"test\"\nrun = [\"true\"]\n[measure.m{program}.values]\n{values}"
        )
    };
    "network = \"veth\"\n".to_owned()
        + &lines(programs, &program)
        + &lines(loads, &|load| format!("[load.l{load}]\non = \"active\"\nactivity = \"cpu\"\n"))
        + "[factors]\n"
        + &lines(factors, &|factor| format!("f{factor} = [1, 2]\n"))
}

/// What is too much is refused before anything is measured, with the most that is allowed.
#[test]
fn what_is_too_much_is_refused_with_the_most() {
    let shelf = Shelf::new();
    let file = |name: &str, text: String| {
        let path = shelf.path(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let [factors, loads, values, all] = [
        file("factors.toml", experiment(17, 0, 1, 1)),
        file("loads.toml", experiment(0, 65, 1, 1)),
        file("values.toml", experiment(0, 0, 17, 1)),
        file("all.toml", experiment(0, 0, 16, 17)),
    ];
    for (arguments, said) in [
        (
            &["app", "--display-time", "2 s"][..],
            "--display-time 2 s is too long: at most 1 s an item",
        ),
        (&["lan", "--stations", "101"], "--stations 101 are too many: 100 at most"),
        (&["lan", "--service-time", "2 s"], "is too long: at most 1 s an operation"),
        (&["rate", "--network", "10 Mb/s", "--delay", "11 s"], "is too long: at most 10 s"),
        (&["copy", "--contention", "101%"], "at most 100 %"),
        (
            &["pipe", "--local", "--transport", "unix-seqpacket", "--sizes", "1MB"],
            "moves at most 200 kB",
        ),
        (
            &["hosts", "kubernetes", "--nodes", "2", "--image", "btu", "--name", &"n".repeat(41)],
            "at most 40",
        ),
        (&["run", &factors], "factors.f16: an experiment has at most 16 factors"),
        (&["run", &loads], "load.l64: there are at most 64 of them"),
        (&["run", &values], "an entry has 16 values at most"),
        (&["run", &all], "an experiment has 256 values at most"),
        (
            &["model", "campus", "--set", "segments.floor.count=1001", "--xlsx", &all],
            "at most 1000 can be written",
        ),
    ] {
        let (code, _, refused) = shelf.btu(arguments);
        assert!(code == Some(2) && refused.contains(said), "{arguments:?}: {code:?} {refused}");
    }
}
