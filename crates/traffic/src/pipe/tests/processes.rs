//! Ends in processes of their own. They get their order from the environment and report with a
//! worker's messages.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use btu_contract::activity::{Order, PipeMeeting, Rendezvous, Word};
use btu_contract::peers::Callers;
use btu_contract::pipe::{End, PipePlan, Point};
use btu_contract::record::Outcome;
use tempfile::TempDir;

use super::{HERE, NEVER, describe, order};

const ORDER: &str = "BTU_TEST_PIPE_ORDER";

/// Not a test by itself: an end that another test has started.
#[test]
fn an_end_of_another_test() {
    let Ok(text) = std::env::var(ORDER) else { return };
    let order: Order = serde_json::from_str(&text).expect("an order");
    let say = |word: &Word| eprintln!("word {}", serde_json::to_string(word).expect("JSON"));
    let performed = crate::prepare(&order, &Callers::any()).map_err(Into::into).and_then(|end| {
        let end = end.expect("is traffic");
        say(&Word::Ready { endpoint: end.endpoint() });
        end.perform_telling(&NEVER, &mut |word| {
            say(&word);
            Ok(())
        })
    });
    say(&match performed {
        Ok(report) => Word::Done(Box::new(report)),
        Err(error) => Word::Failed { message: error.to_string() },
    });
}

/// An end that is a process; dropping it kills it.
pub(super) struct Process {
    pub(super) child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Process {
    /// Starts an end and waits until it is ready; returns its address, if it listens.
    fn start(end: End, meeting: PipeMeeting, plan: &PipePlan) -> (Self, Option<SocketAddr>) {
        let order = serde_json::to_string(&order(end, meeting, plan)).expect("JSON");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "pipe::tests::processes::an_end_of_another_test", "--nocapture"])
            .env(ORDER, order)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("this program again");
        let lines = BufReader::new(child.stderr.take().expect("its words")).lines();
        let mut process = Self { child, lines };
        match process.word() {
            Some(Word::Ready { endpoint }) => (process, endpoint),
            other => panic!("{}: {end:?} says {other:?}", describe(plan)),
        }
    }

    /// Its next message; `None` when it has ended.
    pub(super) fn word(&mut self) -> Option<Word> {
        let line =
            self.lines.find_map(|line| line.ok()?.strip_prefix("word ").map(str::to_owned))?;
        Some(serde_json::from_str(&line).expect("a word"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended has nothing left to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both ends at work, the near one first, and the directory in which they meet.
pub(super) fn pair(plan: &PipePlan) -> (Process, Process, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("meeting");
    let here = PipeMeeting::Network(Rendezvous::Listen(HERE));
    let waits = if plan.kind.is_local() { PipeMeeting::ListenAt(path.clone()) } else { here };
    let (far, endpoint) = Process::start(End::Far, waits, plan);
    let comes = endpoint
        .map_or(PipeMeeting::ConnectAt(path), |to| PipeMeeting::Network(Rendezvous::Connect(to)));
    let (near, _) = Process::start(End::Near, comes, plan);
    (near, far, directory)
}

/// The points of a whole plan, how many sizes were left out, and what the near end notes.
pub(super) fn measure(plan: &PipePlan) -> (Vec<Point>, u64, Vec<String>) {
    let (mut near, mut far, _directory) = pair(plan);
    let mut points = Vec::new();
    loop {
        match near.word() {
            Some(Word::Point(point)) => points.push(*point),
            Some(Word::Done(report)) => {
                let Outcome::Piped { left_out, notes } = report.outcome else {
                    panic!("not a pipe")
                };
                let last = far.word();
                assert!(
                    matches!(last, Some(Word::Done(_))),
                    "{}: the far end says {last:?}",
                    describe(plan)
                );
                return (points, left_out, notes);
            }
            other => panic!(
                "{}: the near end says {other:?}, the far one {:?}",
                describe(plan),
                far.word()
            ),
        }
    }
}
