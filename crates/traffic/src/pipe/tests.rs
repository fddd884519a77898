//! Whole signatures between two ends of one process, over every transport.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use btu_suite::activity::{Activity, Meeting, Order, Performance, PipeEnd, PipeMeeting, Word};
use btu_suite::pipe::{
    Books, Buffers, Cache, Check, End, Engine, Kind, Pattern, PipePlan, Place, Point, Precision, SocketOptions,
};
use btu_suite::record::Outcome;
use btu_units::{Bytes, Span};
use tempfile::TempDir;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
static NEVER: AtomicBool = AtomicBool::new(false);

/// An end that was killed ends the other within two seconds; a machine with other work may take as much again.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

fn plan(kind: Kind, pattern: Pattern, sizes: &str) -> PipePlan {
    let precision =
        Precision { trials: 3, target: Span::from_milliseconds(2), most_repetitions: 200, ..Precision::standard() };
    let sizes = sizes.parse().expect("sizes");
    PipePlan { pattern, sizes, precision, ..PipePlan::new(3, kind, Place::Here) }
}

fn prepare(end: End, meeting: PipeMeeting, plan: &PipePlan) -> Result<Box<dyn Performance>, String> {
    let part = PipeEnd { end, meeting, token: *b"sixteen byte key", plan: plan.clone(), turns: false };
    let order = Order { seed: 9, deadline: Span::from_seconds(20), activity: Activity::Pipe(Box::new(part)) };
    crate::prepare(&order).map(|doing| doing.expect("is traffic")).map_err(|error| error.to_string())
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
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), plan)?;
    let to = far.endpoint().expect("it listens");
    Ok((prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), plan)?, far, None))
}

/// Every transport of this program, and each way to use TCP.
fn every_way(pattern: Pattern, sizes: &str) -> Vec<PipePlan> {
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Mpi);
    let mut plans: Vec<_> = kinds.map(|kind| plan(kind, pattern, sizes)).collect();
    for options in [
        SocketOptions { engine: Engine::IoUring, ..SocketOptions::default() },
        SocketOptions { zero_copy: true, ..SocketOptions::default() },
        SocketOptions { busy_poll: Some(Span::from_microseconds(20)), ..SocketOptions::default() },
    ] {
        plans.push(PipePlan { socket: options, ..plan(Kind::Tcp, pattern, sizes) });
    }
    plans.retain(|plan| super::check(plan).is_ok());
    let can = crate::sys::ring::Ring::new();
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

/// The same, and what the near end notes.
fn measure_noting(plan: &PipePlan) -> (Vec<Point>, u64, Vec<String>) {
    let (near, far, _directory) = pair(plan).unwrap_or_else(|error| panic!("{}: {error}", describe(plan)));
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
    let Outcome::Piped { left_out, notes } = report.outcome else { panic!("not a pipe") };
    (points, left_out, notes)
}

fn assert_sound(plan: &PipePlan, points: &[Point]) {
    for point in points {
        let books = &point.books;
        let rounds: u64 = point.trials.iter().map(|trial| trial.repetitions).sum::<u64>() + plan.precision.warm_up;
        assert_eq!(point.trials.len(), 3);
        let received = rounds * plan.pattern.messages_per_repetition() * u64::from(plan.pairs);
        assert_eq!(books.received, received, "{} {point:?}", plan.kind);
        assert_eq!((books.lost(), books.wrong, books.checked), (Some(0), 0, books.received), "{} {point:?}", plan.kind);
        assert!(point.trials.iter().all(|trial| trial.elapsed > Span::ZERO && trial.lost == 0));
    }
}

#[test]
fn every_transport_moves_every_size_and_its_books_balance() {
    for plan in every_way(Pattern::PingPong, "1,2,3,64,1000,65000,150000,1000001") {
        let (points, left_out) = measure(&plan);
        let expected = match plan.kind {
            Kind::Udp => 6,
            Kind::UnixSeqpacket => 7,
            _ => 8,
        };
        assert_eq!((points.len(), left_out), (expected, 8 - expected as u64), "{}", describe(&plan));
        assert_sound(&plan, &points);
    }
}

#[test]
fn streams_are_timed_where_they_arrive() {
    for plan in every_way(Pattern::Streaming, "1,1000,60000") {
        let (points, _) = measure(&plan);
        assert_eq!(points.len(), 3);
        // Datagrams of a stream may get lost, here as anywhere.
        if plan.kind != Kind::Udp {
            assert_sound(&plan, &points);
        }
        assert!(points.iter().flat_map(|point| &point.trials).all(|trial| trial.clock == End::Far));
    }
}

