//! An application and its display: every protocol over every transport that carries it.

use std::net::TcpStream;
use std::thread;

use btu_contract::activity::{
    Activity, DrawEnd, Order, Performance, PipeMeeting, Relay, Rendezvous,
};
use btu_contract::app::{
    Carrier, Displayed, Drawing, Drawn, Mix, Niceness, Protocol, Slowing, Speeds, Workload,
};
use btu_contract::peers::Callers;
use btu_contract::pipe::{End, PipePlan, Place, SocketOptions};
use btu_contract::record::{Outcome, Relayed};
use btu_units::Span;

use super::{HERE, NEVER};

fn drawing(workload: Workload, protocol: Protocol) -> Drawing {
    let (application, display, speeds) = (Span::ZERO, Span::ZERO, Speeds::default());
    let target = Span::from_milliseconds(1);
    Drawing {
        workload,
        protocol,
        application,
        display,
        speeds,
        slowing: Slowing::default(),
        nice: Niceness::default(),
        target,
        most_pictures: 20,
        mix: None,
        counts_broadcasts: false,
        echoes: false,
    }
}

fn prepare(
    end: End,
    meeting: Rendezvous,
    drawing: &Drawing,
    carrier: Carrier,
) -> Box<dyn Performance> {
    let no_delay = (carrier == Carrier::TcpNagle).then_some(false);
    let socket = SocketOptions { no_delay, ..SocketOptions::default() };
    let pipe = PipePlan { socket, ..PipePlan::new(3, carrier.kind(), Place::Here) };
    let (meeting, token) = (PipeMeeting::Network(meeting), *b"sixteen byte key");
    let part = DrawEnd { end, meeting, token, drawing: drawing.clone(), pipe };
    let order = Order::new(9, Span::from_seconds(20), Activity::Draw(Box::new(part)));
    crate::prepare(&order, &Callers::any()).expect("it can be set up").expect("is traffic")
}

fn draw(drawing: &Drawing, carrier: Carrier) -> (Drawn, Displayed) {
    match carrier {
        Carrier::InProcess => return inside(drawing),
        Carrier::Unix => return over_unix(drawing),
        Carrier::Relay => return relayed(drawing),
        _ => {}
    }
    let display = prepare(End::Far, Rendezvous::Listen(HERE), drawing, carrier);
    let to = display.endpoint().expect("it listens");
    let application = prepare(End::Near, Rendezvous::Connect(to), drawing, carrier);
    both(application, display)
}

fn perform(performance: Box<dyn Performance>) -> Outcome {
    performance.perform(&NEVER).expect("it is performed").outcome
}

fn ordered(activity: Activity) -> Box<dyn Performance> {
    let order = Order::new(9, Span::from_seconds(20), activity);
    crate::prepare(&order, &Callers::any()).expect("it can be set up").expect("is traffic")
}

fn inside(drawing: &Drawing) -> (Drawn, Displayed) {
    match perform(ordered(Activity::DrawInside(Box::new(drawing.clone())))) {
        Outcome::DrawnInside { drawn, displayed } => (drawn, displayed),
        other => panic!("{other:?}"),
    }
}

fn over_unix(drawing: &Drawing) -> (Drawn, Displayed) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("app");
    let end = |end, meeting| {
        let (token, pipe) =
            (*b"sixteen byte key", PipePlan::new(3, Carrier::Unix.kind(), Place::Here));
        ordered(Activity::Draw(Box::new(DrawEnd {
            end,
            meeting,
            token,
            drawing: drawing.clone(),
            pipe,
        })))
    };
    let display = end(End::Far, PipeMeeting::ListenAt(path.clone()));
    let application = end(End::Near, PipeMeeting::ConnectAt(path));
    both(application, display)
}

/// The display's connection comes from the relay, which accounts for at least the drawn data.
fn relayed(drawing: &Drawing) -> (Drawn, Displayed) {
    let display = prepare(End::Far, Rendezvous::Listen(HERE), drawing, Carrier::Relay);
    let to = display.endpoint().expect("it listens");
    let relay = ordered(Activity::Relay(Relay { on: HERE, to, token: *b"sixteen byte key" }));
    let application = prepare(
        End::Near,
        Rendezvous::Connect(relay.endpoint().expect("too")),
        drawing,
        Carrier::Relay,
    );
    let relay = thread::spawn(|| perform(relay));
    let (drawn, displayed) = both(application, display);
    match relay.join().expect("no panic") {
        Outcome::Relayed(Relayed { there, back }) => {
            assert!(there >= drawn.bytes && back.count() >= 8 * drawn.replies, "{there} {back}");
        }
        other => panic!("{other:?}"),
    }
    (drawn, displayed)
}

fn both(application: Box<dyn Performance>, display: Box<dyn Performance>) -> (Drawn, Displayed) {
    let display = thread::spawn(|| perform(display));
    match (perform(application), display.join().expect("no panic")) {
        (Outcome::Drawn(drawn), Outcome::Displayed(displayed)) => (drawn, displayed),
        other => panic!("{other:?}"),
    }
}

/// Those that need no program of the system.
fn own_carriers() -> impl Iterator<Item = Carrier> {
    Carrier::ALL.into_iter().filter(|carrier| *carrier != Carrier::Ssh)
}

