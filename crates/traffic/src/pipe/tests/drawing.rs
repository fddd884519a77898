//! An application and its display: every protocol over every transport that carries it.

use std::net::TcpStream;
use std::thread;

use btu_suite::activity::{Activity, DrawEnd, Meeting, Order, Performance, PipeMeeting};
use btu_suite::app::{Carrier, Displayed, Drawing, Drawn, Protocol, Speeds, Workload};
use btu_suite::peers::Callers;
use btu_suite::pipe::{End, PipePlan, Place, SocketOptions};
use btu_suite::record::Outcome;
use btu_units::Span;

use super::{HERE, NEVER};

fn drawing(workload: Workload, protocol: Protocol) -> Drawing {
    let (application, display, speeds) = (Span::ZERO, Span::ZERO, Speeds::default());
    let target = Span::from_milliseconds(1);
    Drawing { workload, protocol, application, display, speeds, target, most_pictures: 20 }
}

fn prepare(end: End, meeting: Meeting, drawing: &Drawing, carrier: Carrier) -> Box<dyn Performance> {
    let no_delay = (carrier == Carrier::TcpNagle).then_some(false);
    let socket = SocketOptions { no_delay, ..SocketOptions::default() };
    let pipe = PipePlan { socket, ..PipePlan::new(3, carrier.kind(), Place::Here) };
    let (meeting, token) = (PipeMeeting::Network(meeting), *b"sixteen byte key");
    let part = DrawEnd { end, meeting, token, drawing: drawing.clone(), pipe };
    let order = Order::new(9, Span::from_seconds(20), Activity::Draw(Box::new(part)));
    crate::prepare(&order, &Callers::any()).expect("it can be set up").expect("is traffic")
}

fn draw(drawing: &Drawing, carrier: Carrier) -> (Drawn, Displayed) {
    let display = prepare(End::Far, Meeting::Listen(HERE), drawing, carrier);
    let to = display.endpoint().expect("it listens");
    let application = prepare(End::Near, Meeting::Connect(to), drawing, carrier);
    thread::scope(|scope| {
        let display = scope.spawn(|| display.perform(&NEVER).expect("the display shows"));
        let drawn = application.perform(&NEVER).expect("the application draws").outcome;
        let displayed = display.join().expect("no panic").outcome;
        match (drawn, displayed) {
            (Outcome::Drawn(drawn), Outcome::Displayed(displayed)) => (drawn, displayed),
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn every_way_of_drawing_leaves_the_picture_and_accounts_agree() {
    let workload = Workload::StructuredRectangles;
    let digest = workload.picture().digest();
    for carrier in Carrier::ALL {
        let all = Protocol::USUAL.into_iter().chain([Protocol::Construction]);
        for protocol in all.filter(|protocol| carrier.carries(*protocol)) {
            let drawing = drawing(workload, protocol);
            let (drawn, displayed) = draw(&drawing, carrier);
            let way = format!("{protocol} {carrier}");
            assert_eq!((&displayed.digest, displayed.wrong), (&digest, 0), "{way}");
            let pictures = drawn.pictures.len() as u64;
            assert!((1..=20).contains(&pictures) && displayed.spans.len() as u64 == pictures, "{way}: {pictures}");
            assert_eq!(drawn.requests, pictures * drawing.requests().len() as u64, "{way}");
            assert_eq!(
                (drawn.requests, drawn.bytes, drawn.replies, pictures),
                (displayed.requests, displayed.bytes, displayed.replies, displayed.pictures),
                "{way}"
            );
        }
    }
}

/// An end that is to compute a millisecond for each of 55 requests takes 55 ms at least, and says so.
#[test]
fn what_the_ends_are_to_compute_is_computed() {
    let millisecond = Span::from_milliseconds(1);
    let slow = Drawing { application: millisecond, ..drawing(Workload::StructuredRectangles, Protocol::StopAndWait) };
    let (drawn, _) = draw(&slow, Carrier::Tcp);
    let busy = drawn.busy.milliseconds() / drawn.pictures.len() as f64;
    assert!(busy >= 55.0 && drawn.pictures[0].milliseconds() >= 55.0, "{busy} ms");
    let slow = Drawing { application: Span::ZERO, display: millisecond, ..slow };
    let (_, displayed) = draw(&slow, Carrier::Tcp);
    let drawing = displayed.busy.milliseconds() / displayed.pictures as f64;
    assert!(drawing >= 30.0, "30 calls are drawn");
    // At half the speed all of that takes twice as long.
    let speeds: Speeds = serde_json::from_str(r#"{"application_percent":100,"display_percent":50}"#).expect("speeds");
    let (drawn, displayed) = draw(&Drawing { speeds, ..slow }, Carrier::Tcp);
    let dilated = displayed.busy.milliseconds() / displayed.pictures as f64;
    assert!(dilated >= 60.0 && drawn.pictures[0].milliseconds() >= 60.0, "{dilated} ms");
}

/// A stranger who knows the token and sends no requests: the display says so and ends.
#[test]
fn a_display_takes_no_nonsense() {
    use std::io::Write;
    let display = prepare(End::Far, Meeting::Listen(HERE), &drawing(Workload::Text, Protocol::Pipelined), Carrier::Tcp);
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