#[test]
fn both_directions_at_once_never_wait_for_each_other() {
    // More than both sockets' buffers together hold, where a transport moves so much.
    for plan in every_way(Pattern::Bidirectional, "1,1000,60000,200000,10000000") {
        let plan =
            PipePlan { precision: Precision { least_repetitions: 10, most_repetitions: 10, ..plan.precision }, ..plan };
        let (points, _) = measure(&plan);
        let expected = match plan.kind {
            Kind::Udp => 3,
            Kind::UnixSeqpacket => 4,
            _ => 5,
        };
        assert_eq!(points.len(), expected, "{}", describe(&plan));
        assert_sound(&plan, &points);
    }
}

#[test]
fn every_byte_of_every_transport_is_right() {
    for plan in every_way(Pattern::PingPong, "1,1000,60000") {
        let plan = PipePlan { buffers: Buffers { check: Check::Whole, ..plan.buffers }, ..plan };
        assert_sound(&plan, &measure(&plan).0);
    }
}

#[test]
fn several_pairs_are_measured_together() {
    for pattern in Pattern::ALL {
        for plan in every_way(pattern, "1,10000") {
            let plan = PipePlan { pairs: 3, precision: Precision { most_repetitions: 50, ..plan.precision }, ..plan };
            let (points, _) = measure(&plan);
            assert_eq!(points.len(), 2, "{}", describe(&plan));
            if plan.kind != Kind::Udp || pattern != Pattern::Streaming {
                assert_sound(&plan, &points);
            }
        }
    }
}

#[test]
fn what_the_kernel_did_is_noted() {
    let zero_copy = SocketOptions { zero_copy: true, ..SocketOptions::default() };
    let plan = PipePlan { socket: zero_copy, ..plan(Kind::Tcp, Pattern::PingPong, "100000") };
    let (_, _, notes) = measure_noting(&plan);
    assert!(matches!(&notes[..], [note] if note.contains("the kernel copied all of them after all")), "{notes:?}");
    let (_, _, notes) = measure_noting(&self::plan(Kind::Quic, Pattern::PingPong, "1000"));
    assert!(matches!(&notes[..], [note] if note.contains("segmentation offload")), "{notes:?}");
}

#[test]
fn cold_unaligned_whole_and_timed_one_by_one() {
    let cold = Cache::Cold { pool: Bytes::new(1 << 20) };
    let buffers = Buffers { cache: cold, offset: Bytes::new(5), check: Check::Whole };
    let plan = plan(Kind::UnixStream, Pattern::PingPong, "1,1000,150000");
    let plan = PipePlan { buffers, precision: Precision { each: true, ..plan.precision }, ..plan };
    let (points, _) = measure(&plan);
    assert_sound(&plan, &points);
    for point in &points {
        let rounds: u64 = point.trials.iter().map(|trial| trial.repetitions).sum();
        assert_eq!(point.each.as_ref().map(btu_stats::Histogram::count), Some(rounds));
    }
}

#[test]
fn what_a_transport_does_not_know_is_refused_by_name() {
    let refusal = |plan: &PipePlan| pair(plan).err().expect("refused");
    let mut nagle = plan(Kind::Udp, Pattern::PingPong, "1");
    nagle.socket.no_delay = Some(true);
    assert!(refusal(&nagle).contains("UDP does not know Nagle's algorithm"));
    assert!(refusal(&plan(Kind::Http2, Pattern::Streaming, "1")).contains("ping-pong"));
    assert!(refusal(&plan(Kind::Mpi, Pattern::PingPong, "1")).contains("MPI"));
    let mut engine = plan(Kind::Quic, Pattern::PingPong, "1");
    engine.socket.engine = Engine::IoUring;
    assert!(refusal(&engine).contains("QUIC does not know io_uring"));
    assert!(refusal(&PipePlan { pairs: 65, ..plan(Kind::Tcp, Pattern::PingPong, "1") }).contains("1 to 64"));
}

#[test]
fn an_end_that_goes_away_ends_the_other() {
    for plan in every_way(Pattern::PingPong, "1,1000") {
        let (near, far, _directory) = pair(&plan).expect("both ends are set up");
        let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
        let mut told = 0;
        let report = near.perform_telling(&NEVER, &mut |_| {
            told += 1;
            Err(std::io::Error::other("nobody listens"))
        });
        let begun = Instant::now();
        assert!(report.is_err_and(|error| error.to_string().contains("nobody listens")), "{}", describe(&plan));
        assert_eq!(told, 1);
        assert!(far.join().expect("no panic").is_err(), "{}", describe(&plan));
        assert!(begun.elapsed() < ENDS_WITHIN, "{}: {:?}", describe(&plan), begun.elapsed());
    }
}

