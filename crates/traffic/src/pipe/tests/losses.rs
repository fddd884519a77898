//! UDP over a path that loses datagrams.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{PipeMeeting, Rendezvous};
use btu_contract::pipe::{Accounts, End, Kind, Pattern, PipePlan, Point, Precision};
use btu_units::Span;

use super::{HERE, NEVER, perform, plan, prepare};

/// Carries datagrams between the ends, and drops those with selected numbers.
fn lossy_relay(to: SocketAddr, drops: impl Fn(u64) -> bool + Send + 'static) -> SocketAddr {
    let (front, back) = (
        UdpSocket::bind((HERE, 0)).expect("a socket"),
        UdpSocket::bind((HERE, 0)).expect("a socket"),
    );
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
                if !drops(count) && back.send(&room[..length]).is_err() {
                    return;
                }
            }
            match (back.recv(&mut room), caller) {
                (Ok(length), Some(caller)) => {
                    count += 1;
                    if !drops(count) && front.send_to(&room[..length], caller).is_err() {
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

/// The points of a plan over a path that loses every n-th datagram.
fn measure_with_losses(plan: &PipePlan, one_in: u64) -> Vec<Point> {
    let far =
        prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), plan).expect("listens");
    let to =
        lossy_relay(far.endpoint().expect("it listens"), move |count| count.is_multiple_of(one_in));
    let near =
        prepare(End::Near, PipeMeeting::Network(Rendezvous::Connect(to)), plan).expect("connects");
    perform(plan, near, far).0
}

#[test]
fn lost_datagrams_are_repeated_and_counted() {
    for (pattern, one_in) in [(Pattern::PingPong, 17), (Pattern::Bidirectional, 19)] {
        let plan = plan(Kind::Udp, pattern, "1000");
        // So many on a busy machine, too, where the first ones take so long that fewer would be
        // planned.
        let precision = Precision { least_repetitions: 10, most_repetitions: 10, ..plan.precision };
        let plan = PipePlan { precision, ..plan };
        let points = measure_with_losses(&plan, one_in);
        let accounts =
            points.iter().fold(Accounts::default(), |sum, point| sum.and(point.accounts));
        let trials: u64 =
            points.iter().flat_map(|point| &point.trials).map(|trial| trial.repetitions).sum();
        assert_eq!(
            (accounts.wrong, accounts.received),
            (0, 2 * (trials + plan.precision.warm_up)),
            "{pattern}"
        );
        // About one in so many of some 65 messages and 30 frames; a lost answer makes a duplicate
        // of the question.
        let lost = accounts.lost().expect("not more arrived than were sent");
        assert!((1..=40).contains(&lost), "{pattern}: {accounts:?}");
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
        let Accounts { sent, received, duplicates, wrong, .. } = point.accounts;
        assert_eq!(
            (point.accounts.lost(), wrong),
            (Some(sent - received - duplicates), 0),
            "{point:?}"
        );
        assert!(
            point.trials.iter().all(|trial| trial.elapsed > Span::ZERO && trial.clock == End::Far)
        );
    }
}

/// No datagram passes any more, and no machine reports that no process listens: as when a cable is
/// pulled.
#[test]
fn a_peer_that_vanishes_without_a_word_is_noticed() {
    let conditions = Conditions::begin();
    let plan = plan(Kind::Udp, Pattern::PingPong, "1..1KB");
    let far =
        prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), &plan).expect("listens");
    let pulled = Arc::new(AtomicBool::new(false));
    let cable = Arc::clone(&pulled);
    let to =
        lossy_relay(far.endpoint().expect("it listens"), move |_| cable.load(Ordering::Relaxed));
    let near =
        prepare(End::Near, PipeMeeting::Network(Rendezvous::Connect(to)), &plan).expect("connects");
    // It waits longer than this test lasts, because it cannot know when a request arrives.
    thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut begun = None;
    let report = near.perform_telling(&NEVER, &mut |_| {
        begun.get_or_insert_with(Instant::now);
        pulled.store(true, Ordering::Relaxed);
        Ok(())
    });
    let error = report.expect_err("the far end cannot answer").to_string();
    let waited = begun.expect("a size was measured").elapsed();
    assert!(error.contains("nothing has come for"), "{error}");
    // 2.5 s and a probe's wait, but four times as long as the longest wait before, which may have
    // been that for a processor.
    assert!(waited > Duration::from_secs(2), "{waited:?}");
    judge!(conditions, waited < Duration::from_secs(15), "{waited:?}");
}