/// Every protocol of a mix over every transport that carries it: all requests, all answers, no
/// errors.
#[test]
fn a_mix_is_exchanged_as_it_is_described() {
    let mix: Mix = "calls=5,fan-out=6,request=300 B,response=9 kB".parse().expect("a mix");
    let protocols =
        [Protocol::StopAndWait, Protocol::Window(4), Protocol::Pipelined, Protocol::Batched];
    for carrier in own_carriers().filter(|carrier| *carrier != Carrier::InProcess) {
        for protocol in protocols.into_iter().filter(|protocol| carrier.carries(*protocol)) {
            let drawing = Drawing { mix: Some(mix), ..drawing(Workload::Mix, protocol) };
            let (drawn, displayed) = draw(&drawing, carrier);
            let way = format!("{protocol} {carrier}");
            let pictures = drawn.pictures.len() as u64;
            let replies = pictures * if protocol == Protocol::Batched { 5 } else { 30 };
            assert_eq!(
                (drawn.requests, drawn.bytes.count()),
                (30 * pictures, 9000 * pictures),
                "{way}"
            );
            assert_eq!((drawn.replies, displayed.replies), (replies, replies), "{way}");
            assert_eq!(
                (displayed.requests, displayed.bytes, displayed.wrong),
                (drawn.requests, drawn.bytes, 0),
                "{way}"
            );
        }
    }
}

#[test]
fn every_way_of_drawing_leaves_the_picture_and_accounts_agree() {
    let workload = Workload::StructuredRectangles;
    let digest = workload.picture().digest();
    for carrier in own_carriers() {
        let all = Protocol::USUAL.into_iter().chain([Protocol::Construction]);
        for protocol in all.filter(|protocol| carrier.carries(*protocol)) {
            let drawing = drawing(workload, protocol);
            let (drawn, displayed) = draw(&drawing, carrier);
            let way = format!("{protocol} {carrier}");
            assert_eq!((&displayed.digest, displayed.wrong), (&digest, 0), "{way}");
            let pictures = drawn.pictures.len() as u64;
            assert!(
                (1..=20).contains(&pictures) && displayed.spans.len() as u64 == pictures,
                "{way}: {pictures}"
            );
            assert_eq!(drawn.requests, pictures * drawing.requests().len() as u64, "{way}");
            assert_eq!(
                (drawn.requests, drawn.bytes, drawn.replies, pictures),
                (displayed.requests, displayed.bytes, displayed.replies, displayed.pictures),
                "{way}"
            );
        }
    }
}

/// An end that must compute a millisecond for each of 55 requests takes 55 ms at least, and reports
/// it.
#[test]
fn what_the_ends_are_to_compute_is_computed() {
    let millisecond = Span::from_milliseconds(1);
    let slow = Drawing {
        application: millisecond,
        ..drawing(Workload::StructuredRectangles, Protocol::StopAndWait)
    };
    let (drawn, _) = draw(&slow, Carrier::Tcp);
    let busy = drawn.busy.milliseconds() / drawn.pictures.len() as f64;
    assert!(busy >= 55.0 && drawn.pictures[0].milliseconds() >= 55.0, "{busy} ms");
    let slow = Drawing { application: Span::ZERO, display: millisecond, ..slow };
    let (_, displayed) = draw(&slow, Carrier::Tcp);
    let drawing = displayed.busy.milliseconds() / displayed.pictures as f64;
    assert!(drawing >= 30.0, "30 calls are drawn");
    // At half the speed all of that takes twice as long.
    let speeds: Speeds =
        serde_json::from_str(r#"{"application_percent":100,"display_percent":50}"#)
            .expect("speeds");
    let (drawn, displayed) = draw(&Drawing { speeds, ..slow }, Carrier::Tcp);
    let dilated = displayed.busy.milliseconds() / displayed.pictures as f64;
    assert!(dilated >= 60.0 && drawn.pictures[0].milliseconds() >= 60.0, "{dilated} ms");
}

/// A display with a lower priority gets it, and the application does not.
#[test]
fn an_end_that_is_to_give_way_does() {
    let nice = Niceness { application: 0, display: 7 };
    let drawing = Drawing { nice, ..drawing(Workload::StructuredRectangles, Protocol::Batched) };
    let display = prepare(End::Far, Rendezvous::Listen(HERE), &drawing, Carrier::Tcp);
    let to = display.endpoint().expect("it listens");
    let application = prepare(End::Near, Rendezvous::Connect(to), &drawing, Carrier::Tcp);
    let own = |performance: Box<dyn Performance>| {
        perform(performance);
        // Field 19 of proc(5)'s stat, the 17th behind the name's bracket.
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("proc");
        stat.rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(16)?.parse::<i32>().ok())
            .expect("nice")
    };
    let before =
        thread::spawn(move || own(ordered(Activity::DrawInside(Box::new(drawing_once())))))
            .join()
            .expect("no panic");
    let display = thread::spawn(move || own(display));
    let application = thread::spawn(move || own(application)).join().expect("no panic");
    assert_eq!((application, display.join().expect("no panic")), (before, before.max(7)));
}

fn drawing_once() -> Drawing {
    drawing(Workload::StructuredRectangles, Protocol::Batched)
}

/// A peer that knows the token and sends no requests: the display reports it and ends.
#[test]
fn a_display_takes_no_nonsense() {
    use std::io::Write;
    let display = prepare(
        End::Far,
        Rendezvous::Listen(HERE),
        &drawing(Workload::Text, Protocol::Pipelined),
        Carrier::Tcp,
    );
    let to = display.endpoint().expect("it listens");
    let stranger = thread::spawn(move || {
        let mut stranger = TcpStream::connect(to).expect("it listens");
        stranger.write_all(b"sixteen byte key").expect("the token");
        stranger.write_all(&[0xff; 4096]).expect("nonsense");
        thread::sleep(std::time::Duration::from_millis(200));
    });
    let error = display.perform(&NEVER).expect_err("no order").to_string();
    assert!(error.contains("no order for a picture"), "{error}");
    stranger.join().expect("no panic");
}