#[test]
fn without_the_token_nobody_gets_in() {
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        strangers_are_sent_away(kind);
    }
}

fn strangers_are_sent_away(kind: Kind) {
    let plan = plan(kind, Pattern::PingPong, "1");
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
    let to: SocketAddr = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut stranger = TcpStream::connect(to).expect("connects");
    std::io::Write::write_all(&mut stranger, b"sixteen byte kez").expect("said");
    assert_eq!(std::io::Read::read(&mut stranger, &mut [0; 1]).ok().unwrap_or(0), 0);
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), &plan).expect("connects");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

#[test]
fn what_is_no_protocol_ends_the_far_end() {
    // Who knows the token may still speak nonsense; TLS hears it before the token's other half.
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        let plan = plan(kind, Pattern::PingPong, "1");
        let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
        let mut peer = TcpStream::connect(far.endpoint().expect("it listens")).expect("connects");
        let opening: &[u8] = if kind == Kind::Tls { b"sixteen btu--tls" } else { b"sixteen byte key" };
        let nonsense: Vec<u8> = (0..4096u32).map(|n| (n * 7 % 251) as u8).collect();
        std::io::Write::write_all(&mut peer, &[opening, &nonsense].concat()).expect("said");
        let error = far.perform(&NEVER).err().unwrap_or_else(|| panic!("{kind} takes nonsense"));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn quic_takes_no_stranger_and_no_wrong_token() {
    let plan = plan(Kind::Quic, Pattern::PingPong, "1");
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
    let to = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let stranger = UdpSocket::bind((HERE, 0)).expect("a socket");
    for length in [1, 20, 1200] {
        stranger.send_to(&vec![0xc3; length], to).expect("sent");
    }
    let part = PipeEnd {
        end: End::Near,
        meeting: PipeMeeting::Network(Meeting::Connect(to)),
        token: *b"sixteen byte kez",
        plan: plan.clone(),
        turns: false,
    };
    let order = Order { seed: 9, deadline: Span::from_seconds(20), activity: Activity::Pipe(Box::new(part)) };
    let wrong = crate::prepare(&order).expect("is set up").expect("is traffic").perform(&NEVER);
    assert!(wrong.is_err());
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), &plan).expect("is set up");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

/// Carries datagrams between the ends, and drops every so many.
fn lossy_relay(to: SocketAddr, one_in: u64) -> SocketAddr {
    let (front, back) = (UdpSocket::bind((HERE, 0)).expect("a socket"), UdpSocket::bind((HERE, 0)).expect("a socket"));
    back.connect(to).expect("a peer");
    let address = front.local_addr().expect("an address");
    front.set_read_timeout(Some(Duration::from_micros(200))).expect("a time-out");
    back.set_nonblocking(true).expect("no waiting");
    thread::spawn(move || {
        let (mut count, mut caller, mut room) = (0u64, None, vec![0; 70_000]);
        loop {
            if let Ok((length, from)) = front.recv_from(&mut room) {
                caller = Some(from);
                count += 1;
                if !count.is_multiple_of(one_in) && back.send(&room[..length]).is_err() {
                    return;
                }
            }
            match (back.recv(&mut room), caller) {
                (Ok(length), Some(caller)) => {
                    count += 1;
                    if !count.is_multiple_of(one_in) && front.send_to(&room[..length], caller).is_err() {
                        return;
                    }
                }
                (Err(error), _) if error.kind() == ErrorKind::ConnectionRefused => return,
                _ => {}
            }
        }
    });
    address
}

/// The points of a plan whose every so manieth datagram gets lost.
fn measure_with_losses(plan: &PipePlan, one_in: u64) -> Vec<Point> {
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), plan).expect("listens");
    let to = lossy_relay(far.endpoint().expect("it listens"), one_in);
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), plan).expect("connects");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut points = Vec::new();
    let report = near.perform_telling(&NEVER, &mut |word| {
        if let Word::Point(point) = word {
            points.push(*point);
        }
        Ok(())
    });
    let far = far.join().expect("no panic");
    report.unwrap_or_else(|error| panic!("{}: {error} ({far:?})", describe(plan)));
    far.expect("in order");
    points
}

