//! Whole signatures between two ends of one process, over every transport.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use btu_suite::activity::{Activity, Meeting, Order, Performance, PipeEnd, PipeMeeting, Word};
use btu_suite::pipe::{Buffers, Cache, Check, End, Kind, Pattern, PipePlan, Place, Point, Precision};
use btu_suite::record::Outcome;
use btu_units::{Bytes, Span};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
static NEVER: AtomicBool = AtomicBool::new(false);

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

type Pair = (Box<dyn Performance>, Box<dyn Performance>);

/// Both ends prepared, the far one first.
fn pair(plan: &PipePlan) -> Result<Pair, String> {
    if plan.kind.is_local() {
        let directory = std::env::temp_dir().join(format!("btu-pipe-{}-{:p}", std::process::id(), plan));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("meeting");
        let far = prepare(End::Far, PipeMeeting::ListenAt(path.clone()), plan)?;
        let near = prepare(End::Near, PipeMeeting::ConnectAt(path), plan)?;
        return Ok((near, far));
    }
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), plan)?;
    let to = far.endpoint().expect("it listens");
    Ok((prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), plan)?, far))
}

/// The points of a whole plan, and how many sizes were left out.
fn measure(plan: &PipePlan) -> (Vec<Point>, u64) {
    let (near, far) = pair(plan).expect("both ends are set up");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut points = Vec::new();
    let report = near.perform_telling(&NEVER, &mut |word| {
        if let Word::Point(point) = word {
            points.push(*point);
        }
        Ok(())
    });
    far.join().expect("no panic").expect("the far end ends in order");
    let Outcome::Piped { left_out } = report.expect("measured").outcome else { panic!("not a pipe") };
    (points, left_out)
}

fn assert_sound(plan: &PipePlan, points: &[Point]) {
    for point in points {
        let books = &point.books;
        let rounds: u64 = point.trials.iter().map(|trial| trial.repetitions).sum::<u64>() + plan.precision.warm_up;
        assert_eq!(point.trials.len(), 3);
        assert_eq!(books.received, rounds * plan.pattern.messages_per_repetition(), "{} {point:?}", plan.kind);
        assert_eq!((books.lost(), books.wrong, books.checked), (Some(0), 0, books.received), "{} {point:?}", plan.kind);
        assert!(point.trials.iter().all(|trial| trial.elapsed > Span::ZERO && trial.lost == 0));
    }
}

#[test]
fn every_transport_moves_every_size_and_its_books_balance() {
    for kind in [Kind::Tcp, Kind::Udp, Kind::UnixStream, Kind::UnixSeqpacket, Kind::Pipe, Kind::SharedMemory] {
        let plan = plan(kind, Pattern::PingPong, "1,2,3,64,1000,65000,150000,1000001");
        let (points, left_out) = measure(&plan);
        let expected = match kind {
            Kind::Udp => 6,
            Kind::UnixSeqpacket => 7,
            _ => 8,
        };
        assert_eq!((points.len(), left_out), (expected, 8 - expected as u64), "{kind}");
        assert_sound(&plan, &points);
    }
}

#[test]
fn streams_are_timed_where_they_arrive() {
    for kind in [Kind::Tcp, Kind::UnixStream, Kind::UnixSeqpacket, Kind::Pipe, Kind::SharedMemory] {
        let plan = plan(kind, Pattern::Streaming, "1,1000,150000");
        let (points, _) = measure(&plan);
        assert_eq!(points.len(), 3);
        assert_sound(&plan, &points);
        assert!(points.iter().flat_map(|point| &point.trials).all(|trial| trial.clock == End::Far));
    }
}

#[test]
fn both_directions_at_once_never_wait_for_each_other() {
    for kind in [Kind::Tcp, Kind::UnixStream] {
        // More than both sockets' buffers together hold.
        let plan = plan(kind, Pattern::Bidirectional, "1,1000,30000000");
        let plan = PipePlan { precision: Precision { most_repetitions: 20, ..plan.precision }, ..plan };
        let (points, _) = measure(&plan);
        assert_eq!(points.len(), 3);
        assert_sound(&plan, &points);
    }
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
    assert!(refusal(&plan(Kind::Udp, Pattern::Streaming, "1")).contains("ping-pong"));
    assert!(refusal(&plan(Kind::Mpi, Pattern::PingPong, "1")).contains("MPI"));
}

#[test]
fn an_end_that_goes_away_ends_the_other() {
    for kind in [Kind::Tcp, Kind::UnixStream, Kind::UnixSeqpacket, Kind::Pipe, Kind::SharedMemory] {
        let plan = plan(kind, Pattern::PingPong, "1,1000");
        let (near, far) = pair(&plan).expect("both ends are set up");
        let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
        let mut told = 0;
        let report = near.perform_telling(&NEVER, &mut |_| {
            told += 1;
            Err(std::io::Error::other("nobody listens"))
        });
        assert!(report.is_err_and(|error| error.to_string().contains("nobody listens")), "{kind}");
        assert_eq!(told, 1);
        assert!(far.join().expect("no panic").is_err(), "{kind}");
    }
}

#[test]
fn without_the_token_nobody_gets_in() {
    let plan = plan(Kind::Tcp, Pattern::PingPong, "1");
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

#[test]
fn lost_datagrams_are_repeated_and_counted() {
    let plan = plan(Kind::Udp, Pattern::PingPong, "1,1000");
    let plan = PipePlan { precision: Precision { most_repetitions: 10, ..plan.precision }, ..plan };
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
    let to = lossy_relay(far.endpoint().expect("it listens"), 23);
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), &plan).expect("connects");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut points = Vec::new();
    let report = near.perform_telling(&NEVER, &mut |word| {
        if let Word::Point(point) = word {
            points.push(*point);
        }
        Ok(())
    });
    report.expect("measured");
    far.join().expect("no panic").expect("in order");
    let books = points.iter().fold(btu_suite::pipe::Books::default(), |sum, point| sum.and(point.books));
    let trials: u64 = points.iter().flat_map(|point| &point.trials).map(|trial| trial.repetitions).sum();
    assert_eq!((books.wrong, books.received), (0, 2 * (trials + 2 * plan.precision.warm_up)));
    // About one in 23 of some 130 messages and 60 frames; a lost answer makes a duplicate of the question.
    let lost = books.lost().expect("not more arrived than were sent");
    assert!((3..=30).contains(&lost), "{books:?}");
    assert!(books.sent >= books.received + lost, "{books:?}");
}

#[test]
fn a_meeting_of_the_wrong_sort_is_refused() {
    let plan = plan(Kind::Tcp, Pattern::PingPong, "1");
    let error = prepare(End::Far, PipeMeeting::ListenAt(PathBuf::from("/nowhere")), &plan).err().expect("refused");
    assert!(error.contains("meet at an address"), "{error}");
}
