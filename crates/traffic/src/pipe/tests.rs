//! Pipes between two ends of one process, or of two where a transport needs that.

mod drawing;
mod gone;
mod losses;
mod processes;
mod signatures;
mod strangers;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::thread;

use btu_contract::activity::{
    Activity, Order, Performance, PipeEnd, PipeMeeting, Rendezvous, Word,
};
use btu_contract::peers::Callers;
use btu_contract::pipe::{
    End, Engine, Kind, Pattern, PipePlan, Place, Point, Precision, SocketOptions,
};
use btu_contract::record::{Outcome, Report};
use btu_units::Span;
use tempfile::TempDir;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
static NEVER: AtomicBool = AtomicBool::new(false);

fn plan(kind: Kind, pattern: Pattern, sizes: &str) -> PipePlan {
    let precision = Precision {
        trials: 3,
        target: Span::from_milliseconds(2),
        most_repetitions: 200,
        ..Precision::standard()
    };
    let sizes = sizes.parse().expect("sizes");
    PipePlan { pattern, sizes, precision, ..PipePlan::new(3, kind, Place::Here) }
}

fn order(end: End, meeting: PipeMeeting, plan: &PipePlan) -> Order {
    let part =
        PipeEnd { end, meeting, token: *b"sixteen byte key", plan: plan.clone(), turns: false };
    Order::new(9, Span::from_seconds(20), Activity::Pipe(Box::new(part)))
}

fn prepare(
    end: End,
    meeting: PipeMeeting,
    plan: &PipePlan,
) -> Result<Box<dyn Performance>, String> {
    let prepared = crate::prepare(&order(end, meeting, plan), &Callers::any());
    prepared.map(|doing| doing.expect("is traffic")).map_err(|error| error.to_string())
}

/// Both ends prepared, and the directory in which they meet, if they do.
type Pair = (Box<dyn Performance>, Box<dyn Performance>, Option<TempDir>);

/// Both ends prepared, the far one first.
fn pair(plan: &PipePlan) -> Result<Pair, String> {
    if plan.kind.is_local() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("meeting");
        let far = prepare(End::Far, PipeMeeting::ListenAt(path.clone()), plan)?;
        let near = prepare(End::Near, PipeMeeting::ConnectAt(path), plan)?;
        return Ok((near, far, Some(directory)));
    }
    let far = prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), plan)?;
    let to = far.endpoint().expect("it listens");
    Ok((prepare(End::Near, PipeMeeting::Network(Rendezvous::Connect(to)), plan)?, far, None))
}

/// Every transport of this program, and each way to use TCP.
fn every_way(pattern: Pattern, sizes: &str) -> Vec<PipePlan> {
    let mut plans = Kind::ALL.map(|kind| plan(kind, pattern, sizes)).to_vec();
    for options in [
        SocketOptions { engine: Engine::IoUring, ..SocketOptions::default() },
        SocketOptions { zero_copy: true, ..SocketOptions::default() },
        SocketOptions { busy_poll: Some(Span::from_microseconds(20)), ..SocketOptions::default() },
    ] {
        plans.push(PipePlan { socket: options, ..plan(Kind::Tcp, pattern, sizes) });
    }
    if let (true, Err(why)) =
        (cfg!(feature = "mpi"), super::check(&plan(Kind::Mpi, pattern, sizes)))
    {
        println!("LAB SKIPPED: {why}");
    }
    plans.retain(|plan| super::check(plan).is_ok());
    let can = crate::sys::ring::IoUringInstance::new();
    if let Err(why) = &can {
        println!("LAB SKIPPED: io_uring cannot be used here: {why}");
    }
    plans.retain(|plan| can.is_ok() || plan.socket.engine == Engine::Blocking);
    plans
}

fn describe(plan: &PipePlan) -> String {
    format!("{} {} {:?}", plan.kind, plan.pattern, plan.socket)
}

/// The points of a whole plan, and how many sizes were left out.
fn measure(plan: &PipePlan) -> (Vec<Point>, u64) {
    let (points, left_out, _) = measure_noting(plan);
    (points, left_out)
}

/// Like `measure`, and what the near end notes.
fn measure_noting(plan: &PipePlan) -> (Vec<Point>, u64, Vec<String>) {
    // MPI's libraries know one world for each process.
    if plan.kind == Kind::Mpi {
        return processes::measure(plan);
    }
    let (near, far, _directory) =
        pair(plan).unwrap_or_else(|error| panic!("{}: {error}", describe(plan)));
    let (points, report) = perform(plan, near, far);
    let Outcome::Piped { left_out, notes } = report.outcome else { panic!("not a pipe") };
    (points, left_out, notes)
}

/// Runs both ends to their end: returns the points, and the near end's last message.
fn perform(
    plan: &PipePlan,
    near: Box<dyn Performance>,
    far: Box<dyn Performance>,
) -> (Vec<Point>, Report) {
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut points = Vec::new();
    let report = near.perform_telling(&NEVER, &mut |word| {
        if let Word::Point(point) = word {
            points.push(*point);
        }
        Ok(())
    });
    let far = far.join().expect("no panic");
    let report = report.unwrap_or_else(|error| panic!("{}: {error} ({far:?})", describe(plan)));
    far.unwrap_or_else(|error| panic!("{}: the far end: {error}", describe(plan)));
    (points, report)
}

fn assert_sound(plan: &PipePlan, points: &[Point]) {
    for point in points {
        let accounts = &point.accounts;
        let rounds: u64 = point.trials.iter().map(|trial| trial.repetitions).sum::<u64>()
            + plan.precision.warm_up;
        assert_eq!(point.trials.len(), 3);
        let received = rounds * plan.pattern.messages_per_repetition() * u64::from(plan.pairs);
        assert_eq!(accounts.received, received, "{} {point:?}", plan.kind);
        assert_eq!(
            (accounts.lost(), accounts.wrong, accounts.checked),
            (Some(0), 0, accounts.received),
            "{} {point:?}",
            plan.kind
        );
        assert!(point.trials.iter().all(|trial| trial.elapsed > Span::ZERO && trial.lost == 0));
    }
}