#[test]
fn lost_datagrams_are_repeated_and_counted() {
    for (pattern, one_in) in [(Pattern::PingPong, 17), (Pattern::Bidirectional, 19)] {
        let plan = plan(Kind::Udp, pattern, "1000");
        let plan = PipePlan { precision: Precision { most_repetitions: 10, ..plan.precision }, ..plan };
        let points = measure_with_losses(&plan, one_in);
        let books = points.iter().fold(Books::default(), |sum, point| sum.and(point.books));
        let trials: u64 = points.iter().flat_map(|point| &point.trials).map(|trial| trial.repetitions).sum();
        assert_eq!((books.wrong, books.received), (0, 2 * (trials + plan.precision.warm_up)), "{pattern}");
        // About one in so many of some 65 messages and 30 frames; a lost answer makes a duplicate of the question.
        let lost = books.lost().expect("not more arrived than were sent");
        assert!((1..=40).contains(&lost), "{pattern}: {books:?}");
    }
}

#[test]
fn lost_datagrams_of_a_stream_are_counted_where_the_others_arrive() {
    let plan = plan(Kind::Udp, Pattern::Streaming, "1,1000");
    let precision = Precision { least_repetitions: 60, most_repetitions: 60, ..plan.precision };
    let plan = PipePlan { precision, ..plan };
    for point in measure_with_losses(&plan, 11) {
        let arrived: u64 = point.trials.iter().map(|trial| trial.repetitions).sum();
        let lost: u64 = point.trials.iter().map(|trial| trial.lost).sum();
        assert!(lost >= 3 && arrived > 60, "{point:?}");
        let Books { sent, received, duplicates, wrong, .. } = point.books;
        assert_eq!((point.books.lost(), wrong), (Some(sent - received - duplicates), 0), "{point:?}");
        assert!(point.trials.iter().all(|trial| trial.elapsed > Span::ZERO && trial.clock == End::Far));
    }
}

/// What another process is told to be: the far end of this kind, at this place.
const FAR_END: &str = "BTU_TEST_FAR_END";

/// Not a test by itself: the far end of [`a_killed_process_is_noticed`].
#[test]
fn far_end_in_a_process_of_its_own() {
    let Ok(kind) = std::env::var(FAR_END) else { return };
    let plan = plan(kind.parse().expect("a kind"), Pattern::PingPong, "1000");
    let meeting = match std::env::var("BTU_TEST_MEETING").as_deref() {
        Ok("") | Err(_) => PipeMeeting::Network(Meeting::Listen(HERE)),
        Ok(path) => PipeMeeting::ListenAt(path.into()),
    };
    let far = prepare(End::Far, meeting, &plan).expect("listens");
    eprintln!("at {}", far.endpoint().unwrap_or(SocketAddr::from(([0; 4], 0))));
    far.perform(&NEVER).ok();
}

#[test]
fn a_killed_process_is_noticed() {
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Mpi) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("meeting");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "pipe::tests::far_end_in_a_process_of_its_own", "--nocapture"])
            .env(FAR_END, kind.name())
            .env("BTU_TEST_MEETING", if kind.is_local() { path.as_os_str() } else { "".as_ref() })
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("this program again");
        let mut lines = BufReader::new(child.stderr.take().expect("its words")).lines();
        let told = lines.find_map(|line| line.ok()?.strip_prefix("at ").map(str::to_owned)).expect("where it is");
        let meeting = match told.parse().expect("an address") {
            SocketAddr::V4(address) if address.port() == 0 => PipeMeeting::ConnectAt(path),
            address => PipeMeeting::Network(Meeting::Connect(address)),
        };
        let mut plan = plan(kind, Pattern::PingPong, "1000");
        // More than anybody waits for.
        plan.precision = Precision { trials: u32::MAX, ..plan.precision };
        let near = prepare(End::Near, meeting, &plan).expect("is set up");
        let near = thread::spawn(move || near.perform(&NEVER).map_err(|error| error.to_string()));
        thread::sleep(Duration::from_millis(300));
        assert!(!near.is_finished(), "{kind}");
        child.kill().expect("killed");
        let begun = Instant::now();
        child.wait().expect("it is gone");
        assert!(near.join().expect("no panic").is_err(), "{kind}");
        assert!(begun.elapsed() < ENDS_WITHIN, "{kind}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_meeting_of_the_wrong_sort_is_refused() {
    let plan = plan(Kind::Tcp, Pattern::PingPong, "1");
    let error = prepare(End::Far, PipeMeeting::ListenAt(PathBuf::from("/nowhere")), &plan).err().expect("refused");
    assert!(error.contains("meet at an address"), "{error}");
}
